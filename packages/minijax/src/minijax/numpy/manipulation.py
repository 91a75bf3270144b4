"""Changing the shape of arrays, cutting them and putting them together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax import lax
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes

Axes = int | Sequence[int]


def shape(a: Any) -> tuple[int, ...]:
    """The shape of `a`."""
    return typeof(a).shape


def ndim(a: Any) -> int:
    """The number of axes of `a`."""
    return typeof(a).ndim


@operation(static="dtype")
def astype(x: Any, dtype: Any) -> Any:
    """`x` with another dtype."""
    return lax.convert_element_type(x, dtype)


@operation(static="shape")
def reshape(a: Any, shape: Axes) -> Any:
    """`a` with another shape of the same size; one size may be -1, to be worked out."""
    return stage2.reshape(a, shape)


@operation
def ravel(a: Any) -> Any:
    """`a` with all of its axes made one."""
    return reshape(a, -1)


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
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    return stage2.broadcast_to(array, sizes)


@operation(static="axis")
def expand_dims(a: Any, axis: Axes) -> Any:
    """`a` with axes of size 1, where `axis` says they stand in the result."""
    return lax.expand_dims(a, (axis,) if isinstance(axis, int) else axis)


@operation(static="axis")
def squeeze(a: Any, axis: Axes | None = None) -> Any:
    """`a` without the given axes, or all axes, of size 1."""
    if axis is None:
        axis = [i for i, size in enumerate(shape(a)) if size == 1]
    return lax.squeeze(a, (axis,) if isinstance(axis, int) else axis)


@operation(static="axis")
def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """The arrays one after the other along `axis`; each as one row of numbers where it is None."""
    if not len(arrays):
        raise ValueError("concatenate: needs at least one array")
    if axis is None:
        return concatenate([ravel(a) for a in arrays])
    (along,) = canonical_axes("concatenate", axis, ndim(arrays[0]))
    return lax.concatenate(arrays, along)


@operation(static="axis")
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """The arrays, all of one shape, side by side along a new axis."""
    if not len(arrays):
        raise ValueError("stack: needs at least one array")
    shapes = {shape(a) for a in arrays}
    if len(shapes) > 1:
        raise ValueError(f"stack: the arrays must have one shape, found {sorted(shapes)}")
    (new,) = canonical_axes("stack", axis, ndim(arrays[0]) + 1)
    return concatenate([expand_dims(a, new) for a in arrays], new)
