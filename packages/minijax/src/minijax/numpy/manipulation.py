"""Changing the shape of arrays, cutting them and putting them together."""

from collections.abc import Sequence
from typing import Any

import minijax_stage2 as stage2
from minijax import lax
from minijax.arrays import require_no_out
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes, ints

Axes = int | Sequence[int]


def shape(a: Any) -> tuple[int, ...]:
    """The shape of `a`."""
    return typeof(a).shape


def ndim(a: Any) -> int:
    """The number of axes of `a`."""
    return typeof(a).ndim


@operation(static=("dtype", "copy"))
def astype(x: Any, dtype: Any, *, copy: bool = False) -> Any:
    """`x` with another dtype. `copy` makes no difference, for an Array is never written to."""
    return lax.convert_element_type(x, dtype)


@operation(static=("shape", "order", "copy"))
def reshape(a: Any, shape: Axes, order: str = "C", *, copy: bool | None = None) -> Any:
    """`a` with another shape of the same size; one size may be -1, to be worked out.

    Arguments:
        a: the array.
        shape: the shape, as an int or a sequence of ints.
        order: in which order elements are taken and put: "C", the last axis fastest, or "F", the
            first.
        copy: makes no difference, for an Array is never written to.
    """
    a = a
    if order == "C":
        return stage2.reshape(a, shape)
    if order != "F":
        raise NotImplementedError(f"reshape: order must be 'C' or 'F', found {order!r}")
    backwards = ints("reshape: shape", shape)[::-1]
    return stage2.transpose(stage2.reshape(stage2.transpose(a), backwards))


@operation(static="order")
def ravel(a: Any, order: str = "C") -> Any:
    """`a` with all of its axes made one."""
    return reshape(a, -1, order)


@operation(static="axes")
def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """`a` with its axes permuted; without `axes`, in reverse order."""
    return stage2.transpose(a, axes)


@operation(static=("source", "destination"))
def moveaxis(a: Any, source: int, destination: int) -> Any:
    """`a` with one axis moved, the others in their order."""
    return stage2.moveaxis(a, source, destination)


@operation(static=("axis1", "axis2"))
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`a` with two axes exchanged."""
    (axis1,) = canonical_axes("swapaxes", axis1, ndim(a))
    (axis2,) = canonical_axes("swapaxes", axis2, ndim(a))
    order = list(range(ndim(a)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


@operation(static="shape")
def broadcast_to(array: Any, shape: Axes) -> Any:
    """`array` repeated to `shape`, by numpy's rule."""
    return lax.structural.broadcast_to("broadcast_to", array, shape)


@operation(static="axis")
def expand_dims(a: Any, axis: Axes) -> Any:
    """`a` with axes of size 1, where `axis` says they stand in the result."""
    return lax.expand_dims(a, axis)


@operation(static="axis")
def squeeze(a: Any, axis: Axes | None = None) -> Any:
    """`a` without the given axes, or all axes, of size 1."""
    if axis is None:
        axis = [i for i, size in enumerate(shape(a)) if size == 1]
    return lax.squeeze(a, axis)


@operation(static=("axis", "dtype"))
def concatenate(arrays: Sequence[Any], axis: int | None = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along `axis`; each as one row of numbers where it is None.

    The result has the dtype `dtype`, or else the one in which theirs meet.
    """
    if not len(arrays):
        raise ValueError("concatenate: needs at least one array")
    if axis is None:
        return concatenate([ravel(a) for a in arrays], 0, dtype)
    (along,) = canonical_axes("concatenate", axis, ndim(arrays[0]))
    if dtype is not None:
        arrays = [astype(a, dtype) for a in arrays]
    return lax.concatenate(arrays, along)


@operation(static=("axis", "out", "dtype"))
def stack(arrays: Sequence[Any], axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """The arrays, all of one shape, side by side along a new axis. `out` must be None."""
    require_no_out("stack", out)
    if not len(arrays):
        raise ValueError("stack: needs at least one array")
    shapes = {shape(a) for a in arrays}
    if len(shapes) > 1:
        raise ValueError(f"stack: the arrays must have one shape, found {sorted(shapes)}")
    (new,) = canonical_axes("stack", axis, ndim(arrays[0]) + 1)
    return concatenate([expand_dims(a, new) for a in arrays], new, dtype)


__all__ = [
    "astype",
    "broadcast_to",
    "concatenate",
    "expand_dims",
    "moveaxis",
    "ndim",
    "ravel",
    "reshape",
    "shape",
    "squeeze",
    "stack",
    "swapaxes",
    "transpose",
]
