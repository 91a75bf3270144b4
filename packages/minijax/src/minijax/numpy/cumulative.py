"""Sums and products of the elements up to each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise import selection
from minijax.numpy.dtypes import default_int, dtype_of_sum
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import require_no_out
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axis
from minijax_stage2.shaped_array import dialect


@operation(static=("axis", "dtype"))
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """The sums of the elements up to each element.

    Arguments:
        a: the array.
        axis: the axis; None: all elements, flattened.
        dtype: the dtype of the result, and of the summation.
        out: must be None.

    >>> jnp.cumsum(jnp.array([[1, 2], [3, 4]])), jnp.cumsum(jnp.array([[1, 2], [3, 4]]), axis=0)
    (Array([ 1,  3,  6, 10], dtype=int32), Array([[1, 2],
           [4, 6]], dtype=int32))
    """
    return _cumulative("cumsum", lax.cumsum, a, axis, dtype, out)


@operation(static=("axis", "dtype"))
def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """The products of the elements up to each element; the arguments are those of `cumsum`.

    >>> jnp.cumprod(jnp.array([1, 2, 3, 4]))
    Array([ 1,  2,  6, 24], dtype=int32)
    """
    return _cumulative("cumprod", lax.cumprod, a, axis, dtype, out)


@operation(static=("axis", "dtype"))
def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """`cumsum` with 0 for NaN.

    >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 5.], dtype=float32)
    """
    return cumsum(_without_nan(a, 0), axis, dtype, out)


@operation(static=("axis", "dtype"))
def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """`cumprod` with 1 for NaN.

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
        dtype: the dtype of the result; that of `sum` by default.
        include_initial: whether to put the empty sum, 0, first.

    Raises:
        ValueError: `x` is a scalar, or has several axes and `axis` is not given.

    >>> jnp.cumulative_sum(jnp.array([2, 3, 4]), include_initial=True)
    Array([0, 2, 5, 9], dtype=int32)
    """
    return _from_the_first("cumulative_sum", lax.cumsum, x, axis, dtype, include_initial, 0)


@operation(static=("axis", "dtype", "include_initial"))
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """The products of the elements up to each; the arguments are those of `cumulative_sum`.

    Integers keep their width.

    >>> jnp.cumulative_prod(jnp.array([2, 3, 4]), include_initial=True)
    Array([ 1,  2,  6, 24], dtype=int32)
    """
    return _from_the_first("cumulative_prod", lax.cumprod, x, axis, dtype, include_initial, 1)


def _cumulative(
    name: str, scan: Callable[..., Any], a: Any, axis: int | None, dtype: Any, out: None
) -> Any:
    require_no_out(name, out)
    if axis is None or typeof(a).ndim == 0:
        a = lax.reshape(a, (-1,))
        axis = 0 if axis is None else axis
    along = canonical_axis(name, axis, typeof(a).ndim)
    if dtype is None:
        of_a = typeof(a).dtype
        dtype = dtype_of_sum(a) if of_a == np.bool_ else of_a
    elif dialect().dtype_of(name, dtype) == np.bool_:
        return lax.ne(scan(lax.convert_element_type(a, default_int()), along), 0)
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
    out = _cumulative(name, scan, x, along, dtype, None)
    if not include_initial:
        return out
    shape = list(typeof(out).shape)
    shape[along] = 1
    return lax.concatenate([lax.full(shape, initial, typeof(out).dtype), out], along)


def _without_nan(a: Any, number: int) -> Any:
    return selection.where(lax.ne(a, a), number, a)


__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "nancumprod", "nancumsum"]
