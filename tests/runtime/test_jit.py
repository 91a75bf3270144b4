"""`jit`: options, donation, static arguments and stages, beside JAX."""

import functools
import warnings

import jax
import jax.export
import jax.numpy
import numpy as np
import pytest
from libraries import LIBRARIES
from tables import for_each

import glassjax
import glassjax.numpy

X = np.arange(3, dtype=np.float32)


def same(program):
    """Runs a program of a library and its numpy with both."""
    ours, theirs = (program(*library) for library in LIBRARIES)
    assert ours == theirs
    return ours


def describe(tree, lib):
    """A tree of types as plain tuples."""
    return str(lib.tree.map(lambda x: (tuple(x.shape), str(x.dtype)), tree))


DONATIONS = {
    "one": (lambda x, y: x + y, {"donate_argnums": 0}),
    "by name": (lambda x, y: x + y, {"donate_argnames": "y"}),
    "both, for two results": (lambda x, y: (x + y, x - y), {"donate_argnums": (0, 1)}),
    "swapped": (lambda x, y: (y, x), {"donate_argnums": (0, 1)}),
    "in trees": (lambda x, y: {"a": x * 2, "b": [y]}, {"donate_argnums": (0,)}),
    "not needed": (lambda x, y: y + 1, {"donate_argnums": 0}),
    "not needed, but kept": (lambda x, y: y + 1, {"donate_argnums": 1, "keep_unused": True}),
}


@for_each("name", DONATIONS)
def test_what_is_deleted_and_computed(name):
    f, options = DONATIONS[name]

    def program(lib, jnp):
        x, y = jnp.asarray(X), jnp.asarray(X + 10)
        out = lib.jit(f, **options)(x, y)
        leaves = [np.asarray(leaf).tolist() for leaf in lib.tree.leaves(out)]
        return leaves, x.is_deleted(), y.is_deleted()

    same(program)


def test_memory_that_cannot_be_reused():
    def program(lib, jnp):
        x = jnp.asarray(X)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = lib.jit(lambda x: jnp.sum(x), donate_argnums=0)(x)
        messages = [str(w.message)[:38] for w in caught if issubclass(w.category, UserWarning)]
        return out.item(), x.is_deleted(), messages

    assert same(program) == (3.0, False, ["Some donated buffers were not usable: "])


def test_aliases_in_the_text_and_in_memory():
    def program(lib, jnp):
        f = lib.jit(lambda x, y, z: (jnp.sum(z), y + 1, x * 2), donate_argnums=(0, 1))
        lowered = f.lower(X, np.ones((2, 2), np.float32), X)
        text = lowered.as_text()
        memory = lowered.compile().memory_analysis()
        return (
            [text.count(f"tf.aliasing_output = {n} : i32") for n in range(3)],
            memory.alias_size_in_bytes,
            lowered.donate_argnums,
            [info.donated for info in lib.tree.leaves(lowered.args_info, is_leaf=_has_aval)],
        )

    assert same(program) == ([0, 1, 1], 28, (0, 1), [True, True, False])


def _has_aval(x):
    return hasattr(x, "donated")


def test_arguments_that_nothing_needs():
    def program(lib, jnp):
        def f(x, y):
            return x + 1

        y = np.ones((7, 9), np.float32)
        texts = [lib.jit(f, keep_unused=keep).lower(X, y).as_text() for keep in (False, True)]
        return ["7x9" in text for text in texts]

    assert same(program) == [False, True]


STATIC = [
    ({"static_argnums": 1}, lambda f: [f(2.0, 3), f(2.0, 4), f(2.0, n=3)]),
    ({"static_argnames": "n"}, lambda f: [f(2.0, 3), f(2.0, n=4), f(n=3, x=2.0)]),
    ({"static_argnums": -1}, lambda f: [f(2.0, 3)]),
]


@for_each(("options", "calls"), STATIC)
def test_static_arguments(options, calls):
    def program(lib, jnp):
        traces = []

        def f(x, n):
            traces.append(n)
            return sum([x] * n)

        g = lib.jit(f, **options)
        return [float(out) for _ in range(2) for out in calls(g)], traces

    same(program)


def test_types_of_results():
    def program(lib, jnp):
        def f(x, y):
            return {"out": (x @ y, jnp.sum(x) > 1), "y": y}

        types = lib.ShapeDtypeStruct((4, 3), jnp.float32), lib.ShapeDtypeStruct((3,), jnp.float32)
        found = [
            lib.eval_shape(f, *types),
            lib.jit(f).eval_shape(*types),
            lib.jit(f).trace(*types).out_info,
            lib.jit(f).lower(*types).out_info,
            lib.make_jaxpr(f, return_shape=True)(*types)[1],
        ]
        return [describe(tree, lib) for tree in found]

    assert len(set(same(program))) == 1


def test_static_arguments_of_make_jaxpr():
    def program(lib, jnp):
        jaxpr = lib.make_jaxpr(lambda x, n: [x * n], static_argnums=(1,))(X, 3)
        return len(jaxpr.jaxpr.invars), len(jaxpr.jaxpr.eqns), len(jaxpr.jaxpr.outvars)

    assert same(program) == (1, 1, 1)


def test_stages_of_a_call():
    def program(lib, jnp):
        f = lib.jit(lambda x, *, n: {"a": x * n}, static_argnames="n")
        traced = f.trace(X, n=2)
        lowered = traced.lower()
        compiled = lowered.compile()
        return (
            traced.fun_name,
            len(traced.jaxpr.eqns),
            "stablehlo.multiply" in lowered.as_text(),
            compiled.as_text().startswith("HloModule"),
            compiled.cost_analysis()["flops"],
            np.asarray(compiled(X)["a"]).tolist(),
            str(compiled.out_tree).count("a"),
            compiled.memory_analysis().output_size_in_bytes >= 12,
        )

    same(program)


WRONG = [
    lambda jit: jit(3),
    lambda jit: jit(lambda x: x, static_argnums=0)([1]),
    lambda jit: jit(lambda x: x, static_argnums=5),
    lambda jit: jit(lambda x: x, static_argnames="y"),
    lambda jit: jit(lambda x: x, donate_argnums=5),
    lambda jit: jit(lambda x: x, static_argnums=0, donate_argnums=0),
    lambda jit: jit(lambda x: x).lower(X).compile()(X, X),
    lambda jit: jit(lambda x: x).lower(X).compile()(X.astype("int32")),
]


@for_each("number", range(len(WRONG)))
def test_errors_are_of_the_same_class(number):
    def error_of(lib, jnp):
        with pytest.raises(Exception) as raised:  # noqa: PT011
            WRONG[number](lib.jit)
        return ValueError if issubclass(raised.type, ValueError) else raised.type

    same(error_of)


def test_a_donated_array_is_a_runtime_error():
    def program(lib, jnp):
        x = jnp.asarray(X)
        lib.jit(lambda x: x + 1, donate_argnums=0)(x)
        with pytest.raises(RuntimeError):
            np.asarray(x)
        with pytest.raises(RuntimeError):
            x + 1
        y, add = jnp.asarray(X), lib.jit(lambda x, y: x + y, donate_argnums=0)
        with pytest.raises((RuntimeError, ValueError)):
            add(y, y)

    same(program)


def test_static_arguments_of_a_wrapper_by_both_are_taken_at_their_word():
    for lib in (glassjax, jax):
        seen = []

        def inner(a, b):
            return a

        @functools.partial(lib.jit, static_argnums=0, static_argnames="b")
        @functools.wraps(inner)
        def shifted(kind, a, b, seen=seen):
            seen.append((kind, type(b)))
            return a

        assert float(shifted("kind", 2.0, b="x")) == 2.0
        assert seen == [("kind", str)]
