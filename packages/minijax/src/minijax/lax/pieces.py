"""Cutting arrays along an axis, and putting arrays together along a new one."""

from collections.abc import Sequence
from typing import Any

from minijax.lax.slicing import concatenate, slice_in_dim
from minijax.lax.structural import broadcast_in_dim, expand_dims, reshape, squeeze
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes, ints


@operation(static=("sizes", "axis"))
def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """The pieces of `operand` of these sizes along an axis.

    Raises:
        ValueError: the sizes do not add up to that of the axis.
    """
    (axis,) = canonical_axes("split", axis, typeof(operand).ndim)
    given = ints("split: sizes", sizes)
    if sum(given) != typeof(operand).shape[axis] or min(given, default=0) < 0:
        raise ValueError(
            f"split: pieces of sizes {given} do not make axis {axis} of {typeof(operand)}"
        )
    starts = [sum(given[:i]) for i in range(len(given))]
    return [
        slice_in_dim(operand, start, start + size, axis=axis)
        for start, size in zip(starts, given, strict=True)
    ]


@operation(static="axis")
def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape along a new axis.

    Raises:
        ValueError: their shapes differ, or there are none.
    """
    if not len(operands):
        raise ValueError("stack: there must be an array to stack")
    shapes = [typeof(x).shape for x in operands]
    if len(set(shapes)) > 1:
        raise ValueError(f"stack: arrays must have one shape, found {shapes}")
    (axis,) = canonical_axes("stack", axis, len(shapes[0]) + 1)
    return concatenate([expand_dims(x, (axis,)) for x in operands], axis)


@operation(static="axis")
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The parts of `x` along an axis, which they lack.

    Raises:
        ValueError: there is no such axis.
    """
    (axis,) = canonical_axes("unstack", axis, typeof(x).ndim)
    count = typeof(x).shape[axis]
    return tuple(squeeze(slice_in_dim(x, i, i + 1, axis=axis), (axis,)) for i in range(count))


@operation(static="reps")
def tile(operand: Any, reps: Sequence[int]) -> Any:
    """`operand` repeated as a whole, so often along each axis.

    Raises:
        TypeError: there are not as many numbers as axes, or one is negative.
    """
    counts, shape = ints("tile: reps", reps), typeof(operand).shape
    if len(counts) != len(shape) or min(counts, default=0) < 0:
        raise TypeError(
            f"tile: reps must be a number for each axis of {typeof(operand)}, found {counts}"
        )
    wide = [size for pair in zip(counts, shape, strict=True) for size in pair]
    own = tuple(range(1, len(wide), 2))
    sizes = [count * size for count, size in zip(counts, shape, strict=True)]
    return reshape(broadcast_in_dim(operand, tuple(wide), own), sizes)


__all__ = ["split", "stack", "tile", "unstack"]
