"""Objects of other libraries with `__jax_array__`."""

import jax
import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp
from glassjax import lax

x = np.arange(1.0, 4.0, dtype=np.float32)


class Wrapper:
    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


class Forwarding(Wrapper):
    """One whose attributes are those of the array, as flax's variables are."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)


class Node(Forwarding):
    """One that is also a node of pytrees."""


def _parts(node):
    return (node.value,), None


def _of_parts(_, parts):
    return Node(*parts)


glassjax.tree_util.register_pytree_node(Node, _parts, _of_parts)
jax.tree_util.register_pytree_node(Node, _parts, _of_parts)

# Functions of an array `y` and a class of wrappers.
FUNCTIONS = {
    "sin": lambda jnp, y, wrap: jnp.sin(wrap(y)),
    "multiply": lambda jnp, y, wrap: jnp.multiply(y, wrap(y)),
    "dot": lambda jnp, y, wrap: jnp.dot(wrap(y), wrap(y)),
    "sum": lambda jnp, y, wrap: jnp.sum(wrap(y)),
    "stack": lambda jnp, y, wrap: jnp.stack([wrap(y), y]),
    "keyword": lambda jnp, y, wrap: jnp.clip(y, min=wrap(y + 1)),
    "operator": lambda jnp, y, wrap: y * wrap(y) + wrap(y),
    "comparison": lambda jnp, y, wrap: jnp.where(y < wrap(y), 1.0, 2.0),
    "asarray": lambda jnp, y, wrap: jnp.asarray(wrap(y)) * 2,
}
TRANSFORMED = {
    "eagerly": lambda lib, f, y: f(y),
    "jit": lambda lib, f, y: lib.jit(f)(y),
    "grad": lambda lib, f, y: lib.grad(lambda y: f(y).sum())(y),
    "vmap": lambda lib, f, y: lib.vmap(f)(lib.numpy.stack([y, 2 * y])),
    "scan": lambda lib, f, y: lib.lax.scan(lambda c, y: (c, f(y)), 0.0, lib.numpy.stack([y, y])),
}


def everything(lib, hows, wrap):
    """What each function gives, each way."""
    y, n = lib.numpy.asarray(x), lib.numpy
    return {
        f"{how} {name}": TRANSFORMED[how](lib, lambda y, f=function: f(n, y, wrap), y)
        for how in hows
        for name, function in FUNCTIONS.items()
    }


@pytest.fixture(scope="module")
def expected():
    """As JAX takes nodes of pytrees everywhere, the arrays themselves give its results."""
    return jax.jit(lambda: everything(jax, TRANSFORMED, lambda y: y))()


def assert_all_close(found, expected):
    for name, own in found.items():
        theirs = jax.tree.leaves(expected[name])
        for one, other in zip(glassjax.tree.leaves(own), theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("wrap", [Wrapper, Forwarding, Node])
def test_functions_take_the_array(wrap, expected):
    assert_all_close(glassjax.jit(lambda: everything(glassjax, TRANSFORMED, wrap))(), expected)
    assert_all_close(everything(glassjax, ["eagerly"], wrap), expected)


def test_jax_takes_nodes_so_too(expected):
    names = ["sin", "multiply", "dot", "sum", "stack", "operator", "asarray"]
    found = jax.jit(lambda: {n: FUNCTIONS[n](jax.numpy, jax.numpy.asarray(x), Node) for n in names})
    assert_all_close({f"eagerly {name}": out for name, out in found().items()}, expected)


def test_primitives_take_the_array():
    np.testing.assert_allclose(lax.sin(Wrapper(jnp.asarray(x))), np.sin(x), rtol=1e-6)


def test_types_of_axes_of_a_mesh():
    for types in ("Auto", "Explicit", "Manual"):
        own, theirs = (
            lib.sharding.AbstractMesh(
                (2, 1), ("a", "b"), axis_types=(getattr(lib.sharding.AxisType, types),) * 2
            )
            for lib in (glassjax, jax)
        )
        for name in ("auto", "explicit", "manual"):
            asked = f"are_all_axes_{name}"
            assert getattr(own, asked) == getattr(theirs, asked) == (name == types.lower())
