"""Indices of the largest and smallest elements along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.lax.elementwise.bits import bitwise_and, bitwise_or
from minijax.lax.elementwise.comparisons import eq, gt, lt, ne
from minijax.lax.elementwise.selection import select
from minijax.lax.reductions.reduce import reduce
from minijax.lax.reductions.standard import largest, smallest
from minijax.lax.shapes.creation import broadcasted_iota, full_like
from minijax.primitives.declare import declare
from minijax.primitives.regions import lower_as
from minijax.primitives.sharding_rules import by_reduction
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.functions import canonical_axis
from minijax_stage2.shaped_array import dialect, is_inexact
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim

argmax_p = Primitive("argmax")
argmin_p = Primitive("argmin")


@operation(static=("axis", "index_dtype"))
def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The index of the first largest element along `axis`; the first NaN counts as largest.

    >>> lax.argmax(jnp.array([[1, 9], [8, 2]]), 1, jnp.int32)
    Array([1, 0], dtype=int32)
    """
    return _bind_arg(argmax_p, operand, axis, index_dtype)


@operation(static=("axis", "index_dtype"))
def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The index of the first smallest element along `axis`; the first NaN counts as smallest.

    >>> lax.argmin(jnp.array([[1, 9], [8, 2]]), 1, jnp.int32)
    Array([0, 1], dtype=int32)
    """
    return _bind_arg(argmin_p, operand, axis, index_dtype)


def _bind_arg(primitive: Primitive, operand: Any, axis: int, index_dtype: Any) -> Any:
    dtype = dialect().dtype_of(primitive.name, index_dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"{primitive}: index_dtype must be one of integers, found {dtype}")
    axis = canonical_axis(primitive.name, axis, typeof(operand).ndim)
    return bind1(primitive, operand, axis=axis, index_dtype=dtype)


Pair = tuple[Any, Any]  # an element, and its index


def _better(is_beyond: Callable[[Any, Any], Any]) -> Callable[[Pair, Pair], Pair]:
    """The reduction computation that selects one of two elements, each with its index.

    NaN, the only value that differs from itself, is beyond all numbers. XLA's own maximum does not
    help: with many numbers and a NaN it may be a number. In a tie the smaller index wins, in
    whatever order elements are combined.
    """

    def better(one: Pair, other: Pair) -> Pair:
        (x, i), (y, j) = one, other
        is_first = lt(i, j)
        if is_inexact(typeof(x).dtype):
            is_nan = ne(x, x)
            is_chosen = bitwise_or(is_beyond(x, y), is_nan)
            ties = bitwise_or(eq(x, y), bitwise_and(is_nan, ne(y, y)))
            has_index = select(ties, is_first, is_chosen)
        else:
            is_chosen = is_beyond(x, y)
            has_index = bitwise_or(is_chosen, bitwise_and(eq(x, y), is_first))
        return select(is_chosen, x, y), select(has_index, i, j)

    return better


def _declare_arg(
    primitive: Primitive,
    is_beyond: Callable[[Any, Any], Any],
    least: Callable[[np.dtype[Any]], Any],
) -> None:
    better = _better(is_beyond)

    def abstract_eval(
        x: ShapedArray, *, axis: int, index_dtype: np.dtype[Any]
    ) -> list[ShapedArray]:
        if x.dtype.kind == "c":
            raise TypeError(f"{primitive}: {x} has no elements with an order")
        if not 0 <= axis < x.ndim or x.shape[axis] == 0:
            raise ValueError(f"{primitive}: {x} has no elements along axis {axis}")
        return [ShapedArray(x.shape[:axis] + x.shape[axis + 1 :], index_dtype)]

    def first_index(operand: Any, *, axis: int, index_dtype: np.dtype[Any]) -> Any:
        aval = typeof(operand)
        indices = broadcasted_iota(index_dtype, aval.shape, axis)
        start = full_like(operand, least(aval.dtype), shape=()), index_dtype.type(0)
        return reduce((operand, indices), start, better, (axis,))[1]

    def vmap(
        batch_axis: BatchAxis,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        *,
        axis: int,
        index_dtype: np.dtype[Any],
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], batch_axis, dims[0], 0)
        return [bind1(primitive, x, axis=axis + 1, index_dtype=index_dtype)], [0]

    first_index.__name__ = primitive.name
    declare(
        primitive,
        abstract_eval=abstract_eval,
        lower=lower_as(first_index),
        vmap=vmap,
        sharding=by_reduction(primitive, "axis"),
    )


_declare_arg(argmax_p, gt, smallest)
_declare_arg(argmin_p, lt, largest)

__all__ = ["argmax", "argmin"]
