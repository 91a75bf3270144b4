"""Reductions that ignore NaN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise import selection
from minijax.numpy.reductions import (
    all,
    argmax,
    argmin,
    max,
    mean,
    min,
    prod,
    require_boolean,
    std,
    sum,
    var,
)
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.public_names import set_all
from minijax_stage2 import typeof
from minijax_stage2.shaped_array import is_inexact

Axes = int | Sequence[int] | None


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

    >>> jnp.nansum(jnp.array([2.0, jnp.nan, 3.0]))
    Array(5., dtype=float32)
    """
    return sum(_filled(a, 0), axis, dtype, out, keepdims, initial, where)


@operation(static=("axis", "dtype", "keepdims"))
def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """`prod` ignoring NaN.

    >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array(6., dtype=float32)
    """
    return prod(_filled(a, 1), axis, dtype, out, keepdims, initial, where)


@operation(static=("axis", "keepdims"))
def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """`max` ignoring NaN; NaN if all are.

    >>> jnp.nanmax(jnp.array([1.0, jnp.nan, 3.0]))
    Array(3., dtype=float32)
    """
    return _nan_extreme(max, -np.inf, a, axis, out, keepdims, initial, where)


@operation(static=("axis", "keepdims"))
def nanmin(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """`min` ignoring NaN; NaN if all are.

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
    return selection.where(all(_is_nan(a), axis, keepdims=keepdims, where=where), otherwise, chosen)


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

    >>> jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2., dtype=float32)
    """
    if where is not None or not is_inexact(typeof(a).dtype):
        numbers = _taking_part("nanmean", a, where)
        return mean(_filled(a, 0), axis, dtype, out, keepdims, where=numbers)
    dtype = typeof(a).dtype if dtype is None else dtype
    count = sum(lax.eq(a, a), axis, dtype, out, keepdims)
    return lax.div(sum(_filled(a, 0), axis, dtype, out, keepdims), count)


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

    >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 5.0]))
    Array(4., dtype=float32)
    """
    numbers = _taking_part("nanvar", a, where)
    return var(_filled(a, 0), axis, dtype, out, ddof, keepdims, where=numbers, mean=mean)


@operation(static=("axis", "dtype", "ddof", "keepdims"))
def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """`std` ignoring NaN; NaN if at most `ddof` numbers remain.

    >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0]))
    Array(1., dtype=float32)
    """
    numbers = _taking_part("nanstd", a, where)
    return std(_filled(a, 0), axis, dtype, out, ddof, keepdims, where=numbers, mean=mean)


@operation(static=("axis", "keepdims"))
def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first largest element, ignoring NaN; -1 if all are NaN.

    >>> jnp.nanargmax(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2, dtype=int32)
    """
    return _nan_arg(argmax, -np.inf, a, axis, out, keepdims)


@operation(static=("axis", "keepdims"))
def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first smallest element, ignoring NaN; -1 if all are NaN.

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
    return selection.where(all(_is_nan(a), axis, keepdims=bool(keepdims)), -1, index)


def _is_nan(a: Any) -> Any:
    return lax.ne(a, a)


def _filled(a: Any, number: float) -> Any:
    """`a` with NaN replaced, because even an unused NaN would make derivatives NaN."""
    return selection.where(_is_nan(a), number, a) if is_inexact(typeof(a).dtype) else a


def _taking_part(name: str, a: Any, where: Any) -> Any:
    """Return the mask of the numbers to include; None means all."""
    require_boolean(name, where)
    if not is_inexact(typeof(a).dtype):
        return where
    return lax.eq(a, a) if where is None else lax.bitwise_and(lax.eq(a, a), where)


set_all(globals())
