"""Set operations on arrays.

The number of results depends on the values. If these are traced, `size` gives the size of the
result, and `fill_value` pads it.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.errors import ConcretizationTypeError
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.sorting import take_along
from glassjax.numpy.cases import where
from glassjax.numpy.differences import diff
from glassjax.numpy.dtypes import cast_into, default_int
from glassjax.numpy.indexing import getitem, known_value
from glassjax.numpy.reductions import any, count_nonzero
from glassjax.numpy.selection import nonzero
from glassjax.numpy.sorting import lexsort, searchsorted, sort
from glassjax.runtime.array import Array, ArrayLike, from_numpy
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import promote, require_no_promotion, result_type
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes, moveaxis
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import is_inexact, typeof_named


class UniqueAll(NamedTuple):
    """The results of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The results of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The results of `unique_inverse`."""

    values: Any
    inverse_indices: Any


@evaluated_by_library
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any:
    """The unique elements of an array, in order.

    Arguments:
        ar: the array.
        return_index: whether to return the index of the first occurrence of each.
        return_inverse: whether to return for each element its index among them.
        return_counts: whether to return the count of each.
        axis: the axis whose slices to compare; None: single elements.
        equal_nan: whether all NaN count as one element.
        size: the size of the result, required if values are traced. Further ones are dropped.
        fill_value: the number that pads to `size`; by default the smallest element.
        sorted: ignored.

    Returns:
        The elements, or a tuple of them and the other requested arrays.

    Raises:
        ConcretizationTypeError: values are traced, and `size` is not given.
        ValueError: there are no elements, `size` is positive, and there is no `fill_value`.

    >>> import glassjax.numpy as jnp
    >>> x = jnp.array([3, 1, 3])
    >>> unique(x, return_counts=True)
    (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    >>> unique(x, size=4, fill_value=0)
    Array([1, 3, 0, 0], dtype=int32)
    """
    if type(equal_nan) is not bool:
        require_fit("unique", "equal_nan", equal_nan, bool)
    aval = typeof(ar)
    along = None if axis is None else canonical_axes("unique", axis, aval.ndim)[0]
    asked = (bool(return_index), bool(return_inverse), bool(return_counts))
    if size is None:
        most = aval.size if along is None else aval.shape[along]
        count, found = _unique(ar, None, along, bool(equal_nan), most, asked)
        known = known_count("unique", count)
        found = UniqueAll(
            cut_to(known, found.values, along or 0),
            cut_to(known, found.indices),
            found.inverse_indices,
            cut_to(known, found.counts),
        )
    else:
        size = size_of("unique", size)
        _, found = _unique(ar, fill_value, along, bool(equal_nan), size, asked)
    others = tuple(x for x, is_asked in zip(found[1:], asked, strict=True) if is_asked)
    return (found.values, *others) if others else found.values


@operation(static=("axis", "equal_nan", "size", "asked"))
def _unique(
    ar: Any,
    fill_value: Any,
    axis: int | None,
    equal_nan: bool,
    size: int,
    asked: tuple[bool, bool, bool],
) -> tuple[Any, UniqueAll]:
    """Return the number of unique elements, `size` of them, and the other requested arrays."""
    wants_index, wants_inverse, wants_counts = asked
    rows = stage2.reshape(ar, (-1,)) if axis is None else moveaxis(ar, axis, 0)
    count, *rest = typeof(rows).shape
    if not count and size and fill_value is None:
        raise ValueError(f"unique: {typeof(ar)} has no elements; fill_value says what to return")
    dtype = default_int()
    rows, is_new, order = sorted_rows(rows, equal_nan)
    (starts,) = nonzero(is_new, size=size)
    values = getitem(rows, starts) if count else lax.full_like(rows, 0, shape=(size, *rest))
    first = counts = inverse = None
    if wants_index:
        first = getitem(order, starts) if count else lax.full((0,), 0, dtype)
    total: Any = count_nonzero(is_new) if fill_value is not None or size == count else None
    if fill_value is not None:
        is_there = lax.iota(dtype, size) < total
        wide = lax.broadcast_in_dim(is_there, typeof(values).shape, (0,))
        values = where(wide, values, cast_into("unique", fill_value, typeof(values)))
    if wants_inverse:
        number = lax.cumsum(lax.convert_element_type(is_new, dtype)) - 1
        inverse = _put_values(lax.full((count,), 0, dtype), order, number)
        inverse = lax.reshape(inverse, typeof(ar).shape) if axis is None else inverse
    if wants_counts:
        (starts,) = nonzero(is_new, size=size + 1, fill_value=count)
        counts = diff(starts) if count else lax.full((0,), 0, dtype)
    return total, UniqueAll(
        values if axis is None else moveaxis(values, 0, axis),
        first,
        inverse,
        counts,
    )


@operation(static="equal_nan")
def sorted_rows(rows: Any, equal_nan: bool) -> tuple[Any, Any, Any]:
    """The rows in order, a mask of the first of each run, and the permutation that sorts them.

    Complex numbers that are NaN in one part become NaN, so that all stand together.
    """
    rows = with_whole_nan(rows)
    count, *rest = typeof(rows).shape
    width = math.prod(rest)
    if not width:  # empty rows are all equal
        order = lax.iota(default_int(), count)
        return rows, order == 0, order
    columns = lax.transpose(lax.reshape(rows, (count, width)), (1, 0))
    order = lexsort(lax.rev(columns, (0,)))
    rows = getitem(rows, order)
    return rows, begins_run(rows, equal_nan), order


def with_whole_nan(x: Any) -> Any:
    """`x` with NaN for complex numbers that are NaN in one part."""
    if typeof(x).dtype.kind != "c":
        return x
    return where(lax.ne(x, x), typeof(x).dtype.type(np.nan), x)


def begins_run(x: Any, equal_nan: bool) -> Any:
    """Test if each row differs from the one before; the first does."""
    begins = lax.full(typeof(x).shape[:1], True)
    after, before = getitem(x, slice(1, None)), getitem(x, slice(-1))
    differs = after != before
    if equal_nan and is_inexact(typeof(x).dtype):
        differs = differs & ~((after != after) & (before != before))
    differs = lax.reduce_or(differs, range(1, typeof(x).ndim))
    return begins.at[1:].set(differs)


def mask_positions(mask: Any, size: int) -> tuple[Any, Any]:
    """The first `size` indices where the mask is true, padded with its length; and their count."""
    (places,) = nonzero(mask, size=size, fill_value=typeof(mask).shape[0])
    return places, count_nonzero(mask)


def _put_values(x: Any, indices: Any, values: Any) -> Any:
    """`x` with `values` at `indices`, which differ."""
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    return lax.scatter(x, lax.expand_dims(indices, 1), values, numbers, unique_indices=True)


def known_count(name: str, count: Any) -> int:
    """Return the number of elements of a result.

    Raises:
        ConcretizationTypeError: it depends on traced values.
    """
    known = known_value(count)
    if known is None:
        raise ConcretizationTypeError(
            f"{name}: how many elements the result has decides its shape, so the arrays must be "
            f"known when the function is traced; {count.why_unknown()}.\n"
            "Give size=, the number of elements."
        )
    return int(known)


def cut_to(count: int, x: Any, axis: int = 0) -> Any:
    """The first elements, cut in numpy: a new count would compile another program."""
    if x is None or count == typeof(x).shape[axis]:
        return x
    if type(x) is not Array or x.is_placed:
        return lax.slice_in_dim(x, 0, count, axis=axis)
    part = np.asarray(x)[(slice(None),) * axis + (slice(count),)]
    return from_numpy(np.ascontiguousarray(part), typeof(x).weak_type)


def size_of(name: str, size: Any) -> int:
    found = operator.index(size)
    if found < 0:
        raise ValueError(f"{name}: size must not be negative, found {found}")
    return found


@evaluated_by_library
def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAll:
    """The unique elements, their first indices, the inverse indices, and their counts.

    Arguments:
        x: the array; NaN are different from each other.
        size, fill_value: as in `unique`.

    Raises:
        ConcretizationTypeError: as in `unique`.

    >>> jnp.unique_all(jnp.array([3, 1, 3])).indices
    Array([1, 0], dtype=int32)
    """
    found = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueAll(*found)


@evaluated_by_library
def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCounts:
    """The unique elements, and the count of each.

    Arguments:
        x: as in `unique_all`.
        size, fill_value: as in `unique`.

    Raises:
        ConcretizationTypeError: as in `unique`.

    >>> jnp.unique_counts(jnp.array([3, 1, 3]))
    UniqueCounts(values=Array([1, 3], dtype=int32), counts=Array([1, 2], dtype=int32))
    """
    found = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCounts(*found)


@evaluated_by_library
def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverse:
    """The unique elements, and the inverse indices.

    Arguments:
        x: as in `unique_all`.
        size, fill_value: as in `unique`.

    Raises:
        ConcretizationTypeError: as in `unique`.

    >>> found = jnp.unique_inverse(jnp.array([3, 1, 3]))
    >>> found.values[found.inverse_indices]
    Array([3, 1, 3], dtype=int32)
    """
    found = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverse(*found)


@evaluated_by_library
def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The unique elements.

    Arguments:
        x: as in `unique_all`.
        size, fill_value: as in `unique`.

    Raises:
        ConcretizationTypeError: as in `unique`.

    >>> jnp.unique_values(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


@operation(static=("assume_unique", "invert", "method"))
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Test which elements of one array occur in another.

    Arguments:
        element: the array, of any shape.
        test_elements: the elements to look for.
        assume_unique: ignored.
        invert: whether to invert the result.
        method: "compare_all" compares all pairs; "sort" and "binary_search" sort them and find the
            position of each element, all together or one by one; "auto" compares with a few and
            searches in many.

    Raises:
        ValueError: the method is not known.

    >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 2, 5]))
    Array([False,  True,  True], dtype=bool)
    """
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            "isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', found "
            f"{method!r}"
        )
    shape = typeof(element).shape
    element, tests = (stage2.reshape(x, (-1,)) for x in _to_common_dtype(element, test_elements))
    size, count = typeof(element).size, typeof(tests).size
    is_complex = typeof(tests).dtype.kind == "c"  # NaN breaks the order of complex numbers
    if not count:
        found = lax.full((size,), False)
    elif method == "compare_all" or (method == "auto" and (count <= 16 or is_complex)):
        rows = lax.broadcast_in_dim(element, (size, count), (0,))
        found = any(rows == lax.broadcast_in_dim(tests, (size, count), (1,)), 1)
    else:
        ordered = sort(with_whole_nan(tests))
        by = "sort" if method == "sort" else "scan"
        place = searchsorted(ordered, element, method=by)
        place = lax.min(*stage2.promote(place, count - 1))
        found = take_along(ordered, place, 0) == element
    return lax.reshape(lax.bitwise_not(found) if invert else found, shape)


@hiding_frames
def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The unique elements of two arrays, in order.

    Arguments:
        ar1, ar2: the arrays.
        size, fill_value: as in `unique`.

    Raises:
        ConcretizationTypeError: as in `unique`.

    >>> jnp.union1d(jnp.array([1, 2, 3]), jnp.array([3, 2, 5]))
    Array([1, 2, 3, 5], dtype=int32)
    """
    return unique(_in_a_row(ar1, ar2), size=size, fill_value=fill_value)


@evaluated_by_library
def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The unique elements of one array that are not in the other, in order.

    Arguments:
        ar1, ar2: the arrays.
        assume_unique: whether `ar1` has no duplicates; then its elements keep their order.
        size: the size of the result, required if values are traced. Further ones are dropped.
        fill_value: the number that pads to `size`; 0 by default.

    Raises:
        ConcretizationTypeError: values are traced, and `size` is not given.

    >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([3, 2, 5]))
    Array([1], dtype=int32)
    """
    most = typeof(ar1).size if size is None else size_of("setdiff1d", size)
    if type(assume_unique) is not bool:
        require_fit("setdiff1d", "assume_unique", assume_unique, bool)
    fill_value = 0 if fill_value is None else fill_value
    fill = typeof_named("setdiff1d: fill_value", fill_value)
    is_number = isinstance(fill_value, complex) and not isinstance(fill_value, np.generic)
    if fill.shape or (is_number and typeof(ar1).dtype.kind != "c"):
        raise TypeError(f"setdiff1d: fill_value must be a number of the arrays, found {fill}")
    count, out = _setdiff1d(ar1, ar2, fill_value, bool(assume_unique), most)
    return cut_to(known_count("setdiff1d", count), out) if size is None else out


@operation(static=("assume_unique", "size"))
def _setdiff1d(
    ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int
) -> tuple[Any, Any]:
    if typeof(ar1).size:
        require_no_promotion(ar1, ar2)
    x = stage2.reshape(ar1, (-1,))
    is_new = lax.full(typeof(x).shape, True)
    if not assume_unique and typeof(x).size:
        x, is_new, _ = sorted_rows(x, True)
    lacks = isin(x, ar2, invert=True)
    places, count = mask_positions(lacks & is_new, size)
    return count, _at_places(x, places, cast_into("setdiff1d", fill_value, typeof(x)))


@evaluated_by_library
def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The unique elements that are in only one of two arrays, in order.

    Arguments:
        ar1, ar2: the arrays.
        assume_unique: whether neither array has duplicates.
        size: as in `setdiff1d`.
        fill_value: the number that pads to `size`, promoted with the elements; by default the
            smallest of these.

    Raises:
        ConcretizationTypeError: values are traced, and `size` is not given.

    >>> jnp.setxor1d(jnp.array([1, 2, 3]), jnp.array([3, 2, 5]))
    Array([1, 5], dtype=int32)
    """
    most = typeof(ar1).size + typeof(ar2).size if size is None else size_of("setxor1d", size)
    count, out = _setxor1d(ar1, ar2, fill_value, bool(assume_unique), most)
    return cut_to(known_count("setxor1d", count), out) if size is None else out


@operation(static=("assume_unique", "size"))
def _setxor1d(
    ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int
) -> tuple[Any, Any]:
    x, _, is_there, is_shared = _merged(ar1, ar2, assume_unique)
    nobody = lax.full((1,), False)
    is_second = lax.concatenate([nobody, is_shared], 0)
    is_first = lax.concatenate([is_shared, nobody], 0)
    is_one = ~(is_first | is_second)
    is_one = lax.slice_in_dim(is_one, 0, typeof(x).size)  # the padding goes; empty stays empty
    places, count = mask_positions(is_one & is_there, size)
    return count, _at_places(x, places, fill_value)


@evaluated_by_library
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """The unique elements that are in both of two arrays, in order.

    Arguments:
        ar1, ar2: the arrays.
        assume_unique: whether neither array has duplicates.
        return_indices: whether to return the index of the first occurrence of each in both arrays,
            padded with the size of the array.
        size: as in `setdiff1d`.
        fill_value: the number that pads to `size`, promoted with the elements; by default the
            smallest of these.

    Returns:
        The elements, or a tuple of them and their indices in both arrays.

    Raises:
        ConcretizationTypeError: values are traced, and `size` is not given.

    >>> jnp.intersect1d(jnp.array([1, 2, 3]), jnp.array([3, 2, 5]))
    Array([2, 3], dtype=int32)
    """
    sizes = typeof(ar1).size, typeof(ar2).size
    most = min(sizes) if size is None else size_of("intersect1d", size)
    count, *found = _intersect1d(ar1, ar2, fill_value, bool(assume_unique), most)
    if size is None:
        known = known_count("intersect1d", count)
        found = [cut_to(known, x) for x in found]
    return tuple(found) if return_indices else found[0]


@operation(static=("assume_unique", "size"))
def _intersect1d(
    ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int
) -> tuple[Any, Any, Any, Any]:
    sizes = typeof(ar1).size, typeof(ar2).size
    x, order, _, is_shared = _merged(ar1, ar2, assume_unique)
    places, count = mask_positions(is_shared, size)
    is_there = lax.iota(default_int(), size) < count
    out = _at_places(x, where(is_there, places, typeof(x).size), fill_value)
    first = where(is_there, _at_places(order, places, 0), sizes[0])
    second = _at_places(order, places + 1, 0) - sizes[0]
    return count, out, first, where(is_there, second, sizes[1])


def _merged(ar1: Any, ar2: Any, assume_unique: bool) -> tuple[Any, Any, Any, Any]:
    """The unique elements of both arrays in order, with common ones twice.

    Returns:
        The elements; their indices in the concatenation of the arrays; a mask of the valid ones;
        and for all but the last, whether the next one is equal.
    """
    both = _in_a_row(ar1, ar2)
    both = lax.convert_element_type(both, typeof(both).dtype)  # drops the weak type
    dtype = default_int()
    count = typeof(both).size
    places = lax.iota(dtype, count)
    belongs = lax.convert_element_type(places >= typeof(ar1).size, np.int32)
    x, belongs, order = lax.sort((both, belongs, places), num_keys=2)
    is_there = lax.full((count,), True)
    if not assume_unique:
        is_new = begins_run(x, True) | begins_run(belongs, True)
        behind = lax.convert_element_type(~is_new, np.int32)
        _, x, order = lax.sort((behind, x, order))
        is_there = places < count_nonzero(is_new)
    last = max(count - 1, 0)
    is_same = lax.slice_in_dim(x, 0, last) == lax.slice_in_dim(x, min(count, 1), count)
    return (
        x,
        order,
        is_there,
        is_same & lax.slice_in_dim(is_there, count - last, count),
    )


def _at_places(x: Any, places: Any, fill_value: Any) -> Any:
    """The elements at indices, and `fill_value` beyond the end; the first of them if it is None.

    The dtype is that of the elements and of `fill_value`.
    """
    fill = cast(0, typeof(x)) if fill_value is None else fill_value
    x, fill = promote(x, fill)
    count = typeof(x).size
    if not count:
        return lax.full_like(x, fill, shape=typeof(places).shape)
    is_there = places < count
    values = where(is_there, take_along(x, where(is_there, places, 0), 0), fill)
    if fill_value is None and typeof(places).size:
        values = where(is_there, values, lax.slice_in_dim(values, 0, 1))
    return values


def _to_common_dtype(*operands: Any) -> list[Any]:
    common = result_type(*map(typeof, operands))
    return [cast(x, common) for x in operands]


@operation
def _in_a_row(ar1: Any, ar2: Any) -> Any:
    return lax.concatenate([stage2.reshape(x, (-1,)) for x in _to_common_dtype(ar1, ar2)], 0)
