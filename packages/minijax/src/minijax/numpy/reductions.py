"""Sums, means, extremes: functions that take axes away."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from minijax import lax
from minijax.numpy.dtypes import default_int, dtype_of_mean, dtype_of_sum
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes

Axes = int | Sequence[int] | None


@operation(static=("axis", "dtype", "keepdims"))
def sum(a: Any, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The sum over one axis, several, or (None) all of them.

    Arguments:
        a: the array. Integers are summed in 64 bits.
        axis: the axes to sum over.
        dtype: the dtype of the result, and of the summation.
        keepdims: whether the axes stay, with size 1.
    """
    a = lax.convert_element_type(a, dtype_of_sum(a) if dtype is None else dtype)
    return _reduce(lax.reduce_sum, a, _axes("sum", a, axis), keepdims)


@operation(static=("axis", "dtype", "keepdims"))
def mean(a: Any, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The mean over one axis, several, or (None) all of them; that of integers is a float."""
    a = lax.convert_element_type(a, dtype_of_mean(a) if dtype is None else dtype)
    axes = _axes("mean", a, axis)
    return lax.div(_reduce(lax.reduce_sum, a, axes, keepdims), _count(a, axes))


@operation(static=("axis", "dtype", "ddof", "keepdims"))
def var(
    a: Any, axis: Axes = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The mean squared distance from the mean, with the count lessened by `ddof`."""
    a = lax.convert_element_type(a, dtype_of_mean(a) if dtype is None else dtype)
    axes = _axes("var", a, axis)
    centred = lax.sub(a, mean(a, axes, keepdims=True))
    total = sum(lax.square(centred), axes, keepdims=keepdims)
    return lax.div(total, _count(a, axes) - ddof)


@operation(static=("axis", "dtype", "ddof", "keepdims"))
def std(
    a: Any, axis: Axes = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The standard deviation: the square root of `var`."""
    return lax.sqrt(var(a, axis, dtype, ddof=ddof, keepdims=keepdims))


@operation(static=("axis", "keepdims"))
def max(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """The largest element along the axes; NaN where there is one.

    Raises:
        ValueError: there are no elements.
    """
    axes = _axes("max", a, axis)
    _require_elements("max", a, axes)
    return _reduce(lax.reduce_max, a, axes, keepdims)


@operation(static=("axis", "keepdims"))
def min(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """The smallest element along the axes; NaN where there is one.

    Raises:
        ValueError: there are no elements.
    """
    axes = _axes("min", a, axis)
    _require_elements("min", a, axes)
    return _reduce(lax.reduce_min, a, axes, keepdims)


@operation(static=("axis", "keepdims"))
def all(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Whether all elements along the axes hold; numbers hold unless they are zero."""
    return _reduce(lax.reduce_and, lax.ne(a, 0), _axes("all", a, axis), keepdims)


@operation(static=("axis", "keepdims"))
def any(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Whether some element along the axes holds; numbers hold unless they are zero."""
    return _reduce(lax.reduce_or, lax.ne(a, 0), _axes("any", a, axis), keepdims)


@operation(static=("axis", "keepdims"))
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index of the first largest element along an axis; of all elements where it is None."""
    return _arg("argmax", lax.argmax, a, axis, keepdims)


@operation(static=("axis", "keepdims"))
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index of the first smallest element along an axis; of all elements where it is None."""
    return _arg("argmin", lax.argmin, a, axis, keepdims)


def _axes(name: str, a: Any, axis: Axes) -> tuple[int, ...]:
    """The axes of `a` that `axis` names, as numbers from 0."""
    return canonical_axes(name, axis, len(typeof(a).shape))


def _reduce(reduction: Callable[..., Any], a: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    out = reduction(a, axes)
    if not keepdims:
        return out
    shape = typeof(a).shape
    return lax.reshape(out, [1 if i in axes else size for i, size in enumerate(shape)])


def _arg(name: str, function: Callable[..., Any], a: Any, axis: int | None, keepdims: bool) -> Any:
    _require_elements(name, a, _axes(name, a, axis))
    flat = lax.reshape(a, (-1,)) if axis is None else a
    (along,) = canonical_axes(name, 0 if axis is None else axis, typeof(flat).ndim)
    out = function(flat, along, default_int())
    if not keepdims:
        return out
    return lax.expand_dims(out, range(typeof(a).ndim) if axis is None else (along,))


def _require_elements(name: str, a: Any, axes: tuple[int, ...]) -> None:
    shape = typeof(a).shape
    if 0 in [shape[i] for i in axes]:
        raise ValueError(f"{name}: an array of shape {shape} has no elements to choose from")


def _count(a: Any, axes: tuple[int, ...]) -> int:
    """How many elements make one element of the result."""
    shape = typeof(a).shape
    return math.prod([shape[i] for i in axes])
