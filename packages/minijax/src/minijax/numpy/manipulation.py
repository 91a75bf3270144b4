"""Changing the shape of arrays, and the order of their axes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import minijax_stage2 as stage2
from minijax import lax
from minijax.arrays import require_the_device
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


def size(a: Any, axis: Axes | None = None) -> int:
    """The number of elements of `a`, or how many there are along `axis`."""
    of_a = shape(a)
    return math.prod([of_a[i] for i in canonical_axes("size", axis, len(of_a))])


@operation(static=("dtype", "copy", "device"))
def astype(
    x: Any,
    dtype: Any,
    *,
    copy: bool = False,
    device: Any = None,
) -> Any:
    """`x` with another dtype. `copy` makes no difference, for an Array is never written to."""
    require_the_device("astype", device)
    return lax.convert_element_type(x, dtype)


@operation(static=("shape", "order", "copy", "out_sharding"))
def reshape(
    a: Any,
    shape: Axes,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: None = None,
) -> Any:
    """`a` with another shape of the same size; one size may be -1, to be worked out.

    Arguments:
        a: the array.
        shape: the shape, as an int or a sequence of ints.
        order: in which order elements are taken and put: "C", the last axis fastest, or "F", the
            first.
        copy: makes no difference, for an Array is never written to.
    """
    require_the_device("reshape", None, out_sharding)
    if order == "C":
        return stage2.reshape(a, shape)
    if order != "F":
        raise NotImplementedError(f"reshape: order must be 'C' or 'F', found {order!r}")
    backwards = ints("reshape: shape", shape)[::-1]
    return stage2.transpose(stage2.reshape(stage2.transpose(a), backwards))


@operation(static=("order", "out_sharding"))
def ravel(
    a: Any,
    order: str = "C",
    *,
    out_sharding: None = None,
) -> Any:
    """`a` with all of its axes made one."""
    require_the_device("ravel", None, out_sharding)
    return reshape(a, -1, order)


@operation(static="axes")
def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """`a` with its axes permuted; without `axes`, in reverse order."""
    return stage2.transpose(a, axes)


def permute_dims(a: Any, /, axes: Sequence[int]) -> Any:
    """`a` with its axes permuted."""
    return transpose(a, axes)


@operation
def matrix_transpose(x: Any, /) -> Any:
    """`x` with its last two axes exchanged.

    Raises:
        ValueError: it has less than two axes.
    """
    if ndim(x) < 2:
        raise ValueError(f"matrix_transpose: expected at least two axes, found {typeof(x)}")
    return swapaxes(x, -1, -2)


@operation(static=("source", "destination"))
def moveaxis(a: Any, source: Axes, destination: Axes) -> Any:
    """`a` with some axes moved, the others in their order.

    Arguments:
        a: the array.
        source: the axis, or axes, to move.
        destination: where it stands, or they stand, in the result.
    """
    sources = canonical_axes("moveaxis", source, ndim(a))
    destinations = canonical_axes("moveaxis", destination, ndim(a))
    if len(sources) != len(destinations):
        raise ValueError(
            f"moveaxis: source and destination must be as many, found {source} and {destination}"
        )
    order = [axis for axis in range(ndim(a)) if axis not in sources]
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, axis)
    return transpose(a, order)


@operation(static=("axis", "start"))
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`a` with one axis moved before the axis `start`."""
    (axis,) = canonical_axes("rollaxis", axis, ndim(a))
    if not -ndim(a) <= start <= ndim(a):
        raise ValueError(f"rollaxis: start {start} is out of range for {typeof(a)}")
    start = start + ndim(a) if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


@operation(static=("axis1", "axis2"))
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`a` with two axes exchanged."""
    (axis1,) = canonical_axes("swapaxes", axis1, ndim(a))
    (axis2,) = canonical_axes("swapaxes", axis2, ndim(a))
    order = list(range(ndim(a)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


@operation(static=("shape", "out_sharding"))
def broadcast_to(
    array: Any,
    shape: Axes,
    *,
    out_sharding: None = None,
) -> Any:
    """`array` repeated to `shape`, by numpy's rule."""
    require_the_device("broadcast_to", None, out_sharding)
    return lax.structural.broadcast_to("broadcast_to", array, shape)


def broadcast_arrays(*args: Any) -> list[Any]:
    """The arrays, each repeated to the shape in which they meet."""
    common = broadcast_shapes(*map(shape, args))
    return [broadcast_to(x, common) for x in args]


broadcast_shapes = lax.broadcast_shapes


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


@operation
def atleast_1d(*arys: Any) -> Any:
    """The array with one axis if it had none; a list of arrays for several."""
    return _each(arys, lambda x: expand_dims(x, 0) if ndim(x) == 0 else x)


@operation
def atleast_2d(*arys: Any) -> Any:
    """The array with new axes in front, up to two; a list of arrays for several."""
    return _each(arys, lambda x: expand_dims(x, range(2 - ndim(x))) if ndim(x) < 2 else x)


@operation
def atleast_3d(*arys: Any) -> Any:
    """The array with new axes around its own, up to three; a list of arrays for several."""
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _each(arys, lambda x: expand_dims(x, new[ndim(x)]) if ndim(x) < 3 else x)


def _each(arrays: Sequence[Any], change: Callable[[Any], Any]) -> Any:
    changed = [change(x) for x in arrays]
    return changed[0] if len(changed) == 1 else changed


__all__ = [
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "transpose",
]
