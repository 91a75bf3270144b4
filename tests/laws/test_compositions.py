"""Compositions of transformations, beside JAX: all pairs, and triples of the core.

Types of results and classes of errors take no compiler, and are compared for all of them; values
for all pairs and every third triple. What JAX refuses and is computed here is listed.
"""

import functools
import warnings
import zlib

import jax
import jax.ad_checkpoint
import jax.custom_batching
import jax.custom_derivatives
import jax.experimental
import jax.numpy
import numpy as np
import pytest
from compositions import BODIES, TRANSFORMATIONS
from shares import one_in
from tables import for_each

import glassjax
import glassjax.experimental
import glassjax.numpy

OURS, THEIRS = (glassjax, glassjax.numpy), (jax, jax.numpy)
X = np.array([0.3, -0.7, 0.9])
CORE = [
    "jit", "vmap", "jvp", "grad", "linearize", "checkpoint", "scan", "cond", "while_loop",
    "fori_loop", "custom_jvp", "custom_vjp",
]  # fmt: skip

# JAX has no derivative of pmax, and no reverse mode of functions with a rule of their own for vmap.
ONLY_HERE = {"largest_of_all", "custom_vmap", "sequential_vmap"}
# What JAX says where it does not notice by itself what it cannot do.
INTERNAL = ("NoneType", "custom_lin")
# Forward mode of these is refused by both; here, not before a program is lowered.
REFUSED_LATER = {"custom_vjp", "custom_vjp_of_symbolic_zeros", "custom_gradient"}


def composed(libraries, names, body=None):
    lib, jnp = libraries
    body = body or BODIES[zlib.crc32(" ".join(names).encode()) % len(BODIES)]

    def f(x):
        return body(lib, jnp, x)

    for name in reversed(names):
        f = TRANSFORMATIONS[name](lib, jnp, f)
    return f


def attempt(f, *args):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)
    except Exception as error:
        return error


def type_of_result(libraries, names):
    struct = libraries[0].ShapeDtypeStruct(X.shape, X.dtype)
    out = attempt(libraries[0].eval_shape, composed(libraries, names), struct)
    return out if isinstance(out, Exception) else (out.shape, np.dtype(out.dtype), out.weak_type)


def results(libraries, combinations):
    """What each gives for `X`, computed by one program of all of them, or its error."""
    lib, errors = libraries[0], {}

    def program(x):
        outs = [
            errors[i] if i in errors else attempt(composed(libraries, names), x)
            for i, names in enumerate(combinations)
        ]
        errors.update({i: out for i, out in enumerate(outs) if isinstance(out, Exception)})
        return [() if i in errors else out for i, out in enumerate(outs)]

    outs = attempt(lib.jit(program), X)
    if isinstance(outs, Exception):  # of a few, which comes when a program is lowered
        for i, names in enumerate(combinations):
            if i not in errors:
                lowered = attempt(lambda names=names: lib.jit(composed(libraries, names)).lower(X))
                errors.update({i: lowered} if isinstance(lowered, Exception) else {})
        outs = lib.jit(lambda x: program(x))(X)
    return [errors.get(i, out) for i, out in enumerate(outs)]


def is_refused_alike(names, ours, theirs, more=ONLY_HERE):
    """Whether the two are not results to compare: JAX raises an error, and so does glassjax.

    JAX's own errors are other classes of the same names; what fails inside of it has no class.
    """
    if not isinstance(theirs, Exception):
        assert not isinstance(ours, Exception), ours
        return False
    if not isinstance(ours, Exception):
        assert more.intersection(names) or "NoneType" in str(theirs), theirs
    elif type(theirs) is not AssertionError and not any(s in str(theirs) for s in INTERNAL):
        assert type(theirs).__name__ in {cls.__name__ for cls in type(ours).__mro__}, (ours, theirs)
    return True


def compare_types(combinations):
    for names in combinations:
        ours, theirs = type_of_result(OURS, names), type_of_result(THEIRS, names)
        if not is_refused_alike(names, ours, theirs, ONLY_HERE | REFUSED_LATER):
            assert ours == theirs, names


def compare_values(combinations):
    wrong = []
    both = results(OURS, combinations), results(THEIRS, combinations)
    for names, ours, theirs in zip(combinations, *both, strict=True):
        try:
            if not is_refused_alike(names, ours, theirs):
                np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
        except AssertionError as error:
            wrong.append(f"{' of '.join(names)}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("part", one_in(2, range(2)))
def test_evaluation_agrees_with_compilation(part):
    # In a program there is nothing for which jit could be disabled.
    names = [name for name in list(TRANSFORMATIONS)[part::2] if name != "disable_jit"]
    wrong, of_one = [], functools.partial(composed, OURS, body=BODIES[0])
    expected = glassjax.jit(lambda x: [of_one([name])(x) for name in names])(X)
    for name, compiled in zip(names, expected, strict=True):
        ours = attempt(of_one([name]), glassjax.numpy.asarray(X))
        try:
            np.testing.assert_allclose(ours, compiled, rtol=1e-12)
        except (AssertionError, TypeError) as error:
            wrong.append(f"{name}: {ours!r}, {error}")
    assert not wrong, "\n".join(wrong)


# A part of the pairs at every change, in which each is the outer and the inner one of some.
def parts(count):
    return pytest.mark.parametrize(
        ("part", "count"), one_in(count, [(i, count) for i in range(count)])
    )


def pairs(outer, part, count):
    names = list(TRANSFORMATIONS)
    return [(outer, inner) for inner in names[(names.index(outer) + part) % count :: count]]


@parts(16)
@for_each("outer", TRANSFORMATIONS)
def test_types_of_pairs(outer, part, count):
    compare_types(pairs(outer, part, count))


# Fewer programs of more pairs are compiled faster.
OUTERS = [list(TRANSFORMATIONS)[i::6] for i in range(6)]


@parts(60)
@pytest.mark.parametrize("outers", OUTERS, ids=lambda outers: f"{outers[0]} and others")
def test_values_of_pairs(outers, part, count):
    compare_values([pair for outer in outers for pair in pairs(outer, part, count)])


@pytest.mark.nightly
@pytest.mark.parametrize("outer", CORE)
@for_each("middle", CORE)
def test_types_of_triples(outer, middle):
    compare_types([(outer, middle, inner) for inner in CORE])


@pytest.mark.nightly
@pytest.mark.parametrize("outer", CORE)
@for_each("middle", CORE)
def test_values_of_triples(outer, middle):
    """Of every third, so that each of the three is the innermost of some."""
    first = (CORE.index(outer) + CORE.index(middle)) % 3
    compare_values([(outer, middle, inner) for inner in CORE[first::3]])
