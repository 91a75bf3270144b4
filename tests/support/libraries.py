"""glassjax and JAX under one set of names, and comparisons of their results."""

import functools
import warnings
from collections.abc import Mapping
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shares import IS_NIGHT

import glassjax
import glassjax_stage2 as s2
import glassjax_stage3 as s3
import glassjax_stage4 as s4
from glassjax.runtime import pipeline
from glassjax_stage2 import Primitive
from glassjax_stage3 import Jaxpr, JaxprEqn
from glassjax_stage3.lowering import lowering_rules, mlir_type
from glassjax_stage4 import tape

LIBRARIES = [(glassjax, glassjax.numpy), (jax, jax.numpy)]


def branches(lib, cond):
    """A conditional for programs: of two operands of one type, whose first only one branch uses."""

    def choose(which, x, y):
        return cond(which > 0, lambda x, y: x * lib.sin(y), lambda x, y: y, x, y)

    return choose


OURS = SimpleNamespace(
    neg=s2.neg,
    sin=s2.sin,
    cos=s2.cos,
    exp=s2.exp,
    log=s2.log,
    reciprocal=s2.reciprocal,
    add=s2.add,
    mul=s2.mul,
    eq=s2.eq,
    ne=s2.ne,
    lt=s2.lt,
    le=s2.le,
    gt=s2.gt,
    ge=s2.ge,
    select=s2.where,
    convert=s2.astype,
    shift=lambda x, by: x + by,
    reduce_sum=s2.reduce_sum,
    transpose=s2.transpose,
    reshape=s2.reshape,
    broadcast_to=s2.broadcast_to,
    dot=s2.matmul,
    jvp=s2.jvp,
    vmap=s2.vmap,
    jacfwd=s2.jacfwd,
    jit=s3.jit,
    linearize=s4.linearize,
    vjp=s4.vjp,
    grad=s4.grad,
    jacrev=s4.jacrev,
    hessian=s4.hessian,
    tape_grad=tape.grad,
)
OURS.cond = branches(OURS, s4.cond)

JAX = SimpleNamespace(
    neg=jnp.negative,
    sin=jnp.sin,
    cos=jnp.cos,
    exp=jnp.exp,
    log=jnp.log,
    reciprocal=jnp.reciprocal,
    add=jnp.add,
    mul=jnp.multiply,
    eq=jnp.equal,
    ne=jnp.not_equal,
    lt=jnp.less,
    le=jnp.less_equal,
    gt=jnp.greater,
    ge=jnp.greater_equal,
    select=jnp.where,
    convert=jax.lax.convert_element_type,
    shift=lambda x, by: x + by,
    reduce_sum=jnp.sum,
    transpose=jnp.transpose,
    reshape=jnp.reshape,
    broadcast_to=jnp.broadcast_to,
    dot=jnp.matmul,
    jvp=jax.jvp,
    vmap=jax.vmap,
    jacfwd=jax.jacfwd,
    jit=jax.jit,
    linearize=jax.linearize,
    vjp=jax.vjp,
    grad=jax.grad,
    jacrev=jax.jacrev,
    hessian=jax.hessian,
    tape_grad=jax.grad,
)
JAX.cond = branches(JAX, jax.lax.cond)


def assert_same(ours, theirs, tolerance):
    """Two lists of arrays agree in number, shapes, dtypes and, up to rounding, in values."""
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        scale = np.max(np.abs(y), initial=1.0)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)


def assert_close(ours, theirs, rtol=1e-12, atol=None, weak_types=True):
    """Two trees of arrays agree in number, shapes, dtypes, weak types, and values."""
    ours, theirs = glassjax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert not weak_types or x.weak_type == y.weak_type
        x, y = np.asarray(x), np.asarray(y)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol if atol is None else atol)


def result_of(program, numpy, library):
    """What a program of a library's numpy and of the library itself gives, or the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program(numpy, library)
    except Exception as error:
        return error


def refused(program):
    """Marks a program that neither library runs; what is not marked must have results."""
    program.is_refused = True
    return program


def assert_same_results(program, rtol=2e-6, atol=2e-6):
    """A program of a library's numpy and of the library gives the same with both."""
    theirs = result_of(program, jax.numpy, jax)
    is_refused = getattr(program, "is_refused", False)
    assert isinstance(theirs, Exception) == is_refused, f"JAX gives {theirs!r}"
    assert_alike(result_of(program, glassjax.numpy, glassjax), theirs, rtol, atol)


def of_size(size, function):
    """A program of a numpy's function whose results have as many elements as values say.

    JAX, which compiles it with others, is told how many. Ours finds it out.
    """
    return lambda n, lib: function(n) if lib is glassjax else function(n, size=size)


# A constant that is written into a program.
written_p = Primitive("written")


@functools.partial(lowering_rules.__setitem__, written_p)
def _lower_written(b, out_avals, *, data):
    elements = f'"0x{data.hex()}"'
    if out_avals[0].dtype == bool:
        elements = str(np.frombuffer(data, bool).reshape(out_avals[0].shape).tolist()).lower()
    return b.emit(f"stablehlo.constant dense<{elements}> : {mlir_type(out_avals[0])}", *out_avals)


def _with_constants_written(jaxpr, consts):
    """Like the pass `without_uniform`, for constants of any numbers."""
    equations, kept = [], [True] * len(jaxpr.invars)
    for number, const in enumerate(consts):
        var = jaxpr.invars[number]
        if isinstance(const, np.ndarray | glassjax.Array) and _is_written(var.aval):
            data = np.asarray(const, var.aval.dtype).tobytes()
            equations.append(JaxprEqn(written_p, [], [var], {"data": data}))
            kept[number] = False
    invars = [var for var, keep in zip(jaxpr.invars, kept, strict=True) if keep]
    return Jaxpr([], invars, [*equations, *jaxpr.eqns], jaxpr.outvars), kept


def _is_written(aval):
    return 0 < aval.size < 10_000 and (aval.dtype.kind in "biufc" or aval.dtype == jnp.bfloat16)


class _OfConstants:
    """A library whose compiled functions take their arguments for constants, traced all the same.

    XLA evaluates such programs of a few numbers as it compiles them. This takes a fraction of the
    time that machine code of the same operations takes.
    """

    def __init__(self, library):
        self._library = library

    def __getattr__(self, name):
        return getattr(self._library, name)

    def jit(self, function):
        def of_constants(*args):
            traced = self._library.lax.stop_gradient
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(
                    pipeline, "PASSES", (pipeline.without_unused, _with_constants_written)
                )
                return self._library.jit(lambda: function(*traced(args)))()

        return of_constants


jax_of_constants = _OfConstants(jax)
# At night ours are machine code, as for users.
glassjax_of_constants = glassjax if IS_NIGHT else _OfConstants(glassjax)


def of_constants(library):
    """The library, whose compiled functions take their arguments for constants."""
    return jax_of_constants if library is jax else glassjax_of_constants


def assert_same_program(function, *args, tolerance=1e-9, atol=None):
    """`function`, given a library, makes a program; those of both give the same, all at once."""
    ours = glassjax_of_constants.jit(function(glassjax))(*args)
    assert_close(ours, jax_of_constants.jit(function(jax))(*args), tolerance, atol)


def results_at_once(programs, numpy, library, *args):
    """What each program gives, as by `result_of`; one compilation computes what can be traced.

    What cannot is run by itself: a program that fails within the large one, since it needs values
    or raises an error anyway; one that is marked as refused, for its error may be that of a
    compilation; and one that gives something else than arrays. Arguments, if there are any, are
    passed to each program.
    """
    structures = {}

    def everything(*args):
        arrays = {}
        for i, program in enumerate(programs):
            if getattr(program, "is_refused", False):
                continue
            out = result_of(lambda n, lib, program=program: program(n, lib, *args), numpy, library)
            leaves, structure = library.tree.flatten(out)
            if all(isinstance(leaf, library.core.Tracer | library.Array) for leaf in leaves):
                structures[i], arrays[i] = structure, leaves
        return arrays

    computed = of_constants(library).jit(everything)(*args)
    return [
        library.tree.unflatten(structures[i], computed[i])
        if i in structures
        else result_of(lambda n, lib, program=program: program(n, lib, *args), numpy, library)
        for i, program in enumerate(programs)
    ]


def assert_all_same_results(programs, rtol=2e-6, atol=2e-6):
    """Each of the programs gives the same with both libraries; all that differ are listed.

    They are listed by their keys in a mapping, by the lines where they stand otherwise. The
    programs of a library are compiled as one, so they are tried once more one by one if any of
    them differs.
    """
    if not isinstance(programs, Mapping):
        programs = {f"{_place_of(p)}, number {i}": p for i, p in enumerate(programs)}
    theirs = results_at_once(programs.values(), jax.numpy, jax)
    ours = results_at_once(programs.values(), glassjax.numpy, glassjax)
    differences = []
    for (name, program), found, expected in zip(programs.items(), ours, theirs, strict=True):
        try:
            assert isinstance(expected, Exception) == getattr(program, "is_refused", False), (
                f"JAX gives {expected!r}"
            )
            assert_alike(found, expected, rtol, atol)
        except AssertionError as error:
            differences.append(f"{name}: {error or 'other types'}\n{_alone(program, rtol, atol)}")
    assert not differences, "\n".join(differences)


def _place_of(program):
    code = getattr(program, "func", program).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def _alone(program, rtol, atol):
    try:
        assert_same_results(program, rtol, atol)
    except AssertionError as error:
        return f"    by itself, too: {error or 'other types'}"
    return "    not by itself"


def assert_alike(ours, theirs, rtol=2e-6, atol=2e-6):
    """Two results agree: arrays, dtypes, weak types and containers, or classes of errors."""
    if isinstance(theirs, Exception):
        # JAX's own errors are other classes, of the same names.
        names = {error.__name__ for error in type(ours).__mro__}
        assert isinstance(theirs, type(ours)) or type(theirs).__name__ in names, ours
        return
    assert not isinstance(ours, Exception), ours
    assert isinstance(ours, tuple | list) == isinstance(theirs, tuple | list)
    ours, theirs = glassjax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for found, expected in zip(ours, theirs, strict=True):
        if isinstance(expected, jax.Array):
            assert isinstance(found, glassjax.Array)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert found.weak_type == expected.weak_type
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
