"""Elementwise functions: values, dtypes and special numbers, against numpy."""

import numpy as np
import pytest
from beside_numpy import are_same, is_same, numbers, of_each
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import for_each

import glassjax.numpy as jnp
from glassjax import Array, grad, jit, vmap


def test_absolute_values_under_transformations():
    """Also of what the stages have no absolute value of."""
    z = jnp.array([3 + 4j, -1j])
    for function in (abs, jit(abs), vmap(abs)):
        np.testing.assert_allclose(function(z), [5, 1])
        np.testing.assert_array_equal(function(jnp.array([True, False])), [True, False])
    slope = grad(lambda t: jnp.sum(abs(t * z)))(2.0)
    np.testing.assert_allclose(slope, 6.0)


shapes = st.lists(st.integers(1, 3), min_size=0, max_size=3).map(tuple)


UNARY = "sin cos tan tanh exp expm1 log1p sqrt square negative abs sign isnan isfinite isinf"


def test_unary_functions():
    names = UNARY.split()
    arrays = [numbers((2, 3), dtype) for dtype in ("float64", "float32")]
    found, of_numbers = jit(
        lambda arrays: (
            [of_each(names, jnp, x) for x in arrays],
            [of_each(names, jnp, number) for number in (2.0, 2)],
        )
    )(arrays)
    for results, x in zip(found, arrays, strict=True):
        are_same(results, of_each(names, np, x))
    for results in of_numbers:
        for name, expected in of_each(names, np, 2.0).items():
            np.testing.assert_allclose(results[name], expected, err_msg=name)
    for name in names:
        assert isinstance(getattr(jnp, name)(2.0), Array)


BINARY = """add subtract multiply divide maximum minimum power equal not_equal less less_equal
greater greater_equal logical_and logical_or"""


@given(shape=shapes, dtype=st.sampled_from(["float64", "float32", "int64"]))
@settings(max_examples=8, deadline=None)
def test_binary_functions(shape, dtype):
    names = BINARY.split()
    x, y = numbers(shape, dtype, 1) + 1, numbers(shape[1:], dtype, 2) + 1
    found, of_number = jit(lambda x, y: [of_each(names, jnp, each, y) for each in (x, 2)])(x, y)
    are_same(found, of_each(names, np, x, y))
    are_same(of_number, of_each(names, np, np.asarray(2, dtype), y))


@for_each("name", BINARY.split())
def test_a_binary_function_that_nothing_is_around(name):
    x, y = numbers((2, 3), "float64", 1) + 1, numbers((3,), "float64", 2) + 1
    for _ in range(2):
        is_same(getattr(jnp, name)(x, y), getattr(np, name)(x, y))
    is_same(getattr(jnp, name)(2, y), getattr(np, name)(2, y))


def test_special_values():
    x = np.array([0.0, -1.5, np.inf, -np.inf, np.nan])
    for name in ("isnan", "isfinite", "isinf", "floor", "ceil", "abs", "sign"):
        is_same(getattr(jnp, name)(x), getattr(np, name)(x))
    is_same(jnp.clip(x, -1.0, 1.0), np.clip(x, -1.0, 1.0))
    is_same(jnp.isclose(x, x), np.isclose(x, x))
    is_same(jnp.isclose(x, x + 1e-9), np.isclose(x, x + 1e-9))
    assert not jnp.allclose(x, x)
    assert jnp.allclose(x[:4], x[:4])
    assert jnp.allclose(x, x, equal_nan=True)


def test_closeness_of_integers():
    x, y = np.array([1, 2], np.uint8), np.array([2, 1], np.uint8)
    is_same(jnp.isclose(x, y), np.isclose(x, y))
    is_same(jnp.isclose(x, y, atol=1), np.array([True, True]))
    is_same(jnp.isclose(x > 1, y > 1), np.array([False, False]))


ROUNDING_AND_TESTS = ["abs", "isnan", "isfinite", "isinf", "floor", "ceil", "logical_not"]


def test_functions_of_floats_take_integers():
    arrays = [numbers((3,), dtype) for dtype in ("uint8", "int32", "bool")]
    found = jit(lambda arrays: [of_each(ROUNDING_AND_TESTS, jnp, x) for x in arrays])(arrays)
    for results, x in zip(found, arrays, strict=True):
        are_same(results, of_each(ROUNDING_AND_TESTS, np, x) | {"floor": x, "ceil": x})


def test_whole_powers_are_exact():
    assert jnp.power(2, 10).item() == 1024
    assert jnp.power(-2.0, 3) == -8.0
    assert jnp.power(np.array([3, -3]), 3).tolist() == [27, -27]
    assert jnp.power(2.0, -1) == 0.5
    with pytest.raises(TypeError, match=r"integer i64\[\] to the negative power -1"):
        jnp.power(2, -1)


def test_where_and_its_derivative():
    x = np.array([-1.0, 2.0])
    is_same(jnp.where(x > 0, x, 0), np.where(x > 0, x, 0))
    is_same(grad(lambda x: jnp.sum(jnp.where(x > 0, x * x, 3 * x)))(x), np.array([3.0, 4.0]))
