"""Arrays as sets: which elements they share, and which only one of them has."""

from typing import Any

import numpy as np

from minijax.evaluation import evaluated_by_library
from minijax.lax import promoting as lax
from minijax.lax.elementwise import where as choose
from minijax.lax.sorting import take_along
from minijax.numpy.distinct import (
    cut_to,
    differs_from_last,
    in_order,
    known_count,
    places_of,
    size_of,
    unique,
    with_whole_nan,
)
from minijax.numpy.dtypes import default_int
from minijax.numpy.reductions import any, count_nonzero
from minijax.numpy.sorting import searchsorted, sort
from minijax.operation import operation
from minijax.promotion import require_one_dtype, result_type
from minijax.tracebacks import hiding_frames
from minijax_stage2 import typeof
from minijax_stage2.promotion import cast


# --8<-- [start:isin]
@operation(static=("assume_unique", "invert", "method"))
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Where the elements of the one array are among those of another.

    Arguments:
        element: the array, of any shape.
        test_elements: the elements to look for.
        assume_unique: makes no difference.
        invert: whether to say where they are not.
        method: "compare_all" compares with each of them; "sort" and "binary_search" put them in
            order and find the place of each element, all together or one by one; "auto" compares
            with a few and searches many.

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
    element, tests = (lax.reshape(x, (-1,)) for x in _of_one_dtype(element, test_elements))
    size, count = typeof(element).size, typeof(tests).size
    is_complex = typeof(tests).dtype.kind == "c"  # which NaN brings out of order
    if not count:
        found = lax.full((size,), False)
    elif method == "compare_all" or (method == "auto" and (count <= 16 or is_complex)):
        rows = lax.broadcast_in_dim(element, (size, count), (0,))
        found = any(lax.eq(rows, lax.broadcast_in_dim(tests, (size, count), (1,))), 1)
    else:
        ordered = sort(with_whole_nan(tests))
        by = "sort" if method == "sort" else "scan"
        place = lax.min(searchsorted(ordered, element, method=by), count - 1)
        found = lax.eq(take_along(ordered, place, 0), element)
    return lax.reshape(lax.bitwise_not(found) if invert else found, shape)


# --8<-- [end:isin]


@hiding_frames
def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements of two arrays, in order; `size` and `fill_value` as in `unique`.

    >>> jnp.union1d(jnp.array([1, 2, 3]), jnp.array([3, 2, 5]))
    Array([1, 2, 3, 5], dtype=int32)
    """
    return unique(_in_a_row(ar1, ar2), size=size, fill_value=fill_value)


# --8<-- [start:of_two]
@evaluated_by_library
def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements of the one array that the other lacks, in order.

    Arguments:
        ar1, ar2: the arrays.
        assume_unique: whether no element of `ar1` occurs twice; then they keep their order.
        size: how many there are in the result, needed where values are traced. What is too much
            is cut off.
        fill_value: what fills the result up to `size`; 0 if not given.

    Raises:
        ConcretizationTypeError: values are known only when the program runs, and `size` is not
            given.

    >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([3, 2, 5]))
    Array([1], dtype=int32)
    """
    most = typeof(ar1).size if size is None else size_of("setdiff1d", size)
    fill_value = 0 if fill_value is None else fill_value
    count, out = _setdiff1d(ar1, ar2, fill_value, bool(assume_unique), most)
    return cut_to(known_count("setdiff1d", count), out) if size is None else out


@operation(static=("assume_unique", "size"))
def _setdiff1d(
    ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int
) -> tuple[Any, Any]:
    require_one_dtype(ar1, ar2)
    x = lax.reshape(ar1, (-1,))
    is_new = lax.full(typeof(x).shape, True)
    if not assume_unique and typeof(x).size:
        x, order, is_new = in_order(x, True)
        x = take_along(x, order, 0)
    lacks = isin(x, ar2, invert=True)
    places, count = places_of(lax.bitwise_and(lacks, is_new), size)
    return count, _at_places(x, places, fill_value)


@evaluated_by_library
def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements that only one of two arrays has, in order.

    Arguments:
        ar1, ar2: the arrays.
        assume_unique: whether no element occurs twice in an array.
        size: as in `setdiff1d`.
        fill_value: what fills the result up to `size`; its smallest element if not given.

    Raises:
        ConcretizationTypeError: values are known only when the program runs, and `size` is not
            given.

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
    x, _, is_there, is_shared = _of_both(ar1, ar2, assume_unique)
    nobody = lax.full((1,), False)
    is_second = lax.concatenate([nobody, is_shared], 0)
    is_first = lax.concatenate([is_shared, nobody], 0)
    is_one = lax.bitwise_not(lax.bitwise_or(is_first, is_second))
    is_one = lax.slice_in_dim(is_one, 0, typeof(x).size)  # of nothing and nobody remains nothing
    places, count = places_of(lax.bitwise_and(is_one, is_there), size)
    return count, _at_places(x, places, fill_value)


@evaluated_by_library
def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements that two arrays share, in order.

    Arguments:
        ar1, ar2: the arrays.
        assume_unique: whether no element occurs twice in an array.
        return_indices: whether to return where each is first found, in the one array and in the
            other; in the place of those that are not there, the size of that array.
        size: as in `setdiff1d`.
        fill_value: what fills the result up to `size`; its smallest element if not given.

    Returns:
        The elements, or a tuple of them and their indices in both arrays.

    Raises:
        ConcretizationTypeError: values are known only when the program runs, and `size` is not
            given.

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
    x, order, _, is_shared = _of_both(ar1, ar2, assume_unique)
    places, count = places_of(is_shared, size)
    is_there = lax.lt(lax.iota(default_int(), size), count)
    out = _at_places(x, choose(is_there, places, typeof(x).size), fill_value)
    first = choose(is_there, _at_places(order, places, 0), sizes[0])
    second = lax.sub(_at_places(order, lax.add(places, 1), 0), sizes[0])
    return count, out, first, choose(is_there, second, sizes[1])


def _of_both(ar1: Any, ar2: Any, assume_unique: bool) -> tuple[Any, Any, Any, Any]:
    """The different elements of both arrays in order, those that both have in two places.

    Returns:
        The elements; their places where the second array follows the first; whether they are
        there, as many are; and of all but the last, whether the next one is the same.
    """
    both = _in_a_row(ar1, ar2)
    dtype = default_int()
    count = typeof(both).size
    places = lax.iota(dtype, count)
    belongs = lax.convert_element_type(lax.ge(places, typeof(ar1).size), np.int32)
    x, belongs, order = lax.sort((both, belongs, places), num_keys=2)
    is_there = lax.full((count,), True)
    if not assume_unique:
        is_new = lax.bitwise_or(differs_from_last(x, True), differs_from_last(belongs, True))
        is_new = lax.bitwise_or(is_new, lax.eq(places, 0))
        behind = lax.convert_element_type(lax.bitwise_not(is_new), np.int32)
        _, x, order = lax.sort((behind, x, order))
        is_there = lax.lt(places, count_nonzero(is_new))
    last = max(count - 1, 0)
    is_same = lax.eq(lax.slice_in_dim(x, 0, last), lax.slice_in_dim(x, min(count, 1), count))
    return (
        x,
        order,
        is_there,
        lax.bitwise_and(is_same, lax.slice_in_dim(is_there, count - last, count)),
    )


def _at_places(x: Any, places: Any, fill_value: Any) -> Any:
    """The elements at places, and `fill_value` behind the end; the first of them if it is None."""
    count = typeof(x).size
    if not count:
        number = 0 if fill_value is None else fill_value
        return lax.full(typeof(places).shape, cast(number, typeof(x)), typeof(x).dtype)
    is_there = lax.lt(places, count)
    values = take_along(x, choose(is_there, places, 0), 0)
    fill = cast(0 if fill_value is None else fill_value, typeof(x))
    values = choose(is_there, values, fill)
    if fill_value is None and typeof(places).size:
        values = choose(is_there, values, lax.slice_in_dim(values, 0, 1))
    return values


# --8<-- [end:of_two]


def _of_one_dtype(*operands: Any) -> list[Any]:
    meeting = result_type(*map(typeof, operands))
    return [cast(x, meeting) for x in operands]


@operation
def _in_a_row(ar1: Any, ar2: Any) -> Any:
    return lax.concatenate([lax.reshape(x, (-1,)) for x in _of_one_dtype(ar1, ar2)], 0)


__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d"]
