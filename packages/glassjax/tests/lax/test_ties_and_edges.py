"""Ties, NaN, zeros and bad operands of single primitives."""

import numpy as np
import pytest
from rows import for_each

from glassjax import grad, jit, lax, vmap

NAN, INF = np.nan, np.inf


@for_each("reduce", [lax.reduce_max, lax.reduce_min])
def test_elements_that_tie_share_the_derivative(reduce):
    x = np.array([[3.0, 1.0, 3.0], [3.0, 3.0, 3.0]])
    expected = [[1, 0, 1], [1, 1, 1]] if reduce is lax.reduce_max else [[0, 1, 0], [1, 1, 1]]
    expected = np.array(expected) / np.sum(expected, axis=1, keepdims=True)
    found = grad(lambda x: lax.reduce_sum(reduce(x, (1,)), (0,)))(x)
    np.testing.assert_allclose(found, expected)


@for_each("function", [lax.max, lax.min])
def test_operands_that_tie_share_the_derivative(function):
    assert grad(function, (0, 1))(2.0, 2.0) == (0.5, 0.5)
    assert sum(map(float, grad(function, (0, 1))(2.0, 3.0))) == 1.0


@for_each("function", [lax.max, lax.min])
def test_nan_wins(function):
    assert np.isnan(function(NAN, 1.0))
    assert np.isnan(function(1.0, NAN))


@for_each(
    ("elements", "largest", "smallest"),
    [
        ([1, 3, 3], 1, 0),
        ([2.0, NAN, 5.0, NAN], 1, 1),
        ([-INF, INF], 1, 0),
        ([-INF, -INF], 0, 0),
        ([False, True, False], 1, 0),
    ],
)
def test_argmax_finds_the_first(elements, largest, smallest):
    x = np.array(elements)
    assert lax.argmax(x, 0, np.int32) == largest == np.argmax(x)
    assert lax.argmin(x, 0, np.int32) == smallest == np.argmin(x)
    assert lax.argmax(x, 0, np.int32).dtype == np.int32
    assert vmap(lambda x: lax.argmax(x, 0, np.int32))(np.stack([x, x])).tolist() == [largest] * 2


@for_each("shape", [(20_000,), (600, 500)])
def test_argmax_finds_nan_among_many_numbers(shape):
    """XLA's maximum of many numbers and a NaN is a number: it found the first of that."""
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x[np.random.default_rng(1).random(shape) < 0.001] = NAN
    for axis in range(len(shape)):
        np.testing.assert_array_equal(lax.argmax(x, axis, np.int32), np.argmax(x, axis))
        np.testing.assert_array_equal(lax.argmin(x, axis, np.int32), np.argmin(x, axis))


def test_powers_of_zero_have_derivatives():
    """y * x ** (y - 1) and log(x) * x ** y are 0 * infinity where they are taken literally."""
    assert grad(lax.pow)(0.0, 0.0) == 0.0
    assert grad(lax.pow)(0.0, 1.0) == 1.0
    assert grad(lax.pow)(0.0, 2.0) == 0.0
    assert grad(lax.pow, 1)(0.0, 2.0) == 0.0
    assert grad(lambda x: lax.pow(x, x))(1.0) == 1.0


def test_the_derivative_of_abs_at_zero_is_that_of_jax():
    assert grad(lax.abs)(0.0) == 1.0
    assert grad(lax.abs)(-2.0) == -1.0


def test_stop_gradient_takes_pytrees():
    def f(x):
        constant = lax.stop_gradient({"x": x, "n": 3})
        return x * constant["x"] * constant["n"]

    assert grad(f)(2.0) == 6.0
    assert jit(grad(f))(2.0) == 6.0


def test_operands_must_have_one_dtype_and_rank():
    assert lax.add(np.float32(1), np.ones(2, np.float32)).dtype == np.float32
    assert lax.div(-7, np.array([2, -2])).tolist() == [-3, 3]
    assert lax.sub(np.ones((2, 1)), np.ones((1, 3))).shape == (2, 3)
    for refused in (
        lambda: lax.add(np.float32(1), 2),
        lambda: lax.div(1.0, 2),
        lambda: lax.sub(np.ones((2, 1)), np.ones(3)),
        lambda: lax.concatenate([np.ones(2, np.float32), np.arange(2)], 0),
        lambda: lax.sin(1),
    ):
        with pytest.raises(TypeError, match=r"one dtype|same number of axes|sin: found"):
            refused()


@for_each(
    ("call", "message"),
    [
        (lambda: lax.floor(1j), "floor: found c128"),
        (lambda: lax.rem(1j, 1.0), "rem: found c128"),
        (lambda: lax.bitwise_not(1.0), "not: found f64.*boolean, integer, unsigned"),
        (lambda: lax.slice(np.ones(3), (2,), (4,)), r"f64\[3\] has no elements from \(2,\)"),
        (lambda: lax.slice(np.ones(3), (0,), (3,), (0,)), r"in steps of \(0,\)"),
        (lambda: lax.pad(np.ones(3), 0, [(0, 0, 0)]), r"takes a scalar of its dtype, found i64"),
        (lambda: lax.concatenate([np.ones(3), np.ones((3, 1))], 0), "differ along axis 0 only"),
        (lambda: lax.concatenate([np.ones(3)], 1), "has no axis 1"),
        (lambda: lax.sin([1.0, 2.0]), r"found \[.*\] of type list. jnp.array"),
        (lambda: lax.sin("a"), r"^sin: argument x: .* found 'a' of type str\.(\n|$)"),
    ],
)
def test_bad_operands_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@for_each(
    ("call", "message"),
    [
        (
            lambda: lax.reduce_max(np.ones(3), (1,)),
            r"axes \(1,\) are not distinct axes of f64\[3\]",
        ),
        (lambda: lax.broadcasted_iota(np.int32, (2,), 1), "has no axis 1"),
        (lambda: lax.squeeze(np.ones((1, 2)), (1,)), "not all of size 1"),
        (lambda: lax.expand_dims(np.ones(2), (3,)), "out of range"),
        (lambda: lax.expand_dims(np.ones(2), (0, 0)), "given twice"),
        (lambda: lax.pad(np.ones(3), 0.0, [(0, 0, -1)]), "takes 1 triples of ints"),
        (lambda: lax.pad(np.ones(3), 0.0, [(-4, 0, 0)]), "takes away more elements"),
    ],
)
def test_bad_axes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@for_each("axis", [0, np.int64(0), np.array(0), (0,), [np.int64(0)]])
def test_axes_are_ints_of_any_make(axis):
    x = np.ones((1, 3))
    assert lax.squeeze(x, axis).shape == (3,)
    assert lax.expand_dims(x, axis).shape == (1, 1, 3)
    with pytest.raises(TypeError, match="expand_dims: dimensions must be an int or a sequence"):
        lax.expand_dims(x, 1.0)


def test_an_algorithm_of_products_stays_what_it_is():
    algorithm = lax.DotAlgorithm(np.float32, np.float32, np.float32)
    x = np.ones(2, np.float32)
    text = jit(lambda x: lax.dot(x, x, precision=algorithm)).lower(x).as_text()
    assert "accumulation_type = f32" in text
    assert lax.dot(x, x, precision=algorithm) == 2.0
