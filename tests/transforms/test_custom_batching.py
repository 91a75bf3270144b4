"""`custom_vmap`, beside JAX."""

import jax
import numpy as np
import pytest
from libraries import LIBRARIES, assert_same
from tables import for_each

import glassjax
import glassjax.numpy

X = np.random.default_rng(0).standard_normal((2, 3))


def leaves(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


def scaled(lib, jnp, seen=None):
    """A function whose rule can be told from it, by a factor."""

    @lib.custom_batching.custom_vmap
    def f(x, y):
        return {"product": jnp.sin(x) * y["y"], "y": y["y"]}

    @f.def_vmap
    def f_vmap(axis_size, in_batched, x, y):
        if seen is not None:
            seen.append((axis_size, in_batched))
        x_batched, y_batched = in_batched[0], in_batched[1]["y"]
        out = {"product": 10.0 * jnp.sin(x) * y["y"], "y": y["y"]}
        return out, {"product": x_batched or y_batched, "y": y_batched}

    return f


# Functions of a library, its numpy, the function above, and an array of shape (3,).
USES = {
    "evaluated": lambda lib, jnp, f, x: f(x[0], {"y": x[1]}),
    "mapped": lambda lib, jnp, f, x: lib.vmap(f)(x, {"y": x}),
    "mapped one": lambda lib, jnp, f, x: lib.vmap(f, (0, None))(x, {"y": x[0]}),
    "mapped the other": lambda lib, jnp, f, x: lib.vmap(lambda y: f(x[0], y))({"y": x}),
    "mapped the last axis": lambda lib, jnp, f, x: lib.vmap(f, (1, None))(
        jnp.outer(x, x), {"y": x}
    ),
    "mapped twice": lambda lib, jnp, f, x: lib.vmap(lib.vmap(f, (0, None)), (None, 0))(x, {"y": x}),
    "not mapped": lambda lib, jnp, f, x: lib.vmap(lambda _: f(x[0], {"y": x[1]}))(x),
    "jvp": lambda lib, jnp, f, x: lib.jvp(lambda x: f(x, {"y": 2 * x}), (x[0],), (x[1],)),
    "jvp of one": lambda lib, jnp, f, x: lib.jvp(lambda y: f(x, {"y": y}), (x,), (x,)),
    "jvp of vmap": lambda lib, jnp, f, x: lib.jvp(lambda x: lib.vmap(f)(x, {"y": x}), (x,), (x,)),
    "vmap of jvp": lambda lib, jnp, f, x: lib.vmap(
        lambda x: lib.jvp(lambda x: f(x, {"y": x}), (x,), (2 * x,))
    )(x),
    "jvp of jvp": lambda lib, jnp, f, x: lib.jvp(
        lambda x: lib.jvp(lambda x: f(x, {"y": 2 * x})["product"], (x,), (x,)), (x[0],), (x[1],)
    ),
    "grad of vmap": lambda lib, jnp, f, x: lib.grad(
        lambda x: jnp.sum(lib.vmap(f)(x, {"y": x})["product"])
    )(x),
    "jit": lambda lib, jnp, f, x: lib.vmap(lib.jit(lambda x: f(x, {"y": x})))(x),
    "scan": lambda lib, jnp, f, x: lib.vmap(
        lambda x: lib.lax.scan(lambda c, u: (f(c, {"y": u})["product"], c), x, jnp.arange(1.0, 3.0))
    )(x),
    "cond": lambda lib, jnp, f, x: lib.vmap(
        lambda x: lib.lax.cond(x > 0, lambda x: f(x, {"y": x})["product"], lambda x: x, x)
    )(x),
}


def test_uses_agree_with_jax():
    def found(lib, jnp):
        seen = {name: [] for name in USES}

        def everything(x):
            return {
                name: use(lib, jnp, scaled(lib, jnp, seen[name]), x) for name, use in USES.items()
            }

        return lib.jit(everything)(X[0]), {name: calls[:1] for name, calls in seen.items()}

    (ours, our_calls), (theirs, their_calls) = (found(*library) for library in LIBRARIES)
    assert our_calls == their_calls
    for name in USES:
        assert_same(leaves(glassjax, ours[name]), leaves(jax, theirs[name]), 1e-12)


def test_evaluation_is_that_of_the_function():
    f = scaled(glassjax, glassjax.numpy)
    outs = f(X, y={"y": 2.0})
    np.testing.assert_allclose(outs["product"], 2 * np.sin(X))
    assert isinstance(outs["y"], glassjax.Array)


def test_one_after_the_other():
    def everything(lib, jnp):
        calls = []

        def f(x, pair):
            calls.append(x.shape)
            return jnp.sin(x) * pair["a"] + jnp.sum(pair["b"])

        one_by_one = lib.custom_batching.sequential_vmap(f)
        x, w = jnp.asarray(X), jnp.asarray(X[0])
        axes = (0, {"a": 0, "b": None})
        args = x[:, 0], {"a": x, "b": w}
        outs = [
            lib.vmap(one_by_one, axes)(*args),
            lib.vmap(lib.vmap(one_by_one, (0, None)), (0, axes[1]))(x, {"a": x[:, 0], "b": w}),
            lib.jvp(lambda x: lib.vmap(one_by_one, axes)(x, args[1]), args[:1], args[:1]),
        ]
        assert set(calls) == {()}
        return outs

    ours, theirs = (leaves(lib, everything(lib, jnp)) for lib, jnp in LIBRARIES)
    assert_same(ours, theirs, 1e-12)


def test_reverse_mode_is_that_of_the_function():
    """JAX has none; ours, mapped or not, is that of the same function without a rule."""
    jnp = glassjax.numpy
    x = jnp.asarray(X[0])

    def plain(x, w):
        return jnp.sin(x) * w

    ruled = glassjax.custom_batching.sequential_vmap(plain)

    def everything(f):
        gradient = glassjax.grad(f, (0, 1))
        mapped = glassjax.vmap(f, (0, None))
        return [
            gradient(x[0], x[1]),
            glassjax.vmap(gradient, (0, None))(x, x[1]),
            glassjax.grad(lambda w: jnp.sum(mapped(x, w)))(x[1]),
            glassjax.jit(glassjax.grad(glassjax.jit(f)))(x[0], x[1]),
            glassjax.hessian(f)(x[0], x[1]),
            glassjax.grad(glassjax.checkpoint(f))(x[0], x[1]),
            glassjax.grad(lambda x: glassjax.lax.scan(lambda c, _: (f(c, x), c), x, None, 3)[0])(
                x[0]
            ),
            glassjax.jacfwd(lambda x: f(x, x))(x),
            glassjax.linearize(f, x[0], x[1])[1](2.0, 3.0),
        ]

    assert_same(*(leaves(glassjax, everything(f)) for f in (ruled, plain)), 1e-12)


def test_a_point_and_several_directions():
    """A primal that is a batch beside one that is not; JAX's result has an axis too many."""
    f = scaled(glassjax, glassjax.numpy)

    def along(x, t):
        return glassjax.jvp(lambda x, y: f(x, {"y": y})["product"], (x, x), (t, 1.0))

    _, tangents = glassjax.vmap(along)(X[0], X[1])
    expected = 10 * (np.cos(X[0]) * X[0] * X[1] + np.sin(X[0]))
    np.testing.assert_allclose(tangents, expected)


def test_one_point_in_several_directions():
    """Each direction has a tangent of its own, and so the point is a batch with them."""

    def gradients(lib):
        f = lib.custom_batching.custom_vmap(lambda x: 2 * lib.numpy.sin(x))
        f.def_vmap(lambda size, batched, x: (3 * lib.numpy.sin(x), batched[0]))
        return np.stack([lib.jacfwd(f)(X[0]), lib.jit(lib.jacfwd(f))(X[0])])

    np.testing.assert_allclose(gradients(glassjax), gradients(jax))


def with_rule(lib, rule):
    f = lib.custom_batching.custom_vmap(lambda x: {"a": x})
    if rule is not None:
        f.def_vmap(rule)
    return lib.vmap(f)(X[0])


# Each is a rule that JAX refuses, too.
FAULTS = {
    "no rule": None,
    "no pair": lambda n, batched, x: {"a": x},
    "another structure": lambda n, batched, x: (x, True),
    "two structures": lambda n, batched, x: ({"a": x}, True),
}


@for_each("name", FAULTS)
def test_what_jax_refuses_is_refused(name):
    kinds = []
    for lib, _ in LIBRARIES:
        with pytest.raises((AttributeError, ValueError)) as info:
            with_rule(lib, FAULTS[name])
        kinds.append(info.type)
    assert issubclass(kinds[0], kinds[1])


def test_what_does_not_fit_is_said():
    with pytest.raises(ValueError, match=r"returned f64\[3\] and said that it is no batch of 3"):
        with_rule(glassjax, lambda n, batched, x: ({"a": x}, {"a": False}))
    with pytest.raises(TypeError, match="closes over a batched value"):
        glassjax.vmap(lambda z: glassjax.custom_batching.sequential_vmap(lambda x: x * z)(1.0))(
            X[0]
        )
    with pytest.raises(TypeError, match="custom_vmap: expected a function"):
        glassjax.custom_batching.custom_vmap(3)
