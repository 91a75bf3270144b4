"""Changing the shape of arrays, and the order of axes or elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minijax_stage2 as stage2
from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import as_first
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.functions import canonical_axes, ints
from minijax_stage2.shaped_array import Shape
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type


@operation(static=("new_sizes", "dimensions", "out_sharding"))
def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """`operand` with another shape of the same size; its axes first permuted by `dimensions`.

    >>> lax.reshape(jnp.arange(6), (2, 3))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    if dimensions is not None:
        operand = stage2.transpose(operand, dimensions)
    return stage2.reshape(operand, new_sizes)


@operation(static="permutation")
def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """`operand` with its axes permuted.

    >>> lax.transpose(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return stage2.transpose(operand, permutation)


@operation(static="dimensions")
def expand_dims(array: ArrayLike, dimensions: int | Sequence[int]) -> Array:
    """`array` with axes of size 1 inserted at the positions `dimensions` of the result.

    >>> lax.expand_dims(jnp.zeros((2, 3)), (0, 3)).shape
    (1, 2, 3, 1)
    """
    shape = typeof(array).shape
    given = ints("expand_dims: dimensions", dimensions)
    ndim = len(shape) + len(given)
    new = canonical_axes("expand_dims", given, ndim)
    sizes = iter(shape)
    return reshape(array, [1 if axis in new else next(sizes) for axis in range(ndim)])


@operation(static="dimensions")
def squeeze(array: ArrayLike, dimensions: int | Sequence[int]) -> Array:
    """`array` without the axes `dimensions`, which must have size 1.

    >>> lax.squeeze(jnp.zeros((1, 3, 1)), (0,)).shape
    (3, 1)
    """
    shape = typeof(array).shape
    gone = canonical_axes("squeeze", dimensions, len(shape))
    if any(shape[axis] != 1 for axis in gone):
        raise ValueError(f"squeeze: axes {gone} of shape {shape} are not all of size 1")
    return reshape(array, [size for axis, size in enumerate(shape) if axis not in gone])


# --8<-- [start:rev]
rev_p = Primitive("rev")


def _rev_type(x: ShapedArray, *, dimensions: Shape) -> list[ShapedArray]:
    if len(set(dimensions)) != len(dimensions) or not all(0 <= d < x.ndim for d in dimensions):
        raise TypeError(f"rev: {dimensions} are not distinct axes of {x}")
    return [x]


def _lower_rev(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, dimensions: Shape
) -> list[Value]:
    (out,) = out_avals
    return b.emit(f"stablehlo.reverse {x.name}, dims = {list(dimensions)} : {mlir_type(out)}", out)


def _vmap_rev(
    batch_axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, dimensions: Shape
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], batch_axis, dims[0], 0)
    return [rev(x, [axis + 1 for axis in dimensions])], [0]


@operation(static="dimensions")
def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """`operand` with its elements in reverse order along the axes `dimensions`.

    >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return bind1(rev_p, operand, dimensions=ints("rev: dimensions", dimensions))


declare(
    rev_p,
    abstract_eval=_rev_type,
    lower=_lower_rev,
    vmap=_vmap_rev,
    sharding=as_first,
    jvp=[lambda t, out, x, *, dimensions: rev(t, dimensions)],
    transpose=[lambda ct, x, *, dimensions: rev(ct, dimensions)],
)
# --8<-- [end:rev]


@operation(static=("start_dimension", "stop_dimension"))
def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """`operand` with the axes from `start_dimension` up to `stop_dimension`, exclusive, as one.

    The bounds work as in Python's slices.

    Raises:
        ValueError: the second comes before the first.

    >>> lax.collapse(jnp.zeros((2, 3, 4)), 1, 3).shape
    (2, 12)
    """
    shape = typeof(operand).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(
            f"collapse: there are no axes from {start_dimension} to {stop_dimension} of {shape}"
        )
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


__all__ = ["collapse", "expand_dims", "reshape", "rev", "squeeze", "transpose"]
