"""Changing the shape of arrays, and the order of their axes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import minijax_stage2 as stage2
from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.lax.elementwise.conversion import convert_silently
from minijax.lax.shapes import creation
from minijax.lax.sharding import placed
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.number_types import warn_of_lost_part
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.functions import canonical_axes, canonical_axis, ints

Axes = int | Sequence[int]


def shape(a: Any) -> tuple[int, ...]:
    """The shape of `a`.

    >>> jnp.shape(jnp.zeros((2, 3))), jnp.shape(1.0)
    ((2, 3), ())
    """
    return _typeof("shape", a).shape


def ndim(a: Any) -> int:
    """The number of axes of `a`.

    >>> jnp.ndim(jnp.zeros((2, 3))), jnp.ndim(1.0)
    (2, 0)
    """
    return _typeof("ndim", a).ndim


def size(a: Any, axis: Axes | None = None) -> int:
    """The number of elements of `a`, or along `axis`.

    >>> jnp.size(jnp.zeros((2, 3))), jnp.size(jnp.zeros((2, 3)), axis=1)
    (6, 3)
    """
    of_a = _typeof("size", a).shape
    return math.prod([of_a[i] for i in canonical_axes("size", axis, len(of_a))])


def _typeof(caller: str, a: Any) -> ShapedArray:
    if a is None:  # to numpy, a scalar that is an object
        warnings.warn(
            f"{caller}: None is no array; it counts as a scalar, and will not for long",
            DeprecationWarning,
            stacklevel=3,
        )
        a = 0
    return typeof(a)


@hiding_frames
def astype(
    x: ArrayLike,
    dtype: DTypeLike | None,
    *,
    copy: bool = False,
    device: Any = None,
) -> Array:
    """`x` with another dtype. `copy` makes no difference, since Arrays are immutable.

    Warns:
        DeprecationWarning: `x` is complex, and `dtype` real.

    >>> jnp.astype(jnp.array([1.9, -1.9]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    warn_of_lost_part("astype", x, dtype, DeprecationWarning, kept="bcV")
    return _astype(x, dtype, copy=copy, device=device)


def _convert(x: Any, dtype: Any, *, copy: bool, device: Any) -> Any:
    return placed("astype", convert_silently(x, dtype), device)


_convert.__name__ = "astype"  # in messages
_astype = operation(static=("dtype", "copy", "device"))(_convert)


@operation(static=("shape", "order", "copy", "out_sharding"))
def reshape(
    a: ArrayLike,
    shape: Axes,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Array:
    """`a` with another shape of the same size; one size may be -1, to be inferred.

    Arguments:
        a: the array.
        shape: the shape, as an int or a sequence of ints.
        order: the order in which to read and write elements: "C", the last axis fastest, or "F",
            the first.
        copy: makes no difference, since Arrays are immutable.

    >>> jnp.reshape(jnp.arange(6), (2, 3)), jnp.reshape(jnp.arange(6), (3, -1)).shape
    (Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32), (3, 2))
    """
    if order == "C":
        return stage2.reshape(a, shape)
    if order != "F":
        raise NotImplementedError(f"reshape: order must be 'C' or 'F', found {order!r}")
    backwards = ints("reshape: shape", shape)[::-1]
    return stage2.transpose(stage2.reshape(stage2.transpose(a), backwards))


@operation(static=("order", "out_sharding"))
def ravel(
    a: ArrayLike,
    order: str = "C",
    *,
    out_sharding: Any = None,
) -> Array:
    """`a` with all of its axes made one.

    >>> jnp.ravel(jnp.array([[1, 2], [3, 4]])), jnp.ravel(jnp.array([[1, 2], [3, 4]]), order="F")
    (Array([1, 2, 3, 4], dtype=int32), Array([1, 3, 2, 4], dtype=int32))
    """
    return reshape(a, -1, order)


@operation(static="axes")
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """`a` with its axes permuted; without `axes`, in reverse order.

    >>> jnp.transpose(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    >>> jnp.transpose(jnp.zeros((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    return stage2.transpose(a, axes)


@hiding_frames
def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """`a` with its axes permuted.

    >>> jnp.permute_dims(jnp.zeros((2, 3, 4)), (1, 2, 0)).shape
    (3, 4, 2)
    """
    if axes is None:
        raise TypeError("permute_dims: axes must be a sequence of ints, found None")
    return transpose(a, axes)


@operation
def matrix_transpose(x: ArrayLike, /) -> Array:
    """`x` with its last two axes swapped.

    Raises:
        ValueError: it has fewer than two axes.

    >>> jnp.matrix_transpose(jnp.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    if ndim(x) < 2:
        raise ValueError(f"matrix_transpose: expected at least two axes, found {typeof(x)}")
    return swapaxes(x, -1, -2)


@operation(static=("source", "destination"))
def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> Array:
    """`a` with some axes moved, the others in their order.

    Arguments:
        a: the array.
        source: the axis, or axes, to move.
        destination: its position, or theirs, in the result.

    >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
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
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """`a` with one axis moved before the axis `start`.

    >>> jnp.rollaxis(jnp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    axis = canonical_axis("rollaxis", axis, ndim(a))
    if not -ndim(a) <= start <= ndim(a):
        raise ValueError(f"rollaxis: start {start} is out of range for {typeof(a)}")
    start = start + ndim(a) if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


@operation(static=("axis1", "axis2"))
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """`a` with two axes exchanged.

    >>> jnp.swapaxes(jnp.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    axis1 = canonical_axis("swapaxes", axis1, ndim(a))
    axis2 = canonical_axis("swapaxes", axis2, ndim(a))
    order = list(range(ndim(a)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


@operation(static=("shape", "out_sharding"))
def broadcast_to(
    array: ArrayLike,
    shape: Axes,
    *,
    out_sharding: Any = None,
) -> Array:
    """`array` repeated to `shape`, by numpy's rule.

    >>> jnp.broadcast_to(jnp.array([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    return creation.broadcast_to("broadcast_to", array, shape)


@hiding_frames
def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """The arrays, broadcast to their common shape.

    >>> [x.shape for x in jnp.broadcast_arrays(jnp.zeros((3, 1)), jnp.zeros(4))]
    [(3, 4), (3, 4)]
    """
    common = broadcast_shapes(*map(shape, args))
    return tuple(broadcast_to(x, common) for x in args)


broadcast_shapes = lax.broadcast_shapes


@operation(static="axis")
def expand_dims(a: ArrayLike, axis: Axes) -> Array:
    """`a` with axes of size 1 inserted at the positions `axis` of the result.

    >>> x = jnp.zeros((2, 3))
    >>> jnp.expand_dims(x, 1).shape, jnp.expand_dims(x, (0, -1)).shape
    ((2, 1, 3), (1, 2, 3, 1))
    """
    return lax.expand_dims(a, axis)


@operation(static="axis")
def squeeze(a: ArrayLike, axis: Axes | None = None) -> Array:
    """`a` without the given axes, or all axes, of size 1.

    >>> jnp.squeeze(jnp.zeros((1, 3, 1))).shape, jnp.squeeze(jnp.zeros((1, 3, 1)), axis=0).shape
    ((3,), (3, 1))
    """
    if axis is None:
        axis = [i for i, size in enumerate(shape(a)) if size == 1]
    return lax.squeeze(a, axis)


@operation
def atleast_1d(*arys: ArrayLike) -> Any:
    """The array, with one axis if it had none; a list for several arrays.

    >>> jnp.atleast_1d(3.0)
    Array([3.], dtype=float32, weak_type=True)
    """
    return _each(arys, lambda x: expand_dims(x, 0) if ndim(x) == 0 else x)


@operation
def atleast_2d(*arys: ArrayLike) -> Any:
    """The array with new axes in front, up to two; a list of arrays for several.

    >>> jnp.atleast_2d(jnp.array([1, 2]))
    Array([[1, 2]], dtype=int32)
    """
    return _each(arys, lambda x: expand_dims(x, range(2 - ndim(x))) if ndim(x) < 2 else x)


@operation
def atleast_3d(*arys: ArrayLike) -> Any:
    """The array with new axes around its own, up to three; a list of arrays for several.

    >>> jnp.atleast_3d(jnp.zeros((2, 3))).shape
    (2, 3, 1)
    """
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _each(arys, lambda x: expand_dims(x, new[ndim(x)]) if ndim(x) < 3 else x)


def _each(arrays: Sequence[Any], change: Callable[[Any], Any]) -> Any:
    changed = [change(x) for x in arrays]
    return changed[0] if len(changed) == 1 else changed


__all__ = [
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "expand_dims", "matrix_transpose", "moveaxis", "ndim", "permute_dims", "ravel",
    "reshape", "rollaxis", "shape", "size", "squeeze", "swapaxes", "transpose",
]  # fmt: skip
