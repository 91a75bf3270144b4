"""Sums, means and extremes along axes, with NaN or without, and cumulative ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import surely_at_least
from glassjax.dtypes import DTypeLike
from glassjax.numpy import cases
from glassjax.numpy.dtypes import computation_dtype, default_int, dtype_of_mean, dtype_of_sum
from glassjax.runtime.array import Array, ArrayLike, require_no_out
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axes, canonical_axis
from glassjax_stage2.shaped_array import dialect, has_type, is_inexact, python_scalars

# Reductions: sums, means, extremes.
#
# `where`, a mask that broadcasts to the array, selects the elements to include: all by default.
# `out` exists for compatibility with numpy and must be None: Arrays are immutable.


Axes = int | Sequence[int] | None


@operation(static=("axis", "dtype", "keepdims", "promote_integers"))
def sum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """The sum over one axis, several, or (None) all of them.

    Arguments:
        a: the array.
        axis: the axis or axes to reduce; None: all.
        dtype: the dtype of the result, and of the summation; None: the dtype of `a`, or the default
            int if `promote_integers`.
        out: must be None.
        keepdims: whether to keep the reduced axes, with size 1.
        initial: a number to start from.
        where: mask of the elements to include, which broadcasts to `a`; None: all.
        promote_integers: whether integers and booleans become the default int, signed or unsigned;
            otherwise integers keep their dtype.

    Raises:
        ValueError: there is no such axis, `where` is not boolean, or `initial` is not a scalar.
        NotImplementedError: `out` is given.

    >>> jnp.sum(jnp.array([[1, 2], [3, 4]])), jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=0)
    (Array(10, dtype=int32), Array([4, 6], dtype=int32))
    """
    dtype = _dtype_of_total(a, dtype, promote_integers)
    a = lax.convert_element_type(a, computation_dtype(dtype))
    add_up = _total
    if initial is not None:
        add_up = _starting_at(_initial("sum", initial, a), stage2.add, _total)
    total = _reduce_axes("sum", add_up, a, axis, out, keepdims, where, 0)
    return lax.convert_element_type(total, dtype)


@operation(static=("axis", "dtype", "keepdims", "promote_integers"))
def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """The product over one axis, several, or (None) all of them.

    Arguments:
        a: the array.
        axis: as in `sum`.
        dtype: the dtype of the result, and of the product; None: as for `sum`.
        out, keepdims, initial, where, promote_integers: as in `sum`.

    Raises:
        ValueError, NotImplementedError: as in `sum`.

    >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=1)
    Array([ 2, 12], dtype=int32)
    """
    dtype = _dtype_of_total(a, dtype, promote_integers)
    a = lax.convert_element_type(a, computation_dtype(dtype))
    multiply = lax.reduce_and if typeof(a).dtype == np.bool_ else lax.reduce_prod
    if initial is not None:
        multiply = _starting_at(_initial("prod", initial, a), stage2.mul, multiply)
    total = _reduce_axes("prod", multiply, a, axis, out, keepdims, where, 1)
    return lax.convert_element_type(total, dtype)


def _dtype_of_total(a: Any, dtype: Any, promote_integers: bool) -> Any:
    if dtype is not None:
        return dtype
    if promote_integers:
        return dtype_of_sum(a)
    return np.int32 if typeof(a).dtype == np.bool_ else typeof(a).dtype


@operation(static=("axis", "dtype", "keepdims"))
def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """The mean over one axis, several, or (None) all of them; integers have a float as their mean.

    Arguments:
        a: the array.
        axis: as in `sum`.
        dtype: the dtype of the result, and of the summation; None: the dtype of `a`, or the default
            float for integers.
        out, keepdims, where: as in `sum`.

    Raises:
        ValueError: there is no such axis, or `where` is not boolean.
        NotImplementedError: `out` is given.

    >>> jnp.mean(jnp.array([[1.0, 2.0], [3.0, 6.0]]), axis=0), jnp.mean(jnp.array([1, 2]))
    (Array([2., 4.], dtype=float32), Array(1.5, dtype=float32))
    """
    dtype = dtype_of_mean(a) if dtype is None else dtype
    a = lax.convert_element_type(a, computation_dtype(dtype))
    total = _reduce_axes("mean", _total, a, axis, out, keepdims, where, 0)
    count = _element_count("mean", a, axis, keepdims, where)
    return lax.convert_element_type(_quotient(total, count), dtype)


@evaluated_by_library
def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """The variance: the mean squared distance from the mean, with `ddof` subtracted from the count.

    It is NaN if the count is not larger than `ddof`. For complex numbers it is real, unless `dtype`
    is given.

    Arguments:
        a: the array.
        axis: as in `sum`.
        dtype: the dtype of the computation and the result, complex if `a` is; None: the dtype of
            `a`, or the default float for integers.
        out: must be None.
        ddof: the number to subtract from the count.
        keepdims, where: as in `sum`.
        mean: the mean, if it is known, with the axes kept.
        correction: another name for `ddof`.

    Raises:
        ValueError: `dtype` is real for a complex `a`, or `ddof` and `correction` are both given.

    >>> jnp.var(jnp.array([1.0, 5.0])), jnp.var(jnp.array([1.0, 5.0]), ddof=1)
    (Array(4., dtype=float32), Array(8., dtype=float32))
    """
    ddof = _subtracted_count("var", ddof, correction)
    return _var(a, axis, dtype, out, ddof, keepdims, where, mean)


def _subtracted_count(name: str, ddof: float, correction: float | None) -> float:
    for argument, number in ("ddof", ddof), ("correction", correction):
        if number is not None and not (has_type(number) and typeof(number).dtype.kind in "biuf"):
            raise TypeError(
                f"{name}: {argument} must be a number, found {shown(number)} of type "
                f"{type(number).__name__}"
            )
    if correction is None:
        return ddof
    if isinstance(ddof, int | float) and ddof == 0:
        return correction
    raise ValueError(f"{name}: found ddof {ddof} and correction {correction}; they are the same")


@operation(static=("axis", "dtype", "keepdims"))
def _var(
    a: Any, axis: Axes, dtype: Any, out: None, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Any:
    require_boolean("var", where)
    result_dtype, dtype = (
        dtype,
        dtype_of_mean(a) if dtype is None else dialect().dtype_of("var", dtype),
    )
    if typeof(a).dtype.kind == "c" and dtype.kind != "c":
        raise ValueError(f"var: the array is complex, {typeof(a)}, but dtype is {dtype}")
    a = lax.convert_element_type(a, computation_dtype(dtype))
    if mean is None:
        mean = _mean(a, axis, keepdims=True, where=where)
    centred = a - lax.convert_element_type(mean, typeof(a).dtype)
    if dtype.kind == "c":
        squares = lax.square(lax.real(centred)) + lax.square(lax.imag(centred))
        dtype = typeof(squares).dtype
    else:
        squares = lax.square(centred)
    dtype = dtype if result_dtype is None else result_dtype
    count = _element_count("var", squares, axis, keepdims, where)
    divisor = count - lax.convert_element_type(ddof, typeof(squares).dtype)
    total = _reduce_axes("var", _total, squares, axis, out, keepdims, where, 0)
    # a mask may leave too few elements, and its derivative does not divide by 0 either
    result = _quotient(total, divisor if where is None else cases.where(divisor > 0, divisor, 1))
    return lax.convert_element_type(cases.where(divisor > 0, result, np.nan), dtype)


_mean = mean  # a name that the parameter `mean` does not shadow


@evaluated_by_library
def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """The standard deviation: the square root of the variance.

    Arguments:
        a: the array.
        axis: as in `sum`.
        dtype, out, ddof: as in `var`.
        keepdims, where: as in `sum`.
        mean, correction: as in `var`.

    Raises:
        ValueError: `dtype` is an integer dtype, or real for a complex `a`; `ddof` and `correction`
            are both given.

    >>> jnp.std(jnp.array([1.0, 3.0])), f"{jnp.std(jnp.array([1.0, 3.0]), ddof=1):.3f}"
    (Array(1., dtype=float32), '1.414')
    """
    if dtype is not None and not is_inexact(dialect().dtype_of("std", dtype)):
        raise ValueError(f"std: dtype must be one of real or complex numbers, found {dtype}")
    ddof = _subtracted_count("std", ddof, correction)
    return _std(a, axis, dtype, out, ddof, keepdims, where, mean)


@operation(static=("axis", "dtype", "keepdims"))
def _std(
    a: Any, axis: Axes, dtype: Any, out: None, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Any:
    return lax.sqrt(_var(a, axis, dtype, out, ddof, keepdims, where, mean))


@operation(static=("axis", "keepdims"))
def max(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element along the axes, or `initial` if that is larger; NaN if there is any.

    Arguments:
        a: the array.
        axis, out, keepdims: as in `sum`.
        initial: a number that takes part in the comparison; required if there may be no elements.
        where: mask of the elements to include, which broadcasts to `a`; it requires `initial`.

    Raises:
        ValueError: there are no elements, or `where` might leave none, and no `initial`.

    >>> jnp.max(jnp.array([[1, 9], [8, 2]]), axis=0), jnp.max(jnp.array([1.0, jnp.nan]))
    (Array([8, 9], dtype=int32), Array(nan, dtype=float32))
    """
    return _extreme("max", lax.reduce_max, lax.max, a, axis, out, keepdims, initial, where)


@operation(like=max)
def min(a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """The smallest element along the axes, or `initial` if that is smaller; NaN if there is any.

    Arguments:
        a: the array.
        axis, out, keepdims: as in `sum`.
        initial, where: as in `max`.

    Raises:
        ValueError: there are no elements, or `where` might leave none, and no `initial`.

    >>> jnp.min(jnp.array([[1, 9], [8, 2]]), axis=0), jnp.min(jnp.array([3, 4]), initial=0)
    (Array([1, 2], dtype=int32), Array(0, dtype=int32))
    """
    return _extreme("min", lax.reduce_min, lax.min, a, axis, out, keepdims, initial, where)


amax = max
amin = min


@operation(static=("axis", "keepdims"))
def ptp(a: ArrayLike, axis: Axes = None, out: None = None, keepdims: bool = False) -> Array:
    """The distance of the largest element from the smallest.

    Arguments:
        a: the array.
        axis, out, keepdims: as in `sum`.

    Raises:
        ValueError: there are no elements.

    >>> jnp.ptp(jnp.array([3, 9, 4]))
    Array(6, dtype=int32)
    """
    largest = _extreme("ptp", lax.reduce_max, lax.max, a, axis, out, keepdims, None, None)
    smallest = _extreme("ptp", lax.reduce_min, lax.min, a, axis, out, keepdims, None, None)
    return largest - smallest


@operation(static=("axis", "keepdims"))
def count_nonzero(a: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Array:
    """Count the elements along the axes that are not zero.

    Arguments:
        a: the array.
        axis, keepdims: as in `sum`.

    >>> jnp.count_nonzero(jnp.array([[0, 7], [3, 5]]), axis=1)
    Array([1, 2], dtype=int32)
    """
    counts = lax.convert_element_type(stage2.ne(a, np.zeros((), typeof(a).dtype)[()]), np.int32)
    return sum(counts, axis, default_int(), keepdims=keepdims)


@operation(static=("axis", "keepdims"))
def all(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Test if all elements along the axes are true; numbers are true unless they are zero.

    Arguments:
        a: the array.
        axis, out, keepdims, where: as in `sum`.

    >>> jnp.all(jnp.array([[True, True], [True, False]]), axis=1)
    Array([ True, False], dtype=bool)
    """
    return _reduce_axes("all", lax.reduce_and, _holds(a), axis, out, keepdims, where, True)


@operation(like=all)
def any(a: Any, axis: Any, out: Any, keepdims: Any, *, where: Any) -> Any:
    """Test if any element along the axes is true; numbers are true unless they are zero.

    Arguments:
        a: the array.
        axis, out, keepdims, where: as in `sum`.

    >>> jnp.any(jnp.array([[False, True], [False, False]]), axis=1)
    Array([ True, False], dtype=bool)
    """
    return _reduce_axes("any", lax.reduce_or, _holds(a), axis, out, keepdims, where, False)


def _holds(a: Any) -> Any:
    """Return the mask of nonzero elements; booleans are returned unchanged to compile faster."""
    return a if typeof(a).dtype == np.bool_ else stage2.ne(a, 0)


def _reduce_axes(
    name: str,
    reduction: Callable[..., Any],
    a: Any,
    axis: Axes,
    out: None,
    keepdims: bool,
    where: Any,
    neutral: Any,
) -> Any:
    """`reduction` of `a` along the axes, with `neutral` for excluded elements."""
    require_no_out(name, out)
    require_boolean(name, where)
    if where is not None:
        a = cases.where(where, a, neutral)
    axes = canonical_axes(name, axis, typeof(a).ndim)
    result = reduction(a, axes)
    return lax.expand_dims(result, axes) if keepdims else result


def _total(a: Any, axes: Any) -> Any:
    """The sum over axes; booleans are counted."""
    return lax.reduce_sum(stage2.astype(a, int) if typeof(a).dtype == np.bool_ else a, axes)


def _quotient(total: Any, count: Any) -> Any:
    """The quotient; integers, if the total and the count are integers."""
    return lax.div(*stage2.promote(total, count))


def require_boolean(name: str, where: Any) -> None:
    """Raise ValueError if `where` is given and is not boolean."""
    if where is not None and typeof(where).dtype != np.bool_:
        raise ValueError(f"{name}: where must be boolean, found {typeof(where)}")


def _extreme(
    name: str,
    reduction: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    a: Any,
    axis: Axes,
    out: None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    if initial is None:
        require_elements(name, a, axis)
        if where is not None:
            raise ValueError(f"{name}: where may leave no elements to choose from; give initial")
        chosen = _reduce_axes(name, reduction, a, axis, out, keepdims, None, None)
        return lax.convert_element_type(chosen, typeof(a).dtype)
    initial = _initial(name, initial, a)
    reduction = _starting_at(initial, combine, reduction)
    return _reduce_axes(name, reduction, a, axis, out, keepdims, where, initial)


def _starting_at(
    initial: Any, combine: Callable[[Any, Any], Any], reduction: Callable[..., Any]
) -> Callable[..., Any]:
    """`reduction`, whose results are combined with an initial number."""
    return lambda a, axes: combine(initial, reduction(a, axes))


def _initial(name: str, initial: Any, a: Any) -> Any:
    if typeof(initial).shape:
        raise ValueError(f"{name}: initial must be a scalar, found {typeof(initial)}")
    if isinstance(initial, python_scalars):
        return dialect().scalar(initial, typeof(a).dtype)
    return lax.convert_element_type(initial, typeof(a).dtype)


def require_elements(name: str, a: Any, axis: Axes) -> None:
    """Raise ValueError if the axes are empty."""
    shape = typeof(a).shape
    if 0 in [shape[i] for i in canonical_axes(name, axis, len(shape))]:
        raise ValueError(f"{name}: an array of shape {shape} has no elements to choose from")


def _element_count(name: str, a: Any, axis: Axes, keepdims: bool, where: Any) -> Any:
    """Return the number of elements reduced to each element of the result."""
    shape = typeof(a).shape
    if where is None:
        count = math.prod(shape[i] for i in canonical_axes(name, axis, len(shape)))
        # a larger int would need 64 bits
        return float(count) if surely_at_least(count, 2**31) else count
    ones = cases.where(where, lax.full(shape, 1, typeof(a).dtype), 0)
    return _reduce_axes(name, lax.reduce_sum, ones, axis, None, keepdims, None, 0)


@operation(static=("axis", "keepdims"))
def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first largest element along an axis; of all elements if it is None.

    Arguments:
        a: the array.
        axis: the axis to search; None: all elements, flattened.
        out: must be None.
        keepdims: whether to keep the axis, or all axes if `axis` is None, with size 1.

    Raises:
        ValueError: there are no elements.

    >>> jnp.argmax(jnp.array([1, 5, 2])), jnp.argmax(jnp.array([[1, 9], [8, 2]]), axis=1)
    (Array(1, dtype=int32), Array([1, 0], dtype=int32))
    """
    return _arg("argmax", lax.argmax, a, axis, out, bool(keepdims))


@operation(like=argmax)
def argmin(a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    """The index of the first smallest element along an axis; of all elements if it is None.

    Arguments:
        a: the array.
        axis, out, keepdims: as in `argmax`.

    Raises:
        ValueError: there are no elements.

    >>> jnp.argmin(jnp.array([4, 1, 2])), jnp.argmin(jnp.array([[1, 9], [8, 2]]), axis=1)
    (Array(1, dtype=int32), Array([0, 1], dtype=int32))
    """
    return _arg("argmin", lax.argmin, a, axis, out, bool(keepdims))


def _arg(
    name: str, function: Callable[..., Any], a: Any, axis: int | None, out: None, keepdims: bool
) -> Any:
    require_no_out(name, out)
    flat = stage2.reshape(a, (-1,)) if axis is None else a
    along = canonical_axis(name, 0 if axis is None else axis, typeof(flat).ndim)
    require_elements(name, flat, along)
    index = function(flat, along, default_int())
    if not keepdims:
        return index
    return lax.expand_dims(index, range(typeof(a).ndim) if axis is None else (along,))


@operation(static=("axis", "keepdims"))
def minmax(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """The smallest and the largest element along the axes, as `min` and `max` give them.

    Arguments:
        a: the array.
        axis, out, keepdims: as in `sum`.
        initial: as for `min` and `max`: a number for both, or a pair of one for each.
        where: as in `max`.

    Raises:
        ValueError: there are no elements, or `where` might leave none, and no `initial`.

    >>> jnp.minmax(jnp.array([3, 1, 2]))
    (Array(1, dtype=int32), Array(3, dtype=int32))
    """
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    return min(a, axis, out, keepdims, low, where), max(a, axis, out, keepdims, high, where)


# Reductions that ignore NaN.


@operation(static=("axis", "dtype", "keepdims"))
def nansum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """`sum` ignoring NaN.

    Arguments:
        a: the array.
        axis, dtype, out, keepdims, initial, where: as in `sum`.

    >>> jnp.nansum(jnp.array([2.0, jnp.nan, 3.0]))
    Array(5., dtype=float32)
    """
    return sum(_filled(a, 0), axis, dtype, out, keepdims, initial, where)


@operation(like=nansum)
def nanprod(
    a: Any, axis: Any, dtype: Any, out: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    """`prod` ignoring NaN.

    Arguments:
        a: the array.
        axis, dtype, out, keepdims, initial, where: as in `prod`.

    >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array(6., dtype=float32)
    """
    return prod(_filled(a, 1), axis, dtype, out, keepdims, initial, where)


@operation(like=max)
def nanmax(a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """`max` ignoring NaN; NaN if all are.

    Arguments:
        a: the array.
        axis, out, keepdims, initial, where: as in `max`.

    Raises:
        ValueError: as in `max`.

    >>> jnp.nanmax(jnp.array([1.0, jnp.nan, 3.0]))
    Array(3., dtype=float32)
    """
    return _nan_extreme(max, -np.inf, a, axis, out, keepdims, initial, where)


@operation(like=max)
def nanmin(a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """`min` ignoring NaN; NaN if all are.

    Arguments:
        a: the array.
        axis, out, keepdims, initial, where: as in `max`.

    Raises:
        ValueError: as in `max`.

    >>> jnp.nanmin(jnp.array([jnp.nan, 2.0, 1.0]))
    Array(1., dtype=float32)
    """
    return _nan_extreme(min, np.inf, a, axis, out, keepdims, initial, where)


def _nan_extreme(
    extreme: Callable[..., Any],
    never: float,
    a: Any,
    axis: Axes,
    out: None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    if not is_inexact(typeof(a).dtype):
        return extreme(a, axis, out, keepdims, initial, where)
    chosen = extreme(_filled(a, never), axis, out, keepdims, initial, where)
    otherwise = np.nan if initial is None else lax.convert_element_type(initial, typeof(a).dtype)
    return cases.where(all(_is_nan(a), axis, keepdims=keepdims, where=where), otherwise, chosen)


@operation(static=("axis", "dtype", "keepdims"))
def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """`mean` ignoring NaN; NaN if all are.

    Arguments:
        a: the array.
        axis, dtype, out, keepdims, where: as in `mean`.

    >>> jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2., dtype=float32)
    """
    if where is not None or not is_inexact(typeof(a).dtype):
        numbers = _taking_part("nanmean", a, where)
        return mean(_filled(a, 0), axis, dtype, out, keepdims, where=numbers)
    dtype = typeof(a).dtype if dtype is None else dtype
    count = sum(lax.eq(a, a), axis, dtype, out, keepdims)
    return _quotient(sum(_filled(a, 0), axis, dtype, out, keepdims), count)


@operation(static=("axis", "dtype", "ddof", "keepdims"))
def nanvar(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """`var` ignoring NaN; NaN if at most `ddof` numbers remain.

    Arguments:
        a: the array.
        axis, dtype, out, ddof, keepdims, where, mean: as in `var`.

    Raises:
        ValueError: `dtype` is real for a complex `a`.

    >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 5.0]))
    Array(4., dtype=float32)
    """
    numbers = _taking_part("nanvar", a, where)
    return var(_filled(a, 0), axis, dtype, out, ddof, keepdims, where=numbers, mean=mean)


@operation(like=nanvar)
def nanstd(
    a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any, mean: Any
) -> Any:
    """`std` ignoring NaN; NaN if at most `ddof` numbers remain.

    Arguments:
        a: the array.
        axis, dtype, out, ddof, keepdims, where, mean: as in `var`.

    Raises:
        ValueError: `dtype` is an integer dtype, or real for a complex `a`.

    >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0]))
    Array(1., dtype=float32)
    """
    numbers = _taking_part("nanstd", a, where)
    return std(_filled(a, 0), axis, dtype, out, ddof, keepdims, where=numbers, mean=mean)


@operation(like=argmax)
def nanargmax(a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    """The index of the first largest element, ignoring NaN; -1 if all are NaN.

    Arguments:
        a: the array.
        axis, out, keepdims: as in `argmax`.

    Raises:
        ValueError: there are no elements.

    >>> jnp.nanargmax(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2, dtype=int32)
    """
    return _nan_arg(argmax, -np.inf, a, axis, out, keepdims)


@operation(like=argmax)
def nanargmin(a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    """The index of the first smallest element, ignoring NaN; -1 if all are NaN.

    Arguments:
        a: the array.
        axis, out, keepdims: as in `argmax`.

    Raises:
        ValueError: there are no elements.

    >>> jnp.nanargmin(jnp.array([jnp.nan, 2.0, 1.0]))
    Array(2, dtype=int32)
    """
    return _nan_arg(argmin, np.inf, a, axis, out, keepdims)


def _nan_arg(
    arg: Callable[..., Any],
    never: float,
    a: Any,
    axis: int | None,
    out: None,
    keepdims: bool | None,
) -> Any:
    index = arg(_filled(a, never), axis, out, keepdims)
    if not is_inexact(typeof(a).dtype):
        return index
    return cases.where(all(_is_nan(a), axis, keepdims=bool(keepdims)), -1, index)


def _is_nan(a: Any) -> Any:
    return lax.ne(a, a)


def _filled(a: Any, number: float) -> Any:
    """`a` with NaN replaced, because even an unused NaN would make derivatives NaN."""
    return cases.where(_is_nan(a), number, a) if is_inexact(typeof(a).dtype) else a


def _taking_part(name: str, a: Any, where: Any) -> Any:
    """Return the mask of the numbers to include; None means all."""
    require_boolean(name, where)
    if not is_inexact(typeof(a).dtype):
        return where
    number = lax.eq(a, a)
    return number if where is None else number & where


# Sums and products of the elements up to each element.


@operation(static=("axis", "dtype"))
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """The sums of the elements up to each element.

    Arguments:
        a: the array.
        axis: the axis; None: all elements, flattened.
        dtype: the dtype of the result, and of the summation; None: the dtype of `a`, or the default
            int for booleans.
        out: must be None.

    >>> jnp.cumsum(jnp.array([[1, 2], [3, 4]])), jnp.cumsum(jnp.array([[1, 2], [3, 4]]), axis=0)
    (Array([ 1,  3,  6, 10], dtype=int32), Array([[1, 2],
           [4, 6]], dtype=int32))
    """
    return _cumulate("cumsum", lax.cumsum, a, axis, dtype, out)


@operation(like=cumsum)
def cumprod(a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """The products of the elements up to each element.

    Arguments:
        a: the array.
        axis, dtype, out: as in `cumsum`.

    >>> jnp.cumprod(jnp.array([1, 2, 3, 4]))
    Array([ 1,  2,  6, 24], dtype=int32)
    """
    return _cumulate("cumprod", lax.cumprod, a, axis, dtype, out)


@operation(like=cumsum)
def nancumsum(a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """`cumsum` with 0 for NaN.

    Arguments:
        a: the array.
        axis, dtype, out: as in `cumsum`.

    >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 5.], dtype=float32)
    """
    return cumsum(_without_nan(a, 0), axis, dtype, out)


@operation(like=cumsum)
def nancumprod(a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """`cumprod` with 1 for NaN.

    Arguments:
        a: the array.
        axis, dtype, out: as in `cumsum`.

    >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 6.], dtype=float32)
    """
    return cumprod(_without_nan(a, 1), axis, dtype, out)


@operation(static=("axis", "dtype", "include_initial"))
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """The sums of the elements up to each element.

    Arguments:
        x: the array.
        axis: the axis, required if there are several.
        dtype: the dtype of the result; None: the dtype of `sum`.
        include_initial: whether to put the empty sum, 0, first.

    Raises:
        ValueError: `x` is a scalar, or has several axes and `axis` is not given.

    >>> jnp.cumulative_sum(jnp.array([2, 3, 4]), include_initial=True)
    Array([0, 2, 5, 9], dtype=int32)
    """
    return _from_the_first("cumulative_sum", lax.cumsum, x, axis, dtype, include_initial, 0)


@operation(like=cumulative_sum)
def cumulative_prod(x: Any, /, *, axis: Any, dtype: Any, include_initial: Any) -> Any:
    """The products of the elements up to each element.

    Arguments:
        x: the array.
        axis: as in `cumulative_sum`.
        dtype: the dtype of the result; None: the dtype of `x`, or the default int for booleans.
        include_initial: whether to put the empty product, 1, first.

    Raises:
        ValueError: as in `cumulative_sum`.

    >>> jnp.cumulative_prod(jnp.array([2, 3, 4]), include_initial=True)
    Array([ 1,  2,  6, 24], dtype=int32)
    """
    return _from_the_first("cumulative_prod", lax.cumprod, x, axis, dtype, include_initial, 1)


def _cumulate(
    name: str, scan: Callable[..., Any], a: Any, axis: int | None, dtype: Any, out: None
) -> Any:
    require_no_out(name, out)
    if axis is None or typeof(a).ndim == 0:
        a = stage2.reshape(a, (-1,))
        axis = 0 if axis is None else axis
    along = canonical_axis(name, axis, typeof(a).ndim)
    if dtype is None:
        a_dtype = typeof(a).dtype
        dtype = dtype_of_sum(a) if a_dtype == np.bool_ else a_dtype
    elif dialect().dtype_of(name, dtype) == np.bool_:
        # Sums and products are taken of integers, and then are true if not zero.
        return scan(lax.convert_element_type(a, default_int()), along) != 0
    return scan(lax.convert_element_type(a, dtype), along)


def _from_the_first(
    name: str,
    scan: Callable[..., Any],
    x: Any,
    axis: int | None,
    dtype: Any,
    include_initial: bool,
    initial: int,
) -> Any:
    ndim = typeof(x).ndim
    if ndim == 0 or (axis is None and ndim > 1):
        raise ValueError(
            f"{name}: {typeof(x)} takes an axis to go along, as the argument axis"
            if ndim
            else f"{name}: a scalar has no axis to go along"
        )
    along = canonical_axis(name, 0 if axis is None else axis, ndim)
    if dtype is None and scan is lax.cumsum:
        dtype = dtype_of_sum(x)
    out = _cumulate(name, scan, x, along, dtype, None)
    if not include_initial:
        return out
    shape = list(typeof(out).shape)
    shape[along] = 1
    return lax.concatenate([lax.full(shape, initial, typeof(out).dtype), out], along)


def _without_nan(a: Any, number: int) -> Any:
    return cases.where(lax.ne(a, a), number, a)
