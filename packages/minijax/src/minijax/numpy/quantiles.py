"""Quantiles, percentiles and medians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.sorting import take_along
from minijax.numpy.dtypes import dtype_of_mean
from minijax.numpy.reductions import any, sum
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes
from minijax_stage2.promotion import broadcast_to

Axes = int | Sequence[int] | None


METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


@operation(static=("axis", "overwrite_input", "method", "keepdims"))
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The `q`-quantiles of the elements.

    Arguments:
        a: the array, real or of integers.
        q: a number from 0 to 1, or an array of them, whose axes come first in the result.
        axis: the axes; all if None.
        out: must be None.
        overwrite_input: must be False: Arrays are immutable.
        method: the interpolation between two elements: "linear", "lower", "higher", "midpoint" or
            "nearest"; or "inverted_cdf", the inverse of the empirical distribution function.
        keepdims: whether to keep the axes, with size 1.
        weights: how often each element counts, for the method "inverted_cdf": an array of the
            shape of `a`, or of that of the axes. One that is negative or NaN makes the result NaN.

    Raises:
        ValueError: `method` is not known, `q` has more than one axis, `a` or `weights` are complex,
            `weights` have another shape, or `overwrite_input` is given.
        NotImplementedError: `weights` are given with another method.

    >>> jnp.quantile(jnp.array([0.0, 4.0, 8.0]), jnp.array([0.25, 0.5]))
    Array([2., 4.], dtype=float32)
    """
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights, False)


@operation(static=("axis", "overwrite_input", "method", "keepdims"))
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """`quantile` ignoring NaN; NaN if all are.

    >>> jnp.nanquantile(jnp.array([0.0, jnp.nan, 4.0]), 0.25)
    Array(1., dtype=float32)
    """
    return _quantile(
        "nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights, True
    )


@operation(static=("axis", "overwrite_input", "method", "keepdims", "out_sharding"))
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """`quantile` with `q` from 0 to 100; `out_sharding` says how the result is divided.

    >>> jnp.percentile(jnp.array([0.0, 4.0, 8.0]), jnp.array([25, 50]))
    Array([2., 4.], dtype=float32)
    """
    q = lax.div(lax.convert_element_type(q, dtype_of_mean(q)), 100)
    return _quantile(
        "percentile", a, q, axis, out, overwrite_input, method, keepdims, weights, False
    )


@operation(static=("axis", "overwrite_input", "method", "keepdims"))
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """`nanquantile` with `q` from 0 to 100.

    >>> jnp.nanpercentile(jnp.array([0.0, jnp.nan, 4.0]), 25)
    Array(1., dtype=float32)
    """
    q = lax.div(lax.convert_element_type(q, dtype_of_mean(q)), 100)
    return _quantile(
        "nanpercentile", a, q, axis, out, overwrite_input, method, keepdims, weights, True
    )


@operation(static=("axis", "overwrite_input", "keepdims"))
def median(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """The median; the arguments are those of `quantile`.

    >>> jnp.median(jnp.array([[1.0, 9.0, 2.0], [4.0, 6.0, 5.0]]), axis=1)
    Array([2., 5.], dtype=float32)
    """
    return _quantile(
        "median", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, None, False
    )


@operation(static=("axis", "overwrite_input", "keepdims"))
def nanmedian(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """`median` ignoring NaN; NaN if all are.

    >>> jnp.nanmedian(jnp.array([1.0, jnp.nan, 3.0, 9.0]))
    Array(3., dtype=float32)
    """
    return _quantile(
        "nanmedian", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, None, True
    )


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: Axes,
    out: None,
    overwrite_input: bool,
    method: str,
    keepdims: bool,
    weights: Any,
    passes_over_nan: bool,
) -> Any:
    if overwrite_input or out is not None:
        raise ValueError(
            f"{name}: out must be None and overwrite_input False: an Array is never written to"
        )
    if method not in METHODS:
        raise ValueError(f"{name}: method must be one of {METHODS}, found {method!r}")
    if typeof(a).dtype.kind == "c":
        raise ValueError(f"{name}: complex numbers have no order, found {typeof(a)}")
    if typeof(q).ndim > 1:
        raise ValueError(f"{name}: q must be a number or have one axis, found {typeof(q)}")
    shape = typeof(a).shape
    axes = canonical_axes(name, axis, len(shape))
    if weights is not None:
        a, weights = promote(a, _of_each_element(name, weights, shape, axes, method))
    dtype = dtype_of_mean(a)
    a = lax.convert_element_type(a, dtype)
    kept = [i for i in range(len(shape)) if i not in axes]
    rest, size = tuple(shape[i] for i in kept), math.prod(shape[i] for i in axes)

    def in_rows(x: Any) -> Any:
        return lax.reshape(lax.transpose(x, (*kept, *axes)), (*rest, size))

    a = in_rows(a)
    weights = None if weights is None else lax.convert_element_type(in_rows(weights), dtype)
    q_shape = typeof(q).shape
    if not size and not passes_over_nan and 0 not in q_shape:
        raise ValueError(f"{name}: an array of shape {shape} has no elements to choose from")
    if not size:  # of no elements nothing but NaN is left, as of one that is NaN
        a, size = lax.full((*rest, 1), np.nan, typeof(a).dtype), 1
        weights = None if weights is None else lax.full((*rest, 1), 0, dtype)
    sizes = tuple(
        1 if i in axes else shape[i] for i in range(len(shape)) if keepdims or i not in axes
    )
    if 0 in (*rest, *q_shape):
        return lax.full((*q_shape, *sizes), 0, dtype)
    # Places among many elements take more digits than narrow floats have, so the shares say.
    of_places = dtype_of_mean(q)
    shares = lax.convert_element_type(lax.reshape(q, (-1,)), of_places)
    along = len(rest)
    if weights is not None:
        picked = _weighted(a, weights, shares, along, passes_over_nan)
        out_first = lax.transpose(picked, (along, *range(along)))
        return lax.reshape(out_first, (*q_shape, *sizes))
    if passes_over_nan:
        ordered = lax.sort(a, along)
        count = sum(lax.eq(a, a), along, of_places, keepdims=True)
    else:  # one NaN makes the result NaN
        ordered = lax.sort(where(any(lax.ne(a, a), along, keepdims=True), np.nan, a), along)
        count = lax.full((*rest, 1), size, of_places)
    wide = (*rest, typeof(shares).shape[0])
    shares = lax.broadcast_in_dim(shares, wide, (along,))
    last = broadcast_to(lax.sub(count, 1), wide)
    if method == "inverted_cdf":  # of how many elements at least so many are no greater
        place = lax.max(lax.sub(lax.ceil(lax.mul(shares, lax.add(last, 1))), 1), 0)
    else:
        place = lax.mul(shares, last)
    picked = _between(ordered, place, last, along, method)
    if passes_over_nan:
        picked = where(broadcast_to(lax.eq(count, 0), wide), np.nan, picked)
    out_first = lax.transpose(picked, (along, *range(along)))
    return lax.reshape(out_first, (*q_shape, *sizes))


def _of_each_element(
    name: str, weights: Any, shape: Sequence[int], axes: Sequence[int], method: str
) -> Any:
    """Weights in the shape of the elements.

    Raises:
        ValueError, NotImplementedError: as `quantile` says.
    """
    aval = typeof(weights)
    if aval.dtype.kind == "c":
        raise ValueError(f"{name}: weights must be real, found {aval}")
    if method != "inverted_cdf":
        raise NotImplementedError(
            f"{name}: weights need the method 'inverted_cdf', found {method!r}"
        )
    if aval.shape == tuple(shape):
        return weights
    if aval.shape != tuple(shape[i] for i in axes) or len(axes) == len(shape):
        raise ValueError(
            f"{name}: weights must have the shape of the array, {tuple(shape)}, or that of its "
            f"axes {tuple(axes)}, found {aval}"
        )
    return lax.broadcast_in_dim(weights, tuple(shape), tuple(axes))


def _weighted(a: Any, weights: Any, shares: Any, along: int, passes_over_nan: bool) -> Any:
    """The first elements, in order, at which shares of the sum of all weights are reached."""
    ordered, weights = lax.sort_key_val(where(lax.ne(a, a), np.nan, a), weights, along)
    is_nan = lax.ne(ordered, ordered)
    bad = lax.bitwise_or(lax.lt(weights, 0), lax.ne(weights, weights))
    reached = lax.cumsum(where(lax.bitwise_or(bad, is_nan), 0, weights), along)
    size = typeof(a).shape[along]
    total = lax.slice_in_dim(reached, size - 1, size, axis=along)
    targets = lax.mul(total, lax.convert_element_type(shares, typeof(a).dtype))
    below = lax.lt(lax.expand_dims(reached, [along + 1]), lax.expand_dims(targets, [along]))
    count = sum(lax.eq(ordered, ordered), along, np.int32, keepdims=True)
    last = lax.max(lax.sub(count, 1), 0) if passes_over_nan else size - 1
    picked = take_along(ordered, lax.min(sum(below, along, np.int32), last), along)
    hopeless = lax.eq(count, 0) if passes_over_nan else lax.lt(count, size)
    hopeless = lax.bitwise_or(hopeless, any(bad, along, keepdims=True))
    return where(broadcast_to(hopeless, typeof(picked).shape), np.nan, picked)


def _between(ordered: Any, place: Any, last: Any, along: int, method: str) -> Any:
    """Interpolate at positions that may be between two elements."""
    below = lax.max(lax.min(lax.floor(place), last), 0)
    above = lax.max(lax.min(lax.ceil(place), last), 0)

    def at(index: Any) -> Any:
        return take_along(ordered, lax.convert_element_type(index, np.int32), along)

    if method in ("lower", "inverted_cdf"):
        return at(below)
    if method == "higher":
        return at(above)
    share_above = lax.sub(place, lax.floor(place))
    if method == "nearest":
        return at(where(lax.gt(share_above, 0.5), above, below))
    if method == "midpoint":
        return lax.mul(lax.add(at(below), at(above)), 0.5)
    weighted = [
        lax.mul(lax.convert_element_type(at(index), typeof(share).dtype), share)
        for index, share in ((below, lax.sub(1, share_above)), (above, share_above))
    ]
    return lax.convert_element_type(lax.add(*weighted), typeof(ordered).dtype)


__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
