"""Arrays joined, taken apart, repeated, and with axes collapsed into one."""

import math
from collections.abc import Sequence
from typing import Any

from minijax.lax.slicing import concatenate, slice_in_dim
from minijax.lax.structural import (
    broadcast_in_dim,
    expand_dims,
    full,
    reshape,
    sizes_of,
    squeeze,
)
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes, ints


# --8<-- [start:split]
@operation(static=("sizes", "axis"))
def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """The parts of `operand` that have these sizes along `axis`, one after the other.

    Raises:
        ValueError: the sizes do not add up to that of `operand`, or one is negative, or there is
            no such axis.

    >>> import minijax.numpy as jnp
    >>> split(jnp.arange(3), (1, 2))
    [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    aval = typeof(operand)
    sizes = ints("split: sizes", sizes)
    (axis,) = canonical_axes("split", axis, aval.ndim)
    if any(size < 0 for size in sizes) or sum(sizes) != aval.shape[axis]:
        raise ValueError(
            f"split: sizes must not be negative, and add up to that of axis {axis} of {aval}, "
            f"found {sizes}"
        )
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    return [
        slice_in_dim(operand, end - size, end, axis=axis)
        for end, size in zip(ends, sizes, strict=True)
    ]


@operation(static="axis")
def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """The arrays, all of one shape and dtype, side by side along a new axis.

    Raises:
        ValueError: there are none, or their shapes differ.
        TypeError: their dtypes differ.

    >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    avals = [typeof(x) for x in operands]
    found = ", ".join(map(str, avals))
    if len({aval.shape for aval in avals}) != 1:
        raise ValueError(f"stack: takes arrays of one shape, found {found or 'none'}")
    if len({aval.dtype for aval in avals}) != 1:
        raise TypeError(f"stack: takes arrays of one dtype, found {found}")
    (axis,) = canonical_axes("stack", axis, avals[0].ndim + 1)
    return concatenate([expand_dims(x, (axis,)) for x in operands], axis)


@operation(static="axis")
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The elements of `x` along `axis`, which they lack.

    Raises:
        ValueError: there is no such axis.

    >>> lax.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
    (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    (axis,) = canonical_axes("unstack", axis, typeof(x).ndim)
    parts = [slice_in_dim(x, i, i + 1, axis=axis) for i in range(typeof(x).shape[axis])]
    return tuple([squeeze(part, (axis,)) for part in parts])


# --8<-- [end:split]


# --8<-- [start:tile]
@operation(static="reps")
def tile(operand: Any, reps: Sequence[int]) -> Any:
    """`operand` side by side with itself along each axis, as often as `reps` says.

    Raises:
        TypeError: `reps` has not one number for each axis.
        ValueError: one of them is negative.

    >>> lax.tile(jnp.array([[1, 2]]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    aval = typeof(operand)
    reps = ints("tile: reps", reps)
    if len(reps) != aval.ndim:
        raise TypeError(f"tile: reps must have a number for each axis of {aval}, found {reps}")
    if any(count < 0 for count in reps):
        raise ValueError(f"tile: reps must not be negative, found {reps}")
    pairs = [size for both in zip(reps, aval.shape, strict=True) for size in both]
    spread = broadcast_in_dim(operand, tuple(pairs), tuple(range(1, len(pairs), 2)))
    return reshape(spread, [n * size for n, size in zip(reps, aval.shape, strict=True)])


# --8<-- [end:tile]


@operation(static=("start_dimension", "stop_dimension"))
def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """`operand` with the axes from `start_dimension` up to `stop_dimension`, exclusive, as one.

    The numbers count as those of Python's slices do.

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


@operation(static=("shape", "dtype", "out_sharding"))
def empty(shape: int | Sequence[int], dtype: Any, *, out_sharding: None = None) -> Any:
    """An array of which only shape and dtype count; it holds zeros. `out_sharding` is None.

    >>> lax.empty((2, 3), jnp.float32).shape
    (2, 3)
    """
    return full(sizes_of("empty", shape), 0, dtype)


__all__ = [
    "collapse",
    "empty",
    "split",
    "stack",
    "tile",
    "unstack",
]
