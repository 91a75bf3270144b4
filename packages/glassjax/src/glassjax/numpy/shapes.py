"""Arrays reshaped, transposed, joined and split."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import is_symbolic_dim, max_size, min_size, surely_less
from glassjax.dtypes import DTypeLike
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax import shapes as creation
from glassjax.lax.conversion import convert_silently
from glassjax.lax.placement import placed_result
from glassjax.lax.shapes import steps_of
from glassjax.numpy.dtypes import to_common_dtype
from glassjax.runtime.array import Array, ArrayLike, require_no_out
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import require_no_promotion, warn_of_lost_part
from glassjax_stage2 import ShapedArray, tree_leaves, typeof
from glassjax_stage2.functions import canonical_axes, canonical_axis, ints

# Changing the shape of arrays, and the order of their axes.


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
    a_shape = _typeof("size", a).shape
    return math.prod([a_shape[i] for i in canonical_axes("size", axis, len(a_shape))])


def _typeof(caller: str, a: Any) -> ShapedArray:
    if a is None:  # numpy makes it a scalar of dtype object
        warnings.warn(
            f"{caller}: None is not an array; treating it as a scalar is deprecated",
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
    """`x` with another dtype.

    Arguments:
        x: the array.
        dtype: the dtype of the result; None: the default float.
        copy: ignored: Arrays are immutable.
        device: a device or a sharding, where the result lies; None: where `x` lies.

    Warns:
        DeprecationWarning: `x` is complex, and `dtype` real.

    >>> jnp.astype(jnp.array([1.9, -1.9]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    warn_of_lost_part("astype", x, dtype, DeprecationWarning, kept="bcV")
    return _astype(x, dtype, copy=copy, device=device)


def _convert(x: Any, dtype: Any, *, copy: bool, device: Any) -> Any:
    return placed_result("astype", convert_silently(x, dtype), device)


_convert.__name__ = "astype"  # the name in messages
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
        copy: ignored: Arrays are immutable.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ShapeMismatchError: the sizes differ.
        NotImplementedError: `order` is neither "C" nor "F".

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

    Arguments:
        a: the array.
        order, out_sharding: as in `reshape`.

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

    Raises:
        TypeError: `axes` is None.
        ValueError: `axes` are not a permutation of the axes.

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

    Raises:
        ValueError: there are not as many destinations as sources, or there are no such axes.

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

    Arguments:
        a: the array.
        axis: the axis to move.
        start: the axis before which it stands in the result; the number of axes for the end.

    Raises:
        ValueError: there is no such axis.

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
    """`a` with two axes swapped.

    Arguments:
        a: the array.
        axis1, axis2: the two axes.

    Raises:
        ValueError: there is no such axis.

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

    Arguments:
        array: the array.
        shape: the shape of the result, an int or a sequence of ints.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ShapeMismatchError: `array` does not broadcast to `shape`.

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
        if any(is_symbolic_dim(n) and not surely_less(1, n) for n in shape(a)):
            raise ValueError(
                f"squeeze: whether an axis of shape {shape(a)} has size 1 depends on its symbolic "
                "sizes; give axis="
            )
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


# Putting arrays together.


@operation(static=("axis", "dtype"))
def concatenate(
    arrays: Sequence[Any], axis: int | None = 0, dtype: DTypeLike | None = None
) -> Array:
    """The arrays joined along an axis.

    Arguments:
        arrays: the arrays; their shapes agree except along `axis`.
        axis: the axis; None: the arrays are flattened first.
        dtype: the dtype of the result; None: the promoted dtype of the arrays.

    Raises:
        ValueError: there are no arrays, or there is no such axis.
        TypeError: other sizes differ.

    >>> jnp.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4]])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    >>> jnp.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4]])], axis=1)
    Array([[1, 2, 3, 4]], dtype=int32)
    """
    if not len(arrays):
        raise ValueError("concatenate: needs at least one array")
    _require_one_dtype(arrays, dtype)
    if axis is None:
        return concatenate([ravel(a) for a in arrays], 0, dtype)
    along = canonical_axis("concatenate", axis, ndim(arrays[0]))
    return lax.concatenate(_in_one_dtype(arrays, dtype), along)


def _in_one_dtype(arrays: Sequence[Any], dtype: Any) -> list[Any]:
    return to_common_dtype(
        *(arrays if dtype is None else [lax.convert_element_type(a, dtype) for a in arrays])
    )


def _require_one_dtype(arrays: Sequence[Any], dtype: Any) -> None:
    """Raise an error if settings forbid these to be joined, unless a dtype is given."""
    if dtype is None:
        require_no_promotion(*arrays)


@operation(static=("axis", "out", "dtype"))
def stack(
    arrays: Sequence[Any], axis: int = 0, out: None = None, dtype: DTypeLike | None = None
) -> Array:
    """The arrays, all of one shape, stacked along a new axis.

    Arguments:
        arrays: the arrays.
        axis: the position of the new axis in the result.
        out: must be None.
        dtype: as in `concatenate`.

    Raises:
        ValueError: there are no arrays, or their shapes differ.

    >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    >>> jnp.stack([jnp.zeros((2, 3)), jnp.ones((2, 3))], axis=-1).shape
    (2, 3, 2)
    """
    _require_one_dtype(arrays, dtype)
    require_no_out("stack", out)
    if not len(arrays):
        raise ValueError("stack: needs at least one array")
    shapes = {shape(a) for a in arrays}
    if len(shapes) > 1:
        raise ValueError(f"stack: the arrays must have one shape, found {sorted(shapes)}")
    new = canonical_axis("stack", axis, ndim(arrays[0]) + 1)
    return lax.stack(_in_one_dtype(arrays, dtype), new)


@operation(static="axis")
def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Array:
    """The arrays joined along `axis`; flattened first if it is None.

    >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    """
    require_no_promotion(*arrays)
    return concatenate(arrays, axis)


@operation(static="dtype")
def hstack(tup: Sequence[Any], dtype: DTypeLike | None = None) -> Array:
    """The arrays joined along their second axis; vectors along their only one.

    >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    >>> jnp.hstack([jnp.ones((2, 1)), jnp.ones((2, 3))]).shape
    (2, 4)
    """
    _require_one_dtype(tup, dtype)
    arrays = [atleast_1d(x) for x in tup]
    return concatenate(arrays, 0 if arrays and ndim(arrays[0]) == 1 else 1, dtype)


@operation(static="dtype")
def vstack(tup: Sequence[Any], dtype: DTypeLike | None = None) -> Array:
    """The arrays joined along their first axis; vectors are rows.

    >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    _require_one_dtype(tup, dtype)
    return concatenate([atleast_2d(x) for x in tup], 0, dtype)


@operation(static="dtype")
def dstack(tup: Sequence[Any], dtype: DTypeLike | None = None) -> Array:
    """The arrays joined along their third axis.

    >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])]).shape
    (1, 2, 2)
    """
    _require_one_dtype(tup, dtype)
    return concatenate([atleast_3d(x) for x in tup], 2, dtype)


@operation
def column_stack(tup: Sequence[Any]) -> Array:
    """The arrays side by side; vectors are columns.

    >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    require_no_promotion(*tup)
    return concatenate([x if ndim(x) >= 2 else transpose(atleast_2d(x)) for x in tup], 1)


@operation(static="axis")
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """`arr` and `values` joined along an axis.

    Arguments:
        arr: the array.
        values: the array to append; its shape agrees except along `axis`.
        axis: the axis; None: both are flattened first.

    >>> jnp.append(jnp.array([1, 2]), jnp.array([3]))
    Array([1, 2, 3], dtype=int32)
    >>> jnp.append(jnp.zeros((1, 2)), jnp.ones((1, 2)), axis=0)
    Array([[0., 0.],
           [1., 1.]], dtype=float32)
    """
    require_no_promotion(arr, values)
    return concatenate([arr, values], axis)


@operation
def block(arrays: Any) -> Array:
    """An array assembled from nested lists of blocks.

    The innermost lists are joined along the last axis, those around them along the last but one,
    and so on.

    Raises:
        ValueError: a list is empty, or lists are nested to different depths.

    >>> jnp.block([[jnp.eye(2), jnp.zeros((2, 1))], [jnp.zeros((1, 2)), 7 * jnp.ones((1, 1))]])
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 7.]], dtype=float32)
    """
    depth = _depth(arrays)
    require_no_promotion(*tree_leaves(arrays))
    axes = max(depth, _most_axes(arrays))

    def join_level(part: Any, level: int) -> Any:
        if not isinstance(part, list):
            return expand_dims(part, range(axes - ndim(part)))
        return concatenate([join_level(x, level + 1) for x in part], axes - depth + level)

    return join_level(arrays, 0) if depth else arrays


def _depth(part: Any) -> int:
    if isinstance(part, tuple):
        raise TypeError("block: blocks are nested in lists, found a tuple")
    if not isinstance(part, list):
        return 0
    depths = {_depth(x) for x in part}
    if len(depths) != 1:
        found = "an empty list" if not depths else f"depths {sorted(depths)}"
        raise ValueError(f"block: all lists must be nested to one depth, found {found}")
    return 1 + depths.pop()


def _most_axes(part: Any) -> int:
    return max(map(_most_axes, part)) if isinstance(part, list) else ndim(part)


# Cutting arrays into parts.


Sections = int | Sequence[int]


@operation(static=("indices_or_sections", "axis"))
def split(ary: ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[Array]:
    """The parts of `ary` along `axis`.

    Arguments:
        ary: the array.
        indices_or_sections: the number of parts of equal size; or the indices at which to split.
        axis: the axis.

    Raises:
        ValueError: parts of equal size are not possible; `array_split` makes some larger.

    >>> jnp.split(jnp.arange(6), 3)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32), Array([4, 5], dtype=int32)]
    >>> [x.shape for x in jnp.split(jnp.zeros((2, 6)), [1, 4], axis=1)]
    [(2, 1), (2, 3), (2, 2)]
    """
    return _split_array("split", ary, indices_or_sections, axis)


@operation(static=("indices_or_sections", "axis"))
def array_split(ary: ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[Array]:
    """The parts of `ary` along an axis; of parts of equal size, the first may be larger by one.

    Arguments:
        ary, indices_or_sections, axis: as in `split`.

    Raises:
        ValueError: the number of parts is not positive.

    >>> [x.shape for x in jnp.array_split(jnp.arange(7), 3)]
    [(3,), (2,), (2,)]
    """
    return _split_array("array_split", ary, indices_or_sections, axis)


def _split_array(name: str, ary: Any, sections: Sections, axis: int) -> list[Any]:
    axis = canonical_axis(name, axis, ndim(ary))
    size = shape(ary)[axis]
    if np.ndim(sections) == 1 and np.size(sections) == 0:  # an empty list is a float array to numpy
        sections = ()
    if isinstance(sections, tuple | list):
        cuts = [min_size(max_size(i + size if i < 0 else i, 0), size) for i in ints(name, sections)]
        starts, limits = [0, *cuts], [*cuts, size]
    else:
        count = steps_of(f"{name}: indices_or_sections", sections)
        if count <= 0:
            raise ValueError(f"{name}: the number of parts must be positive, found {count}")
        each, more = divmod(size, count)
        if more and name == "split":
            raise ValueError(
                f"split: axis {axis} of size {size} has no {count} parts of one size; array_split "
                "makes some larger by one"
            )
        limits = [(i + 1) * each + min(i + 1, more) for i in range(count)]
        starts = [0, *limits[:-1]]
    if limits == sorted(limits):
        sizes = [limit - start for start, limit in zip(starts, limits, strict=True)]
        return lax.split(ary, sizes, axis)
    return [
        lax.slice_in_dim(ary, start, max(start, limit), axis=axis)
        for start, limit in zip(starts, limits, strict=True)
    ]


@operation(static="indices_or_sections")
def hsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """`split` along the second axis; along the first if it is the only one.

    >>> [x.shape for x in jnp.hsplit(jnp.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_array("split", ary, indices_or_sections, 0 if ndim(ary) == 1 else 1)


@operation(static="indices_or_sections")
def vsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """`split` along the first axis.

    >>> [x.shape for x in jnp.vsplit(jnp.zeros((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    return _split_array("split", ary, indices_or_sections, 0)


@operation(static="indices_or_sections")
def dsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """`split` along the third axis.

    >>> [x.shape for x in jnp.dsplit(jnp.zeros((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return _split_array("split", ary, indices_or_sections, 2)


@operation(static="axis")
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The elements of `x` along `axis`, without that axis.

    Raises:
        ValueError: `x` is a scalar.

    >>> first, second = jnp.unstack(jnp.array([[1, 2], [3, 4]]))
    >>> second
    Array([3, 4], dtype=int32)
    """
    if not ndim(x):
        raise ValueError("unstack: a scalar has no axis to unstack")
    return lax.unstack(x, axis)
