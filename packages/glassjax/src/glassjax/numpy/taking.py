"""Elements taken from and put at indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dtypes import DTypeLike
from glassjax.errors import ConcretizationTypeError
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.gathering import GatherScatterMode, as_index, remainder, wrapped_index
from glassjax.numpy import shapes
from glassjax.numpy.cases import where
from glassjax.numpy.dtypes import warn_if_lossy
from glassjax.numpy.indexing import known_value
from glassjax.numpy.shapes import shape
from glassjax.runtime.array import Array, ArrayLike, require_no_out
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.settings.number_types import letter_of, promote, result_type
from glassjax_stage2 import typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axis, ints
from glassjax_stage2.promotion import broadcast_shapes, cast
from glassjax_stage2.shaped_array import dialect


def require_out_of_place(name: str, inplace: bool) -> None:
    """Raise an error unless numpy's argument `inplace` is False."""
    if inplace:
        raise ValueError(
            f"{name}: an Array is never written to: pass inplace=False, and use what is returned"
        )


def _index_array(name: str, indices: Any) -> Any:
    aval = typeof(indices)
    if letter_of(aval.dtype) not in "iub" or not aval.dtype.itemsize:
        raise TypeError(f"{name}: indices must be integers, found {aval}")
    return as_index(indices)


@operation(static=("axis", "out", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """The elements of `a` at `indices` along an axis.

    Arguments:
        a: the array.
        indices: integers; their axes replace the axis.
        axis: the axis; None: all elements, flattened.
        out: must be None.
        mode: the treatment of indices out of bounds: "fill", the default, reads `fill_value`;
            "clip" the nearest element, for negative ones the first; "wrap" wraps around.
        unique_indices: a promise that no index occurs twice.
        indices_are_sorted: a promise that they are in order.
        fill_value: by default NaN; for integers the smallest or, if unsigned, the largest.

    Raises:
        TypeError: indices are not integers.
        ValueError: there is no such mode.
        NotImplementedError: the mode is "raise", but no program raises an error.

    >>> jnp.take(jnp.array([10, 20, 30]), jnp.array([2, 0])), jnp.take(jnp.array([10.0, 20.0]), 5)
    (Array([30, 10], dtype=int32), Array(nan, dtype=float32))
    """
    require_no_out("take", out)
    indices = _index_array("take", indices)
    if axis is None:
        a, axis = shapes.ravel(a), 0
    axis = canonical_axis("take", axis, shapes.ndim(a))
    size = shape(a)[axis]
    if mode == "raise":
        raise NotImplementedError("take: mode 'raise' is not possible; use 'fill', clip' or 'wrap'")
    if mode not in (None, "fill", "clip", "wrap"):
        raise ValueError(f"take: mode must be 'fill', 'clip' or 'wrap', found {mode!r}")
    if not size and typeof(indices).size:
        raise IndexError(f"take: axis {axis} of {typeof(a)} has no elements to take")
    if mode == "wrap":
        indices = remainder(indices, size)
    elif mode != "clip" and letter_of(typeof(indices).dtype) != "u":
        indices = where(stage2.lt(indices, 0), stage2.add(indices, size), indices)
    axes_of_indices = shapes.ndim(indices)
    offset = [
        i if i < axis else i + axes_of_indices - 1 for i in range(shapes.ndim(a)) if i != axis
    ]
    return lax.gather(
        a,
        shapes.expand_dims(indices, axes_of_indices),
        lax.GatherDimensionNumbers(tuple(offset), (axis,), (axis,)),
        [min(1, size) if i == axis else n for i, n in enumerate(shape(a))],
        mode="clip" if mode in ("clip", "wrap") else "fill",
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )


@operation(static=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """The elements of each row of `arr` at the indices in the same row of `indices`.

    Arguments:
        arr: the array.
        indices: integers, with as many axes as `arr`; sizes of other axes broadcast.
        axis: the axis along which rows lie; None: all elements, flattened.
        mode: "fill", the default, reads `fill_value` for indices out of bounds; "clip" the nearest
            element; "one_hot" reads 0, and sums the row times the one-hot vector of each index,
            which some devices do faster.
        fill_value: by default NaN; for integers the smallest or, if unsigned, the largest.
        wrap_negative_indices: whether negative indices count from the end; if not, they are out of
            bounds.

    Raises:
        TypeError: indices are not integers.
        ValueError: `arr` and `indices` differ in rank, or do not broadcast.

    >>> x = jnp.array([[3, 1], [2, 4]])
    >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    indices = _index_array("take_along_axis", indices)
    if axis is None:
        arr, axis = shapes.ravel(arr), 0
    arr, indices, along = _broadcast_except("take_along_axis", arr, indices, axis)
    if wrap_negative_indices:
        indices = wrapped_index(indices, shape(arr)[along])
    if mode == "one_hot":
        return _sum_at_one_hot(arr, indices, along)
    others = tuple(i for i in range(shapes.ndim(arr)) if i != along)
    return lax.gather(
        arr,
        lax.reshape(indices, (*shape(indices), 1)),
        lax.GatherDimensionNumbers((), (along,), (along,), others, others),
        [min(1, size) for size in shape(arr)],
        mode="fill" if mode is None else mode,
        fill_value=fill_value,
    )


def _sum_at_one_hot(arr: Any, indices: Any, along: int) -> Any:
    rows = shapes.expand_dims(stage2.moveaxis(arr, along, -1), -2)
    at = shapes.expand_dims(stage2.moveaxis(indices, along, -1), -1)
    hot = at == lax.broadcasted_iota(typeof(at).dtype, (shape(rows)[-1],), 0)
    chosen = where(hot, rows, cast(0, typeof(rows)))
    reduce = lax.reduce_or if typeof(rows).dtype.kind == "b" else lax.reduce_sum
    return stage2.moveaxis(reduce(chosen, [shapes.ndim(chosen) - 1]), -1, along)


def _broadcast_except(name: str, arr: Any, indices: Any, axis: int) -> tuple[Any, Any, int]:
    """Array and indices, broadcast against each other except along one axis."""
    if shapes.ndim(arr) != shapes.ndim(indices):
        raise ValueError(
            f"{name}: the array and the indices must have as many axes, found {typeof(arr)} and "
            f"{typeof(indices)}"
        )
    along = canonical_axis(name, axis, shapes.ndim(arr))
    own, other = list(shape(arr)), list(shape(indices))
    size, count = own[along], other[along]
    own[along] = other[along] = 1
    common = list(broadcast_shapes(tuple(own), tuple(other)))
    common[along] = size
    arr = shapes.broadcast_to(arr, common)
    common[along] = count
    return arr, shapes.broadcast_to(indices, common), along


@operation(static=("axis", "inplace", "mode"))
def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """`arr` with `values` at the positions that `take_along_axis` reads.

    Arguments:
        arr, indices: as in `take_along_axis`.
        values: the values, which broadcast to the shape of `indices`.
        axis: as in `take_along_axis`.
        inplace: must be False: Arrays are immutable.
        mode: as in `lax.scatter`.

    Raises:
        ValueError: `inplace` is True, or shapes do not match.

    >>> x = jnp.array([[1, 9], [8, 2]])
    >>> jnp.put_along_axis(x, jnp.argmax(x, axis=1, keepdims=True), 0, axis=1, inplace=False)
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    require_out_of_place("put_along_axis", inplace)
    arr_shape = shape(arr)
    indices = _index_array("put_along_axis", indices)
    if axis is None:
        arr, axis = shapes.ravel(arr), 0
    arr, indices, along = _broadcast_except("put_along_axis", arr, indices, axis)
    others = tuple(i for i in range(shapes.ndim(arr)) if i != along)
    warn_if_lossy(arr, values)
    out = lax.scatter(
        arr,
        shapes.expand_dims(wrapped_index(indices, shape(arr)[along]), shapes.ndim(arr)),
        shapes.broadcast_to(cast(values, typeof(arr)), shape(indices)),
        lax.ScatterDimensionNumbers((), (along,), (along,), others, others),
        mode=mode,
    )
    return shapes.reshape(out, arr_shape)


@operation(static=("mode", "inplace"))
def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """`a` with `v`, repeated as needed, at indices of the flattened array.

    Arguments:
        a: the array.
        ind: integers.
        v: the values.
        mode: "clip", the default, moves indices inside; "wrap" wraps around.
        inplace: must be False.

    Raises:
        ValueError: `inplace` is True, or there is no such mode.

    >>> jnp.put(jnp.array([1, 2, 3]), jnp.array([0, 2]), jnp.array([8, 9]), inplace=False)
    Array([8, 2, 9], dtype=int32)
    """
    require_out_of_place("put", inplace)
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"put: mode must be None, 'clip' or 'wrap', found {mode!r}")
    row, where = shapes.ravel(a), shapes.ravel(_index_array("put", ind))
    size, count = typeof(row).size, typeof(where).size
    if not count or not typeof(v).size:
        return shapes.reshape(row, shape(a))
    where = remainder(where, size) if mode == "wrap" else wrapped_index(where, size)
    warn_if_lossy(row, v)
    out = lax.scatter(
        row,
        shapes.expand_dims(where, 1),
        cast(_repeated_to(v, count), typeof(row)),
        lax.ScatterDimensionNumbers((), (0,), (0,)),
        mode="clip",
    )
    return shapes.reshape(out, shape(a))


def _repeated_to(values: Any, count: int) -> Any:
    """The first `count` elements of the cyclically repeated values."""
    row = shapes.ravel(values)
    size = typeof(row).size
    if size < count:
        row = take(row, np.arange(count, dtype=np.int32) % size, mode="clip")
    return lax.slice_in_dim(row, 0, count)


@operation(static="shape")
def unravel_index(indices: ArrayLike, shape: int | Sequence[int]) -> tuple[Array, ...]:
    """The indices along each axis of an array of `shape`, from flat indices.

    Negative indices count from the end; indices out of bounds are moved inside. The results have
    the dtype of `indices`.

    >>> jnp.unravel_index(jnp.array([2, 4]), (2, 3))
    (Array([0, 1], dtype=int32), Array([2, 1], dtype=int32))
    """
    sizes = ints("unravel_index: shape", shape)
    total = math.prod(sizes)
    wide = _index_array("unravel_index", indices)
    rest = wrapped_index(wide, total)
    rest = lax.min(*stage2.promote(rest, max(total - 1, 0)))
    rest = lax.max(*stage2.promote(rest, 0))
    found = []
    for size in reversed(sizes):
        quotient = lax.div(*stage2.promote(rest, max(size, 1)))
        found.append(rest - quotient * max(size, 1))
        rest = quotient
    like = typeof(wide if typeof(indices).dtype == np.bool_ else indices)
    return tuple(cast(index, like) for index in reversed(found))


@hiding_frames
def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """The flat indices of elements, from their indices along each axis of an array.

    Arguments:
        multi_index: for each axis the indices along it.
        dims: the shape of the array.
        mode: the treatment of indices out of bounds: "raise" an error, "wrap" or "clip".
        order: "C", the last axis fastest, or "F", the first.
        dtype: the dtype of the result; None: the default int.

    Raises:
        ValueError: in mode "raise", an index is out of bounds; or mode, order or dtype is invalid.
        ConcretizationTypeError: in mode "raise", indices are traced.

    >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 1])), (2, 3))
    Array([2, 4], dtype=int32)
    """
    sizes = ints("ravel_multi_index: dims", dims)
    if len(multi_index) != len(sizes):
        raise ValueError(
            f"ravel_multi_index: found indices for {counted(len(multi_index), 'axis')}, but a "
            f"shape of {len(sizes)}"
        )
    if mode == "raise":
        for index, size in zip(multi_index, sizes, strict=True):
            known = known_value(index)
            if known is None:
                raise ConcretizationTypeError(
                    "ravel_multi_index: in mode 'raise' the indices must be known when the "
                    "function is traced; choose mode='wrap' or mode='clip'"
                )
            if np.any((np.asarray(known) < 0) | (np.asarray(known) >= size)):
                raise ValueError(f"ravel_multi_index: an index is out of bounds for size {size}")
    elif mode not in ("wrap", "clip"):
        raise ValueError(f"ravel_multi_index: mode must be raise, wrap or clip, found {mode!r}")
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F', found {order!r}")
    if dtype is not None and letter_of(dialect().dtype_of("ravel_multi_index", dtype)) not in "iu":
        raise ValueError(f"ravel_multi_index: dtype must be an integer dtype, found {shown(dtype)}")
    return _raveled(list(multi_index), dims=sizes, mode=mode, order=order, dtype=dtype)


@operation(static=("dims", "mode", "order", "dtype"))
def _raveled(
    multi_index: list[Any], *, dims: tuple[int, ...], mode: str, order: str, dtype: Any
) -> Any:
    total: Any = 0
    pairs = list(zip(multi_index, dims, strict=True))
    for index, size in pairs if order == "C" else reversed(pairs):
        index = _index_array("ravel_multi_index", index)
        if mode == "wrap":
            index = remainder(index, size)
        elif mode == "clip":
            index = lax.min(*stage2.promote(index, size - 1))
            index = lax.max(*stage2.promote(index, 0))
        total = stage2.add(*promote(stage2.mul(total, size), index))
    if dtype is None:
        dtype = result_type(*map(typeof, multi_index)).dtype
        if math.prod(dims) - 1 > np.iinfo(dtype).max:
            dtype = typeof(total).dtype
    return lax.convert_element_type(total, dtype)
