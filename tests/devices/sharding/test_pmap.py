"""`pmap` on eight devices: values, shardings and errors, beside JAX."""

import numpy as np
import pytest
from eight_devices import CAN_READ, X, assert_same

import glassjax

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")

V = np.linspace(-1, 2, 8, dtype=np.float32)


def step(lib, w, x):
    """A step of data-parallel gradient descent."""
    g = lib.grad(lambda w: (lib.numpy.tanh(x @ w) ** 2).mean())(w)
    return w - 0.1 * lib.lax.pmean(g, "batch")


PROGRAMS = {
    "twice": lambda lib: lib.pmap(lambda x: 2 * x, "i")(V),
    "fewer examples than devices": lambda lib: lib.pmap(lambda x: 2 * x, "i")(V[:3]),
    "psum": lambda lib: lib.pmap(lambda x: lib.lax.psum(x, "i"), "i")(V),
    "all_gather": lambda lib: lib.pmap(lambda x: lib.lax.all_gather(x, "i"), "i")(X),
    "groups": lambda lib: lib.pmap(
        lambda x: lib.lax.psum(x, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]), "i"
    )(V),
    "shared": lambda lib: lib.pmap(lambda x, y: x + y, "i", in_axes=(0, None))(X, V),
    "a later axis": lambda lib: lib.pmap(lambda x: x.cumsum(), "i", in_axes=1, out_axes=1)(X),
    "the first result": lambda lib: lib.pmap(lambda x: x, "i", out_axes=None)(V),
    "a tree": lambda lib: lib.pmap(lambda t: {"a": t["b"] + 1, "c": t["d"][0]}, "i")(
        {"b": V, "d": (X,)}
    ),
    "by keyword": lambda lib: lib.pmap(lambda x, y: x - y, "i")(V, y=2 * V),
    "static": lambda lib: lib.pmap(lambda x, n: n * x, "i", static_broadcasted_argnums=1)(V, 3),
    "given devices": lambda lib: lib.pmap(lambda x: x, "i", devices=lib.devices()[4:6])(V[:2]),
    "of arrays on devices in another order": lambda lib: [
        lib.pmap(lambda x: x + 1, "i", devices=devices)(lib.pmap(lambda x: x, "i", devices=of_x)(V))
        for devices, of_x in [(None, lib.devices()[::-1]), (lib.devices()[::-1], None)]
    ],
    "donated": lambda lib: lib.pmap(lambda x: x + 1, "i", donate_argnums=0)(lib.numpy.array(V)),
    "again on its results": lambda lib: lib.pmap(lambda x: x + 1, "i")(
        lib.pmap(lambda x: 2 * x, "i")(V)
    ),
    "random": lambda lib: lib.pmap(lambda key: lib.random.normal(key, (3,)), "i")(
        lib.random.split(lib.random.key(1), 8)
    ),
    "a step": lambda lib: lib.pmap(
        lambda w, x: step(lib, w, x), "batch", in_axes=(None, 0), out_axes=None
    )(V, X.reshape(8, 1, 8)),
    "gradient inside": lambda lib: lib.pmap(
        lib.grad(lambda x: lib.lax.psum(lib.numpy.sin(x), "i") ** 2), "i"
    )(V),
    # Transformations.
    "jit": lambda lib: lib.jit(lib.pmap(lambda x: 2 * x, "i"))(V),
    "grad": lambda lib: lib.grad(
        lambda x: lib.pmap(lambda x: lib.lax.psum(x**2, "i") * x, "i")(x).sum()
    )(V),
    "jvp": lambda lib: lib.jvp(lib.pmap(lambda x: lib.lax.psum(x**2, "i"), "i"), (V,), (V,)),
    "vmap": lambda lib: lib.vmap(lib.pmap(lambda x: x - lib.lax.pmean(x, "i"), "i"))(X),
    "of vmap": lambda lib: lib.pmap(lib.vmap(lambda x: x**2), "i")(X),
    "checkpoint": lambda lib: lib.grad(
        lambda x: lib.pmap(lib.checkpoint(lambda x: lib.numpy.sin(x) ** 2), "i")(x).sum()
    )(V),
    "scan inside": lambda lib: lib.pmap(
        lambda x: lib.lax.scan(lambda c, y: (c + lib.lax.psum(y, "i"), c), 0.0, x), "i"
    )(X),
    "scan of pmap": lambda lib: lib.lax.scan(
        lambda c, _: (lib.pmap(lambda x: x + lib.lax.psum(x, "i"), "i")(c), None), V, length=3
    )[0],
    # Errors.
    "too many examples": lambda lib: lib.pmap(lambda x: x)(np.ones(9)),
    "sizes that differ": lambda lib: lib.pmap(lambda x, y: x + y)(V[:4], V[:3]),
    "another axis_size": lambda lib: lib.pmap(lambda x: x, axis_size=4)(V),
    "not as many as devices": lambda lib: lib.pmap(lambda x: x, devices=lib.devices()[:4])(V),
    "nothing is mapped": lambda lib: lib.pmap(lambda x: x, in_axes=None)(V),
    "a scalar": lambda lib: lib.pmap(lambda x: x)(1.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_jax(name):
    assert_same(PROGRAMS[name])


def test_lower_and_compile():
    f = glassjax.pmap(lambda x: glassjax.lax.psum(x, "i"), "i")
    assert "all_reduce" in f.lower(V).as_text()
    assert glassjax.make_jaxpr(f)(V).out_avals[0].shape == (8,)


def test_without_arguments():
    index = glassjax.pmap(lambda: glassjax.lax.axis_index("i"), "i", axis_size=8)
    np.testing.assert_array_equal(index(), range(8))


def test_a_pmap_within_a_pmap_is_refused():
    inner = glassjax.pmap(lambda x: x)
    with pytest.raises(ValueError, match=r"Use vmap there, or shard_map over several axes"):
        glassjax.pmap(lambda x: inner(x))(np.ones((2, 2), np.float32))
