"""Shapes, products and indices: values and errors, against numpy."""

import numpy as np
import pytest
from beside_numpy import is_same, numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import for_each

import glassjax.numpy as jnp
from glassjax import jit, nn

few = settings(max_examples=15, deadline=None)  # each new shape is compiled


shapes = st.lists(st.integers(1, 3), min_size=0, max_size=3).map(tuple)


def test_manipulation():
    x = np.arange(6.0).reshape(1, 2, 3)
    is_same(jnp.reshape(x, (3, -1)), np.reshape(x, (3, -1)))
    is_same(jnp.ravel(x), np.ravel(x))
    is_same(jnp.ravel(x, "F"), np.ravel(x, "F"))
    is_same(jnp.reshape(x, (3, -1), "F"), np.reshape(x, (3, -1), order="F"))
    is_same(jnp.concatenate([x, x], 1, np.int32), np.concatenate([x, x], 1).astype(np.int32))
    is_same(jnp.stack([x, x], 1, dtype=np.int32), np.stack([x, x], 1).astype(np.int32))
    is_same(jnp.transpose(x), np.transpose(x))
    is_same(jnp.transpose(x, (1, 2, 0)), np.transpose(x, (1, 2, 0)))
    is_same(jnp.moveaxis(x, 0, -1), np.moveaxis(x, 0, -1))
    is_same(jnp.swapaxes(x, 0, -1), np.swapaxes(x, 0, -1))
    is_same(jnp.broadcast_to(x, (4, 1, 2, 3)), np.broadcast_to(x, (4, 1, 2, 3)))
    is_same(jnp.expand_dims(x, (0, -1)), np.expand_dims(x, (0, -1)))
    is_same(jnp.squeeze(x), np.squeeze(x))
    is_same(jnp.squeeze(x, 0), np.squeeze(x, 0))
    is_same(jnp.astype(x, int), x.astype(int))
    assert (jnp.shape(x), jnp.ndim(x)) == ((1, 2, 3), 3)


@given(st.integers(1, 3), st.integers(-3, 2), shapes.filter(lambda shape: len(shape) == 3))
@few
def test_concatenate_and_stack(count, axis, shape):
    arrays = [numbers(shape, "float64", seed) for seed in range(count)]

    def joined(library, arrays):
        join = library.concatenate, library.stack
        return [f(arrays, axis) for f in join] + [join[0](arrays, None), join[1](arrays)]

    found = jit(lambda arrays: joined(jnp, arrays))(arrays)
    for result, expected in zip(found, joined(np, arrays), strict=True):
        is_same(result, expected)


PRODUCTS = [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4))]


def test_products():
    shapes = [*PRODUCTS, ((4, 2, 3), (3, 2)), ((2, 3), (4, 3, 2))]
    pairs = [[numbers(shape, "float64", n) for n, shape in enumerate(both)] for both in shapes]

    def products(library, x, y):
        functions = library.dot, library.outer, *([library.matmul] if x.ndim else [])
        return [f(x, y) for f in functions]

    found = jit(lambda pairs: [products(jnp, *pair) for pair in pairs])(pairs)
    for shape, pair, results in zip(shapes, pairs, found, strict=True):
        for result, expected in zip(results, products(np, *pair), strict=True):
            assert result.shape == expected.shape, shape
            is_same(result, expected)
    x, y = pairs[-1]
    is_same(jnp.dot(x, y), np.dot(x, y))
    is_same(jnp.matmul(x, y), np.matmul(x, y))


@for_each(
    ("call", "message"),
    [
        (lambda: jnp.max(np.ones((0, 2))), r"max: an array of shape \(0, 2\) has no elements"),
        (lambda: jnp.argmin(np.ones((2, 0)), 1), "argmin: .* no elements to choose from"),
        (lambda: jnp.max(np.ones(2), where=True), "max: where may leave no elements .* initial"),
        (lambda: jnp.min(np.ones(2), initial=np.ones(1)), r"min: initial must be a scalar, found"),
        (lambda: jnp.var(np.ones(2), ddof=1, correction=1), "var: found ddof 1 and correction 1"),
        (lambda: jnp.var(1j, dtype=float), r"var: the array is complex, c128\[\], but dtype is"),
        (lambda: jnp.sum(np.ones(2), 1), "sum: axis 1 is out of range"),
        (
            lambda: jnp.mean(np.ones(2), (0, -1)),
            r"mean: axis \(0, -1\) is out of range for ndim 1, or given twice",
        ),
        (lambda: jnp.stack([]), "stack: needs at least one array"),
        (lambda: jnp.concatenate([]), "concatenate: needs at least one array"),
        (lambda: jnp.stack([np.ones(2), np.ones(3)]), r"one shape, found \[\(2,\), \(3,\)\]"),
        (lambda: jnp.array([[1.0], [1.0, 2.0]]), "inhomogeneous"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_negative_indices_are_out_of_bounds_if_they_are_not_to_wrap():
    x, indices = jnp.array([1.0, 2.0, 3.0]), jnp.array([-1, 1])
    is_same(jnp.take_along_axis(x, indices, 0), np.array([3.0, 2.0]))
    found = jnp.take_along_axis(x, indices, 0, wrap_negative_indices=False)
    is_same(found, np.array([np.nan, 2.0]))
    found = jnp.take_along_axis(x, indices, 0, "clip", wrap_negative_indices=False)
    is_same(found, np.array([1.0, 2.0]))


@for_each(
    "call",
    [
        lambda out_sharding: jnp.full(3, 1, out_sharding=out_sharding),
        lambda out_sharding: jnp.full_like(np.ones(3), 1, out_sharding=out_sharding),
        lambda out_sharding: jnp.bincount(np.arange(3), out_sharding=out_sharding),
        lambda out_sharding: jnp.histogram(np.ones(3), out_sharding=out_sharding),
        lambda out_sharding: jnp.percentile(np.ones(3), 5, out_sharding=out_sharding),
        lambda out_sharding: nn.one_hot(np.arange(3), 3, out_sharding=out_sharding),
    ],
)
def test_out_sharding_is_a_sharding(call):
    call(None)
    with pytest.raises(TypeError, match="out_sharding must be a NamedSharding or a PartitionSpec"):
        call("elsewhere")
