"""Creation of arrays: values, dtypes and bounds, against numpy."""

import array
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from beside_numpy import is_same
from rows import for_each

import glassjax.numpy as jnp
from glassjax import grad, jit, lax
from glassjax.errors import TracerIntegerConversionError


def test_creation():
    is_same(jnp.zeros((2, 3)), np.zeros((2, 3)))
    is_same(jnp.zeros(3, "int32"), np.zeros(3, "int32"))
    is_same(jnp.ones((), jnp.float32), np.ones((), np.float32))
    is_same(jnp.full((2,), 7), np.full((2,), 7))
    is_same(jnp.full((2, 2), np.arange(2)), np.full((2, 2), np.arange(2)))
    is_same(jnp.full_like(np.ones(2, np.float32), 3), np.full_like(np.ones(2, np.float32), 3))
    is_same(jnp.zeros_like(np.ones((2, 1)), dtype=bool), np.zeros((2, 1), bool))
    is_same(jnp.ones_like(3), np.ones_like(3))
    is_same(jnp.eye(3), np.eye(3))
    is_same(jnp.eye(2, 4, k=1, dtype=int), np.eye(2, 4, k=1, dtype=int))
    is_same(jnp.zeros_like(np.ones(2), shape=(3,)), np.zeros(3))
    is_same(jnp.full_like(np.ones(2), 2, np.int32, (1, 2)), np.full((1, 2), 2, np.int32))


@for_each("args", [(4,), (0,), (-1,), (1, 5), (1, 8, 2), (5, 1, -1), (0.0, 1.0, 0.1)])
def test_arange(args):
    is_same(jnp.arange(*args), np.arange(*args))
    is_same(jit(lambda: jnp.arange(*args))(), np.arange(*args))
    is_same(jnp.arange(*args, dtype=np.float32), np.arange(*args, dtype=np.float32))
    start, stop, step = (*args, None, None)[:3]
    is_same(jnp.arange(start, stop, step, np.float32), np.arange(*args, dtype=np.float32))


def test_array_takes_nested_lists_of_anything():
    is_same(jnp.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    is_same(jnp.array(3.0, dtype=jnp.float32), np.float32(3))
    is_same(jnp.array([1.0, jnp.sin(2.0)]), np.array([1.0, np.sin(2.0)]))

    def f(x):
        return jnp.array([[x, 2 * x], (1, 0.0)])

    is_same(jit(f)(3.0), np.array([[3.0, 6.0], [1.0, 0.0]]))
    is_same(grad(lambda x: jnp.sum(f(x)))(3.0), 3.0)
    is_same(jit(lambda x: jnp.asarray(x, jnp.int32))(3.7), np.int32(3))


class OfNumpy:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


class OfJax:
    def __jax_array__(self):
        return jnp.arange(3.0)


def test_array_takes_what_says_how_it_becomes_one():
    for x in (OfNumpy(), OfJax(), memoryview(np.arange(3.0)), array.array("d", range(3))):
        is_same(jnp.asarray(x), np.arange(3.0))
        is_same(jit(lambda x=x: jnp.array(x, jnp.float32))(), np.arange(3, dtype=np.float32))
        is_same(jnp.array([x, jnp.ones(3)]), np.array([np.arange(3.0), np.ones(3)]))
    is_same(jnp.array(range(3)), np.arange(3))
    is_same(jnp.array(3.0, ndmin=2), np.array(3.0, ndmin=2))
    is_same(jnp.array(2**63, dtype=jnp.uint64), np.uint64(2**63))
    with pytest.raises(TypeError, match="'a' of type str"):
        jnp.asarray("a")
    with pytest.raises(TypeError, match="masked array"):
        jnp.asarray(np.ma.masked_array([1.0], [1]))
    with pytest.raises(OverflowError):
        jnp.array(2**63)


LINSPACES = [
    ((0, 1, 5), {}),
    ((0, 1, 5), {"endpoint": False}),
    ((0, 1, 1), {}),
    ((0, 1, 0), {}),
    ((1, 1j, 3), {}),
    ((-5, 5, 4), {"dtype": np.int32}),
    ((np.zeros(2), np.array([1.0, 2.0]), 3), {"axis": -1}),
    ((np.zeros((2, 1)), np.ones(3), 4), {}),
]


@for_each(("args", "options"), LINSPACES)
def test_linspace(args, options):
    expected = np.linspace(*args, **options)
    is_same(jnp.linspace(*args, **options), expected)
    start, stop, *rest = args
    is_same(jit(lambda x, y: jnp.linspace(x, y, *rest, **options))(start, stop), expected)
    if args[2] > 1:
        found, step = jnp.linspace(*args, **options, retstep=True)
        is_same(found, expected)
        np.testing.assert_allclose(step, np.linspace(*args, **options, retstep=True)[1])


@for_each("count", [5, 8, 11, 50, 101])
@for_each(("start", "stop"), [(-3, 7), (-12, -7), (-12, 2), (0, 10)])
def test_linspace_is_exact_where_its_numbers_are(start, stop, count):
    """-1.9999998 in the place of -2 counts in another bin, and is another integer below."""
    expected = [start + Fraction(stop - start, count - 1) * i for i in range(count)]
    found = jnp.linspace(start, stop, count)
    for x, exact in zip(found.tolist(), expected, strict=True):
        assert x == exact or exact.denominator > 1
    floors = jnp.linspace(start, stop, count, dtype=int)
    assert floors.tolist() == [math.floor(exact) for exact in expected]


def test_linspace_of_large_numbers_is_finite():
    x = jnp.linspace(jnp.float32(-3e38), jnp.float32(3e38), 1001)
    np.testing.assert_allclose(x, np.linspace(-3e38, 3e38, 1001), atol=1e32)


def test_linspace_is_differentiable():
    assert grad(lambda x: jnp.sum(jnp.linspace(0.0, x, 5)))(2.0) == 2.5


SHAPES = {
    "zeros: shape": jnp.zeros,
    "ones: shape": jnp.ones,
    "full: shape": lambda n: jnp.full(n, 1.0),
    "eye: N": jnp.eye,
    "broadcast_to: shape": lambda n: jnp.broadcast_to(1.0, n),
    "linspace: num": lambda n: jnp.linspace(0, 1, n),
    "broadcasted_iota: shape": lambda n: lax.iota(jnp.int32, n),
}


@for_each("role", SHAPES)
def test_what_decides_a_shape_is_an_int(role):
    f = SHAPES[role]
    for n in (np.int64(3), np.array(3), jnp.array(3)):
        is_same(f(n), f(3))
    for n in (2.0, "a", None):
        words = rf"({role}|iota: size) must be an int( or a sequence of ints)?, found"
        with pytest.raises(TypeError, match=words):
            f(n)
    with pytest.raises(TracerIntegerConversionError, match=f"(?s){role} must be known.*static_arg"):
        jit(f)(3)
    with pytest.raises((TypeError, ValueError), match=f"{role.partition(':')[0]}: "):
        f(-1)


@for_each("name", ["start", "stop", "step"])
def test_the_bounds_of_arange_are_known(name):
    bounds = {"start": 0, "stop": 5, "step": 1}
    with pytest.raises(TracerIntegerConversionError, match=f"arange: {name} must be known"):
        jit(lambda x: jnp.arange(**{**bounds, name: x}))(2)
    with pytest.raises(TypeError, match=f"arange: {name}: expected an array or a number"):
        jnp.arange(**{**bounds, name: "a"})
    with pytest.raises(TypeError, match=rf"arange: {name} must be a number, found f64\[2\]"):
        jnp.arange(**{**bounds, name: np.ones(2)})


def test_an_array_is_a_copy():
    x = np.ones(3)
    y = jnp.array(x)
    x[0] = 5
    is_same(y, np.ones(3))


@for_each("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_at_equal_distances_are_rounded_once(dtype):
    """Products with a rounded third made 7 / 3 the second nearest bfloat16."""
    for stop, num in [(7, 4), (3, 8), (1, 600)]:
        found = jnp.linspace(dtype(0), dtype(stop), num)
        np.testing.assert_array_equal(found, np.linspace(0, stop, num).astype(dtype))
