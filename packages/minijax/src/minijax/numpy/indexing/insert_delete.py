"""Deleting elements of an array, and inserting others."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from minijax.errors.classes import ConcretizationTypeError
from minijax.lax import promoting as lax
from minijax.lax.indexing.indices import wrapped_index
from minijax.numpy.casting import cast_into
from minijax.numpy.indexing.parsing import known_value
from minijax.numpy.indexing.take import take
from minijax.numpy.indexing.where import nonzero
from minijax.numpy.joining import concatenate
from minijax.numpy.shapes import broadcast_to, moveaxis, ndim, ravel, shape
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.settings.counted import counted
from minijax.settings.promotion import as_weak_as
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axis
from minijax_stage2.shaped_array import typeof_named


@evaluated_by_library
def delete(
    arr: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """`arr` without the elements at some indices of an axis.

    Arguments:
        arr: the array.
        obj: the indices: an int, a slice, or an array of integers or booleans. Integers may be
            traced if `assume_unique_indices`.
        axis: the axis; if None, `arr` is flattened.
        assume_unique_indices: a promise that no index occurs twice or is out of bounds.

    Raises:
        ConcretizationTypeError: indices are traced, without that promise.
        IndexError: an index is out of bounds.

    >>> jnp.delete(jnp.arange(5), 1), jnp.delete(jnp.arange(5), jnp.array([0, -1]))
    (Array([0, 2, 3, 4], dtype=int32), Array([1, 2, 3], dtype=int32))
    """
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis("delete", axis, ndim(arr))
    size = shape(arr)[axis]
    if isinstance(obj, slice):
        obj = np.arange(size)[obj]
    _require_indices("delete", obj)
    known = known_value(obj)
    if known is not None:
        stays = _stays(np.asarray(known), size)
        return take(arr, np.flatnonzero(stays).astype(np.int32), axis, mode="clip")
    if not assume_unique_indices and ndim(obj):
        raise ConcretizationTypeError(
            "delete: how many indices there are decides a shape, so they must be known when the "
            "function is traced; if none occurs twice, say assume_unique_indices=True"
        )
    indices = ravel(obj)
    others = lax.full((size,), True).at[indices].set(False)
    (places,) = nonzero(others, size=max(size - shape(indices)[0], 0))
    return take(arr, places, axis, mode="clip")


def _stays(indices: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    stays = np.ones(size, bool)
    if indices.dtype == bool:
        if indices.shape != (size,):
            raise ValueError(f"delete: booleans must be one for each of {counted(size, 'element')}")
    elif indices.size and not np.all((-size <= indices) & (indices < size)):
        raise IndexError(f"delete: an index is out of bounds for an axis of size {size}")
    stays[indices if indices.size else []] = False
    return stays


def _require_indices(caller: str, obj: Any) -> None:
    aval = typeof_named(f"{caller}: obj", obj)
    if aval.dtype.kind not in "iub" or (aval.dtype.kind == "b" and not aval.ndim):
        raise TypeError(
            f"{caller}: obj must be an int, a slice, or an array of integers or booleans, found "
            f"{aval}"
        )


@evaluated_by_library
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Array:
    """`arr` with `values` before the elements at some indices of an axis.

    Arguments:
        arr: the array.
        obj: the indices: an int, a slice, or an array of integers or booleans.
        values: the values to insert; broadcast to the shape of the indices.
        axis: the axis; if None, `arr` is flattened.

    Raises:
        ConcretizationTypeError: booleans are traced.
        IndexError: a known index is out of bounds.
        TypeError: `obj` is not of integers or booleans.
        ValueError: `obj` has several axes, or `values` more than `arr`.

    >>> jnp.insert(jnp.array([1, 2, 3]), 1, 9)
    Array([1, 9, 2, 3], dtype=int32)
    """
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis("insert", axis, ndim(arr))
    size = shape(arr)[axis]
    if isinstance(obj, slice):
        obj = np.arange(size)[obj]
    _require_indices("insert", obj)
    if ndim(obj) > 1:
        raise ValueError(f"insert: obj must have at most one axis, found {typeof(obj)}")
    known = known_value(obj)
    if known is None and typeof(obj).dtype == bool:
        raise ConcretizationTypeError(
            "insert: how many booleans are True decides a shape, so they must be known when the "
            f"function is traced; {obj.why_unknown()}.\n"
            "Give indices, or choose elements by where(condition, x, y)."
        )
    indices = obj if known is None else np.asarray(known)
    if known is not None:
        indices = np.flatnonzero(indices) if indices.dtype == bool else indices.astype(np.int64)
        if indices.size and not np.all((-size <= indices) & (indices <= size)):
            raise IndexError(f"insert: an index is out of bounds for an axis of size {size}")
    values = cast_into("insert", values, typeof(arr))
    if ndim(values) > ndim(arr):
        raise ValueError(
            f"insert: values must not have more axes than arr, found {typeof(values)} and "
            f"{typeof(arr)}"
        )
    if ndim(indices) == 0:  # all values go before one element
        if ndim(values) == ndim(arr):
            pass
        elif ndim(values) == 0 or (axis and ndim(values) < ndim(arr)):
            values = (
                values
                if not ndim(values)
                else moveaxis(lax.expand_dims(values, range(ndim(arr) - ndim(values))), 0, axis)
            )
        else:
            values = lax.expand_dims(values, range(ndim(arr) - ndim(values)))
        count = shape(values)[axis] if ndim(values) else 1
        if known is not None:
            indices = np.asarray(operator.index(indices[()]))
    else:
        count = typeof(indices).size
    block = [count if i == axis else n for i, n in enumerate(shape(arr))]
    values = broadcast_to(values, block)
    both = concatenate([arr, values], axis)
    order = _order_of_known if known is not None else _order_of_traced
    out = take(both, order(size, indices, count), axis, mode="clip", unique_indices=True)
    return _as_weak_as(arr, out)


@operation
def _as_weak_as(arr: Any, out: Any) -> Any:
    return as_weak_as(typeof(arr), out)


def _order_of_known(size: int, indices: Any, count: int) -> Any:
    """Return the positions of elements, then of values, in the order of the result."""
    wrapped = np.where(indices < 0, indices + size, indices).ravel()
    places = np.concatenate([np.arange(size) + 0.5, np.broadcast_to(wrapped, (count,))])
    return np.argsort(places, kind="stable").astype(np.int32)


def _order_of_traced(size: int, indices: Any, count: int) -> Any:
    indices = lax.convert_element_type(ravel(indices), np.int32)
    wrapped = wrapped_index(indices, size)
    twice = lax.mul(broadcast_to(wrapped, (count,)), 2)
    places = concatenate([np.arange(1, 2 * size, 2, dtype=np.int32), twice])
    return lax.sort_key_val(places, lax.iota(np.int32, size + count))[1]


__all__ = ["delete", "insert"]
