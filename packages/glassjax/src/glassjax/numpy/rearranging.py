"""Elements flipped, rolled, repeated, inserted and deleted."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import as_array, is_symbolic, is_symbolic_dim
from glassjax.errors import ConcretizationTypeError
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.gathering import as_index, remainder, wrapped_index
from glassjax.numpy import shapes
from glassjax.numpy.dtypes import cast_into
from glassjax.numpy.indexing import known_value, why_unknown
from glassjax.numpy.selection import nonzero
from glassjax.numpy.taking import take
from glassjax.runtime.array import Array, ArrayLike, is_evaluating
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.settings.number_types import as_weak_as, letter_of
from glassjax.shardings.types import takes_out_sharding
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes, canonical_axis, ints, one_int
from glassjax_stage2.shaped_array import typeof_named

# Repeating elements, reversing and rotating them.


@operation(static="axis")
def flip(m: ArrayLike, axis: shapes.Axes | None = None) -> Array:
    """`m` with its elements in reverse order along some axes; along all if None.

    >>> jnp.flip(jnp.array([[1, 2], [3, 4]])), jnp.flip(jnp.array([1, 2, 3]), axis=0)
    (Array([[4, 3],
           [2, 1]], dtype=int32), Array([3, 2, 1], dtype=int32))
    """
    return lax.rev(m, canonical_axes("flip", axis, shapes.ndim(m)))


@operation
def fliplr(m: ArrayLike) -> Array:
    """`m` with its elements in reverse order along the second axis.

    >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return flip(m, 1)


@operation
def flipud(m: ArrayLike) -> Array:
    """`m` with its elements in reverse order along the first axis.

    >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    return flip(m, 0)


@operation(static=("k", "axes"))
def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """`m` rotated by `k` right angles, from the first of two axes towards the second.

    Arguments:
        m: the array, with at least two axes.
        k: the number of right angles; negative ones turn the other way.
        axes: the two axes of the plane of rotation.

    >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    first, second = canonical_axes("rot90", axes, shapes.ndim(m))
    order = list(range(shapes.ndim(m)))
    order[first], order[second] = second, first
    match k % 4:
        case 0:
            return m  # type: ignore[return-value]
        case 1:
            return shapes.transpose(flip(m, second), order)
        case 2:
            return flip(m, (first, second))
        case _:
            return flip(shapes.transpose(m, order), second)


@hiding_frames
def roll(a: ArrayLike, shift: Any, axis: shapes.Axes | None = None) -> Array:
    """`a` with its elements shifted cyclically by `shift`.

    Arguments:
        a: the array.
        shift: the distance, or one for each axis; may be traced.
        axis: the axis or axes; if None, `a` is shifted as if flattened.

    >>> jnp.roll(jnp.array([1, 2, 3, 4]), 1), jnp.roll(jnp.array([1, 2, 3, 4]), -1)
    (Array([4, 1, 2, 3], dtype=int32), Array([2, 3, 4, 1], dtype=int32))
    """
    if isinstance(shift, list | np.ndarray):
        shift = (
            tuple(np.asarray(shift).ravel().tolist()) if np.ndim(shift) else int(np.asarray(shift))
        )
    if not is_evaluating() and _is_static(shift):
        if axis is None and shapes.ndim(a) != 1:
            return shapes.reshape(_roll_static(shapes.ravel(a), shift, 0), shapes.shape(a))
        return _roll_static(a, shift, axis)
    return _roll(a, shift, axis)


def _is_static(shift: Any) -> bool:
    return all(
        isinstance(by, int | np.integer) for by in (shift if isinstance(shift, tuple) else (shift,))
    )


@operation(static=("shift", "axis"))
def _roll_static(a: Any, shift: Any, axis: shapes.Axes | None) -> Any:
    return _rolled_along(a, shift, axis)


@operation(static="axis")
def _roll(a: Any, shift: Any, axis: shapes.Axes | None) -> Any:
    if axis is None and shapes.ndim(a) != 1:
        return shapes.reshape(_rolled_along(shapes.ravel(a), shift, 0), shapes.shape(a))
    return _rolled_along(a, shift, axis)


def _rolled_along(a: Any, shift: Any, axis: shapes.Axes | None) -> Any:
    axes = (0,) if axis is None else ints("roll: axis", axis)
    if not isinstance(shift, tuple) and typeof(shift).ndim:
        shift = tuple(lax.index_in_dim(shift, i, 0, False) for i in range(shapes.shape(shift)[0]))
    shifts = shift if isinstance(shift, tuple) else (shift,)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(
            f"roll: shift and axis must be as many, found {len(shifts)} and {len(axes)}"
        )
    for by, along in zip(shifts, axes, strict=True):
        along = canonical_axis("roll", along, shapes.ndim(a))
        size = shapes.shape(a)[along]
        if size:
            a = _rolled(a, by, along, size)
    return a


def _rolled(a: Any, by: Any, axis: int, size: int) -> Any:
    if isinstance(by, int | np.integer) and not is_symbolic_dim(size):
        start = -int(by) % size
        if not start:
            return a
        parts = (start, size), (0, start)
        return lax.concatenate([lax.slice_in_dim(a, *part, axis=axis) for part in parts], axis)
    begin = size - remainder(as_index(by), size)
    twice = shapes.concatenate([a, a], axis)
    return lax.dynamic_slice_in_dim(twice, begin, size, axis, allow_negative_indices=False)


@hiding_frames
@takes_out_sharding
def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Each element of `a`, or along an axis of it, repeated in place.

    Arguments:
        a: the array.
        repeats: the number of repetitions, for all elements or for each.
        axis: the axis; None: all elements, flattened.
        total_repeat_length: the size of the result along that axis, required if `repeats` is
            traced. The result is truncated, or padded with its last element.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ConcretizationTypeError: `repeats` is traced, and `total_repeat_length` not given.
        ValueError: `repeats` has another size than the axis.

    >>> jnp.repeat(jnp.array([1, 2]), 2), jnp.repeat(jnp.array([1, 2]), jnp.array([1, 3]))
    (Array([1, 1, 2, 2], dtype=int32), Array([1, 2, 2, 2], dtype=int32))
    """
    if axis is None:
        a, axis = shapes.ravel(a), 0
    if not shapes.ndim(a):
        a = shapes.reshape(a, (1,))
    axis = canonical_axis("repeat", axis, shapes.ndim(a))
    size = shapes.shape(a)[axis]
    if is_symbolic_dim(repeats):
        if total_repeat_length is None:
            return _repeat_all(a, count=repeats, axis=axis)  # type: ignore[arg-type]
        repeats = as_array(repeats)
    if size == 0 and total_repeat_length is not None:
        return a  # type: ignore[return-value] # nothing to repeat
    known = known_value(repeats)
    if known is None and total_repeat_length is None:
        raise ConcretizationTypeError(
            "repeat: the repeats decide a shape, so they must be known when the function is "
            f"traced; {why_unknown(repeats)}.\n"
            "Give total_repeat_length= where the size of the result is known."
        )
    if (
        total_repeat_length is not None
        and one_int("repeat: total_repeat_length", total_repeat_length) < 0
    ):
        raise ValueError(
            f"repeat: total_repeat_length must not be negative, found {total_repeat_length}"
        )
    if known is None:
        return _repeat_traced(a, repeats, axis=axis, length=total_repeat_length)
    counts = np.asarray(known)
    if letter_of(counts.dtype) not in "iub":
        raise TypeError(f"repeat: repeats must be ints, found {typeof(repeats)}")
    if counts.ndim > 1 or (counts.ndim and counts.size not in (1, size)):
        raise ValueError(
            f"repeat: repeats must be one number, or one for each of {counted(size, 'element')} "
            f"along axis {axis}, found shape {counts.shape}"
        )
    if counts.size == 1 and total_repeat_length is None:
        return _repeat_all(a, count=int(counts.reshape(())), axis=axis)
    if is_symbolic((size, total_repeat_length)):
        return _repeat_traced(a, counts.ravel(), axis=axis, length=total_repeat_length)
    indices = np.repeat(np.arange(size), np.broadcast_to(counts.ravel(), (size,)))
    if total_repeat_length is not None:
        indices = indices[:total_repeat_length]
        last = indices[-1:] if len(indices) else np.zeros(1, int)
        lacking = np.full(total_repeat_length - len(indices), max(size - 1, 0) if size else last)
        indices = np.concatenate([indices, lacking])
    return take(a, indices.astype(np.int32), axis, mode="clip", indices_are_sorted=True)


@operation(static=("count", "axis"))
def _repeat_all(a: Any, *, count: int, axis: int) -> Any:
    sizes = list(shapes.shape(a))
    repeated = lax.broadcast_in_dim(
        a,
        (*sizes[: axis + 1], count, *sizes[axis + 1 :]),
        [i + (i > axis) for i in range(len(sizes))],
    )
    sizes[axis] *= count
    return shapes.reshape(repeated, sizes)


@operation(static=("axis", "length"))
def _repeat_traced(a: Any, repeats: Any, *, axis: int, length: int | None) -> Any:
    """Repeat via cumulative sums: an output position maps to the element whose repeats cover it."""
    size = shapes.shape(a)[axis]
    repeats = shapes.broadcast_to(repeats, (size,))
    ends = shapes.expand_dims(lax.cumsum(repeats), 1)
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    zeros = lax.full((length or 0,), 0, np.int32)
    ones = lax.full((size,), 1, np.int32)
    index = lax.cumsum(lax.scatter_add(zeros, ends, ones, numbers, indices_are_sorted=True))
    index = lax.min(*stage2.promote(index, max(size - 1, 0)))
    return take(a, index, axis, mode="clip", indices_are_sorted=True)


@operation(static="reps")
def tile(A: ArrayLike, reps: shapes.Axes) -> Array:
    """`A` repeated `reps` times along each axis.

    >>> jnp.tile(jnp.array([1, 2]), 2), jnp.tile(jnp.array([1, 2]), (2, 1))
    (Array([1, 2, 1, 2], dtype=int32), Array([[1, 2],
           [1, 2]], dtype=int32))
    """
    counts = ints("tile: reps", reps)
    axes = max(shapes.ndim(A), len(counts))
    whole = lax.expand_dims(A, range(axes - shapes.ndim(A)))
    return lax.tile(whole, (1,) * (axes - len(counts)) + counts)


@operation(static="new_shape")
def resize(a: ArrayLike, new_shape: shapes.Axes) -> Array:
    """The elements of `a` in another shape, repeated as needed.

    Raises:
        ValueError: a size is negative.

    >>> jnp.resize(jnp.array([1, 2, 3]), (2, 2))
    Array([[1, 2],
           [3, 1]], dtype=int32)
    """
    sizes = ints("resize: new_shape", new_shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"resize: sizes must not be negative, found {sizes}")
    row = shapes.ravel(a)
    count, total = shapes.shape(row)[0], int(np.prod(sizes, dtype=np.int64))
    if not count or not total:
        return lax.full_like(a, 0, shape=sizes)
    times = -(-total // count)
    return shapes.reshape(lax.slice_in_dim(tile(row, times), 0, total), sizes)


# Deleting elements of an array, and inserting others.


@evaluated_by_library
def delete(
    arr: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """`arr` without the elements at some indices of an axis.

    Arguments:
        arr: the array.
        obj: the indices: an int, a slice, or an array of integers or booleans. Integers may be
            traced if `assume_unique_indices`.
        axis: the axis; None: all elements, flattened.
        assume_unique_indices: a promise that no index occurs twice or is out of bounds.

    Raises:
        ConcretizationTypeError: indices are traced, without that promise.
        IndexError: an index is out of bounds.

    >>> jnp.delete(jnp.arange(5), 1), jnp.delete(jnp.arange(5), jnp.array([0, -1]))
    (Array([0, 2, 3, 4], dtype=int32), Array([1, 2, 3], dtype=int32))
    """
    if axis is None:
        arr, axis = shapes.ravel(arr), 0
    axis = canonical_axis("delete", axis, shapes.ndim(arr))
    size = shapes.shape(arr)[axis]
    if isinstance(obj, slice):
        obj = np.arange(size)[obj]
    _require_indices("delete", obj)
    known = known_value(obj)
    if known is not None:
        stays = _stays(np.asarray(known), size)
        return take(arr, np.flatnonzero(stays).astype(np.int32), axis, mode="clip")
    if not assume_unique_indices and shapes.ndim(obj):
        raise ConcretizationTypeError(
            "delete: how many indices there are decides a shape, so they must be known when the "
            "function is traced; if none occurs twice, pass assume_unique_indices=True"
        )
    indices = shapes.ravel(obj)
    others = lax.full((size,), True).at[indices].set(False)
    (places,) = nonzero(others, size=max(size - shapes.shape(indices)[0], 0))
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
    if letter_of(aval.dtype) not in "iub" or (aval.dtype.kind == "b" and not aval.ndim):
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
        axis: the axis; None: all elements, flattened.

    Raises:
        ConcretizationTypeError: booleans are traced.
        IndexError: a known index is out of bounds.
        TypeError: `obj` is not of integers or booleans.
        ValueError: `obj` has several axes, or `values` more than `arr`.

    >>> jnp.insert(jnp.array([1, 2, 3]), 1, 9)
    Array([1, 9, 2, 3], dtype=int32)
    """
    if axis is None:
        arr, axis = shapes.ravel(arr), 0
    axis = canonical_axis("insert", axis, shapes.ndim(arr))
    size = shapes.shape(arr)[axis]
    if isinstance(obj, slice):
        obj = np.arange(size)[obj]
    _require_indices("insert", obj)
    if shapes.ndim(obj) > 1:
        raise ValueError(f"insert: obj must have at most one axis, found {typeof(obj)}")
    known = None if is_symbolic_dim(size) else known_value(obj)
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
    if shapes.ndim(values) > shapes.ndim(arr):
        raise ValueError(
            f"insert: values must not have more axes than arr, found {typeof(values)} and "
            f"{typeof(arr)}"
        )
    if shapes.ndim(indices) == 0:  # all values go in front of one element
        if shapes.ndim(values) == shapes.ndim(arr):
            pass
        elif shapes.ndim(values) == 0 or (axis and shapes.ndim(values) < shapes.ndim(arr)):
            values = (
                values
                if not shapes.ndim(values)
                else shapes.moveaxis(
                    lax.expand_dims(values, range(shapes.ndim(arr) - shapes.ndim(values))), 0, axis
                )
            )
        else:
            values = lax.expand_dims(values, range(shapes.ndim(arr) - shapes.ndim(values)))
        count = shapes.shape(values)[axis] if shapes.ndim(values) else 1
        if known is not None:
            indices = np.asarray(operator.index(indices[()]))
    else:
        count = typeof(indices).size
    block = [count if i == axis else n for i, n in enumerate(shapes.shape(arr))]
    values = shapes.broadcast_to(values, block)
    both = shapes.concatenate([arr, values], axis)
    order = _static_order if known is not None else _traced_order
    out = take(both, order(size, indices, count), axis, mode="clip", unique_indices=True)
    return _as_weak_as(arr, out)


@operation
def _as_weak_as(arr: Any, out: Any) -> Any:
    return as_weak_as(typeof(arr), out)


def _static_order(size: int, indices: Any, count: int) -> Any:
    """Return the positions of elements, then of values, in the order of the result."""
    wrapped = np.where(indices < 0, indices + size, indices).ravel()
    places = np.concatenate([np.arange(size) + 0.5, np.broadcast_to(wrapped, (count,))])
    return np.argsort(places, kind="stable").astype(np.int32)


def _traced_order(size: int, indices: Any, count: int) -> Any:
    indices = lax.convert_element_type(shapes.ravel(indices), np.int32)
    wrapped = wrapped_index(indices, size)
    twice = shapes.broadcast_to(wrapped, (count,)) * 2
    places = shapes.concatenate([2 * lax.iota(np.int32, size) + 1, twice])
    return lax.sort_key_val(places, lax.iota(np.int32, size + count))[1]
