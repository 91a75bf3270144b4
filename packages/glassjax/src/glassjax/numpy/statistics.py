"""Averages, covariances, quantiles and histograms."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dtypes import DTypeLike
from glassjax.lax.sorting import take_along
from glassjax.numpy import reductions
from glassjax.numpy.cases import where
from glassjax.numpy.creation import asarray, linspace
from glassjax.numpy.differences import diff
from glassjax.numpy.dtypes import default_float, default_int, dtype_of_mean, to_common_dtype
from glassjax.numpy.elementwise import clip
from glassjax.numpy.grids import diag
from glassjax.numpy.products import dot
from glassjax.numpy.shapes import atleast_2d
from glassjax.numpy.sorting import searchsorted
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.settings.number_types import letter_of, promote, require_promotable
from glassjax.shardings.types import takes_out_sharding
from glassjax_stage2 import ConcretizationTypeError, Tracer, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axes, ints, one_int
from glassjax_stage2.promotion import broadcast_shapes, broadcast_to, cast, to_inexact
from glassjax_stage2.shaped_array import dialect, is_inexact

# Averages, covariances and correlations.


Axes = int | Sequence[int] | None


@operation(static=("axis", "returned", "keepdims"))
def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """The weighted mean.

    Arguments:
        a: the array.
        axis: the axis or axes to reduce; None: all.
        weights: an array of the shape of `a`, or of its size along the one axis.
        returned: whether to return the sum of the weights, too, in a pair.
        keepdims: whether to keep the reduced axes, with size 1.

    Raises:
        ValueError: the weights do not match `a`, or have another shape and there is no axis.

    >>> jnp.average(jnp.array([1.0, 4.0]), weights=jnp.array([2.0, 1.0]))
    Array(2., dtype=float32)
    """
    if weights is None:
        out = reductions.mean(a, axis, keepdims=keepdims)
        count = typeof(a).size // builtins.max(typeof(out).size, 1)
        total = lax.full(typeof(out).shape, count, typeof(out).dtype)
        return (out, total) if returned else out
    a, weights = to_common_dtype(a, _aligned_weights(a, axis, weights), inexact=True)
    shape = broadcast_shapes(typeof(a).shape, typeof(weights).shape)
    total = reductions.sum(broadcast_to(weights, shape), axis, keepdims=keepdims)
    out = reductions.sum(stage2.mul(a, weights), axis, keepdims=keepdims) / total
    return (out, total) if returned else out


def _aligned_weights(a: Any, axis: Axes, weights: Any) -> Any:
    shape, weights_shape = typeof(a).shape, typeof(weights).shape
    if shape == weights_shape:
        return weights
    if axis is None:
        raise ValueError(
            f"average: weights of shape {weights_shape} for an array of shape {shape} take an axis"
        )
    axes = canonical_axes("average", axis, len(shape))
    if weights_shape != tuple(shape[i] for i in axes):
        raise ValueError(
            f"average: weights of shape {weights_shape} do not fit axis {axis} of shape {shape}"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return lax.broadcast_in_dim(lax.transpose(weights, order), shape, sorted(axes))


@operation(static=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """The covariances of variables, each a row of `m`.

    Arguments:
        m: a matrix, or one variable.
        y: further variables, in the same form.
        rowvar: whether variables are rows of `m`; otherwise columns.
        bias: whether to divide by the number of observations instead of one less.
        ddof: the number to subtract from the number of observations; overrides `bias`.
        fweights: the integer frequency of each observation.
        aweights: the weight of each observation.
        dtype: the dtype of the result; None: the dtype of the variables, as floats.

    Raises:
        ValueError: there are more than two axes.
        TypeError: `fweights` are not integers.
        RuntimeError: weights do not match the observations.

    >>> jnp.cov(jnp.array([[1.0, 3.0], [2.0, 6.0]]))
    Array([[2., 4.],
           [4., 8.]], dtype=float32)
    """
    require_promotable(*([m] if y is None else [m, y]))
    if y is not None:
        m, y = to_common_dtype(m, y)
    x = _variables("cov", m, rowvar, dtype)
    if typeof(x).shape[0] == 0:  # as in JAX, whatever the dtypes
        return lax.full((0, 0), 0.0, default_float())
    if y is not None:
        is_one_row = typeof(y).shape[:1] == (1,)  # numpy treats it as a variable
        more = _variables("cov", y, rowvar or is_one_row, dtype)
        x = lax.concatenate(to_common_dtype(x, more), 0)
    if not typeof(x).size:
        count = typeof(x).shape[0]
        return lax.full((count, count) if count != 1 else (), np.nan, typeof(x).dtype)
    observations = typeof(x).shape[1]
    weights = _observation_weights(observations, fweights, aweights)
    correction = ddof if ddof is not None else int(not bias)
    means, totals = average(x, 1, weights, returned=True)
    total = totals[0]
    centred = x - lax.expand_dims(means, [1])
    divisor: Any = observations if weights is None else total
    scaled = centred if weights is None else centred * stage2.reshape(weights, (1, -1))
    if aweights is None or correction == 0:
        divisor = divisor - correction
    else:
        squares = reductions.sum(weights * lax.convert_element_type(aweights, typeof(x).dtype))
        divisor = divisor - correction * squares / total
    other = lax.transpose(scaled, (1, 0))
    other = lax.conj(other) if typeof(x).dtype.kind == "c" else other
    out = dot(centred, other) / divisor
    single = [i for i, size in enumerate(typeof(out).shape) if size == 1]
    return lax.squeeze(out, single)


def _variables(name: str, m: Any, rowvar: bool, dtype: Any) -> Any:
    """A matrix with a variable in each row."""
    if typeof(m).ndim > 2:
        raise ValueError(f"{name}: expected at most two axes, found {typeof(m)}")
    if dtype is not None and not is_inexact(dialect().dtype_of(name, dtype)):
        raise ValueError(f"{name}: dtype must be one of floats, found {shown(dtype)}")
    m = to_inexact(m) if dtype is None else lax.convert_element_type(m, dtype)
    rows = atleast_2d(m)
    return rows if rowvar or typeof(m).ndim < 2 else lax.transpose(rows, (1, 0))


def _observation_weights(observations: int, fweights: Any, aweights: Any) -> Any:
    product = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        if typeof(weights).shape != (observations,):
            raise RuntimeError(
                f"cov: {name} must be {observations} numbers, one for each observation, found "
                f"{typeof(weights)}"
            )
        if name == "fweights" and letter_of(typeof(weights).dtype) not in "iu":
            raise TypeError(f"cov: fweights must be integers, found {typeof(weights)}")
        product = weights if product is None else lax.mul(*to_common_dtype(product, weights))
    return product


@operation(static=("rowvar", "dtype"))
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """The correlations of variables, from -1 to 1.

    Arguments:
        x: as `m` in `cov`.
        y, rowvar, dtype: as in `cov`.

    Raises:
        ValueError: there are more than two axes.

    >>> x = jnp.array([1.0, 2.0, 3.0])
    >>> f"{jnp.corrcoef(x, -2 * x)[0, 1]:.2f}"
    '-1.00'
    """
    require_promotable(*([x] if y is None else [x, y]))
    c = cov(x, y, rowvar, dtype=dtype)
    if not typeof(c).ndim:
        # 1, or NaN if there is no variance
        return c / c
    if not typeof(c).size:
        return c
    diagonal = diag(c)
    real = lax.real(diagonal) if typeof(c).dtype.kind == "c" else diagonal
    deviation = lax.convert_element_type(lax.sqrt(real), typeof(c).dtype)
    c = c / lax.expand_dims(deviation, (1,)) / lax.expand_dims(deviation, (0,))
    if typeof(c).dtype.kind == "c":
        return lax.complex(*(clip(part, -1, 1) for part in (lax.real(c), lax.imag(c))))
    return clip(c, -1, 1)


# Quantiles, percentiles and medians.


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
        axis: the axis or axes to reduce; None: all.
        out: must be None.
        overwrite_input: must be False: Arrays are immutable.
        method: the interpolation between two elements: "linear", "lower", "higher", "midpoint" or
            "nearest"; or "inverted_cdf", the inverse of the empirical distribution function.
        keepdims: whether to keep the reduced axes, with size 1.
        weights: how often each element counts, for the method "inverted_cdf": an array with the
            shape of `a`, or of the reduced axes. One that is negative or NaN makes the result NaN.

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

    Arguments:
        a, q, axis, out, overwrite_input, method, keepdims, weights: as in `quantile`.

    Raises:
        ValueError, NotImplementedError: as in `quantile`.

    >>> jnp.nanquantile(jnp.array([0.0, jnp.nan, 4.0]), 0.25)
    Array(1., dtype=float32)
    """
    return _at_shares(
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
    """The `q`-th percentiles: `quantile` with `q` from 0 to 100.

    Arguments:
        a: as in `quantile`.
        q: a number from 0 to 100, or an array of them, whose axes come first in the result.
        axis, out, overwrite_input, method, keepdims, weights: as in `quantile`.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError, NotImplementedError: as in `quantile`.

    >>> jnp.percentile(jnp.array([0.0, 4.0, 8.0]), jnp.array([25, 50]))
    Array([2., 4.], dtype=float32)
    """
    q = stage2.div(_as_float(q), 100)
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

    Arguments:
        a: as in `quantile`.
        q: as in `percentile`.
        axis, out, overwrite_input, method, keepdims, weights: as in `quantile`.

    Raises:
        ValueError, NotImplementedError: as in `quantile`.

    >>> jnp.nanpercentile(jnp.array([0.0, jnp.nan, 4.0]), 25)
    Array(1., dtype=float32)
    """
    q = stage2.div(_as_float(q), 100)
    return _at_shares(
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
    """The median: the middle element in order, or the mean of the middle two.

    Arguments:
        a, axis, out, overwrite_input, keepdims: as in `quantile`.

    Raises:
        ValueError: `a` is complex, or `overwrite_input` is given.

    >>> jnp.median(jnp.array([[1.0, 9.0, 2.0], [4.0, 6.0, 5.0]]), axis=1)
    Array([2., 5.], dtype=float32)
    """
    return _quantile(
        "median", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, None, False
    )


@operation(like=median)
def nanmedian(a: Any, axis: Any, out: Any, overwrite_input: Any, keepdims: Any) -> Any:
    """`median` ignoring NaN; NaN if all are.

    Arguments:
        a, axis, out, overwrite_input, keepdims: as in `quantile`.

    Raises:
        ValueError: as in `median`.

    >>> jnp.nanmedian(jnp.array([1.0, jnp.nan, 3.0, 9.0]))
    Array(3., dtype=float32)
    """
    return _at_shares(
        "nanmedian", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, None, True
    )


def _at_shares(
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
        a, weights = promote(a, _weights_per_element(name, weights, shape, axes, method))
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
    if not size:  # all NaN, as for a single NaN
        a, size = lax.full((*rest, 1), np.nan, typeof(a).dtype), 1
        weights = None if weights is None else lax.full((*rest, 1), 0, dtype)
    sizes = tuple(
        1 if i in axes else shape[i] for i in range(len(shape)) if keepdims or i not in axes
    )
    if 0 in (*rest, *q_shape):
        return lax.full((*q_shape, *sizes), 0, dtype)
    # Narrow floats cannot hold large indices: `q` decides about the dtype of places.
    q = _as_float(q)
    along = len(rest)
    if weights is not None:
        picked = _weighted(a, weights, stage2.reshape(q, (-1,)), along, passes_over_nan)
        out_first = lax.transpose(picked, (along, *range(along)))
        return lax.reshape(out_first, (*q_shape, *sizes))
    if passes_over_nan:
        count = reductions.sum(a == a, along, dtype_of_mean(q))
        count = lax.expand_dims(count, range(len(q_shape)))
        q = lax.expand_dims(q, range(len(q_shape), len(q_shape) + along))
    else:  # NaN propagates
        a = where(reductions.any(a != a, along, keepdims=True), np.nan, a)
        count = lax.full((), size, dtype_of_mean(q))
    ordered = lax.sort(a, along, is_stable=False)

    def take(index: Any) -> Any:
        """The elements at places of all rows, or at a place of each, whose axes come first."""
        if passes_over_nan:
            rows = lax.transpose(ordered, (along, *range(along)))
            found = take_along(rows, stage2.reshape(index, (-1, *rest)), 0)
            return stage2.reshape(found, (*q_shape, *rest))
        offsets = tuple(range(len(q_shape), len(q_shape) + along))
        return lax.gather(
            ordered,
            lax.expand_dims(index, [len(q_shape)]),
            lax.GatherDimensionNumbers(offsets, (along,), (along,)),
            (*rest, 1),
            mode="promise_in_bounds",
        )

    picked = lax.convert_element_type(_interpolate(take, q, count, method), dtype)
    if passes_over_nan:
        picked = where(count == 0, np.nan, picked)
    return stage2.reshape(picked, (*q_shape, *sizes))


_quantile = operation(
    static=("name", "axis", "overwrite_input", "method", "keepdims", "passes_over_nan")
)(_at_shares)


def _as_float(q: Any) -> Any:
    return cast(q, typeof(q).update(dtype=dtype_of_mean(q)))


def _weights_per_element(
    name: str, weights: Any, shape: Sequence[int], axes: Sequence[int], method: str
) -> Any:
    """Weights in the shape of the elements.

    Raises:
        ValueError, NotImplementedError: as in `quantile`.
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
            f"{name}: weights must have the shape of the array, {tuple(shape)}, or the sizes of "
            f"its axes {tuple(axes)}, found {aval}"
        )
    return lax.broadcast_in_dim(weights, tuple(shape), tuple(axes))


def _weighted(a: Any, weights: Any, shares: Any, along: int, passes_over_nan: bool) -> Any:
    """The first elements, in order, at which shares of the sum of all weights are reached."""
    ordered, weights = lax.sort_key_val(where(a != a, np.nan, a), weights, along)
    is_nan = ordered != ordered
    bad = (weights < 0) | (weights != weights)
    reached = lax.cumsum(where(bad | is_nan, 0, weights), along)
    size = typeof(a).shape[along]
    total = lax.slice_in_dim(reached, size - 1, size, axis=along)
    targets = total * lax.convert_element_type(shares, typeof(a).dtype)
    below = lax.expand_dims(reached, [along + 1]) < lax.expand_dims(targets, [along])
    count = reductions.sum(ordered == ordered, along, np.int32, keepdims=True)
    last = lax.max(*stage2.promote(count - 1, 0)) if passes_over_nan else size - 1
    place = lax.min(*stage2.promote(reductions.sum(below, along, np.int32), last))
    picked = take_along(ordered, place, along)
    hopeless = count == 0 if passes_over_nan else count < size
    hopeless = hopeless | reductions.any(bad, along, keepdims=True)
    return where(broadcast_to(hopeless, typeof(picked).shape), np.nan, picked)


def _interpolate(take: Callable[[Any], Any], shares: Any, count: Any, method: str) -> Any:
    """Interpolate at shares of a count between the elements that `take` gives for places."""

    def clipped(place: Any) -> Any:
        last = stage2.sub(count, 1)
        if typeof(last).ndim:
            last = broadcast_to(last, typeof(place).shape)
        return lax.clamp(lax.full((), 0, typeof(place).dtype), place, last)

    if method == "inverted_cdf":  # the smallest element with at least this share at or below it
        place = clipped(lax.ceil(shares * count) - 1)
        return take(lax.convert_element_type(place, default_int()))
    place = lax.mul(shares, stage2.sub(count, 1))
    below, above = lax.floor(place), lax.ceil(place)
    share_above = place - below
    share_below = 1 - share_above
    below, above = (
        lax.convert_element_type(x, default_int()) for x in [clipped(below), clipped(above)]
    )
    if method in ("lower", "higher"):
        return take(below if method == "lower" else above)
    if method == "nearest":
        return take(where(share_above > 0.5, above, below))
    low, high = take(below), take(above)
    if method == "midpoint":
        return (low + high) * 0.5
    lacking = range(typeof(place).ndim, typeof(low).ndim)
    low_part, high_part = (
        lax.convert_element_type(x, typeof(place).dtype) * lax.expand_dims(share, lacking)
        for x, share in ((low, share_below), (high, share_above))
    )
    return low_part + high_part


# Counting: occurrences of integers, and histograms.


_ADD_TO_ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))


@evaluated_by_library
@takes_out_sharding
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Count the occurrences of each number from 0 on in `x`.

    Arguments:
        x: a vector of integers; negative ones count as 0.
        weights: the weight of each; 1 by default.
        minlength: the minimum number of counts.
        length: the number of counts, whatever `minlength` is; by default up to the largest number
            in `x`, which must then be known. Larger numbers are not counted.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `x` is not of integers.
        ValueError: `x` is not a vector.
        ConcretizationTypeError: `x` is traced, and `length` is not given.

    >>> jnp.bincount(jnp.array([0, 2, 2, 5]))
    Array([1, 0, 2, 0, 0, 1], dtype=int32)
    >>> jnp.bincount(jnp.array([0, 2]), weights=jnp.array([0.5, 2.0]), length=4)
    Array([0.5, 0. , 2. , 0. ], dtype=float32)
    """
    aval = typeof(x)
    if letter_of(aval.dtype) not in "biu":
        raise TypeError(f"bincount: x must be of integers, found {aval}")
    if aval.ndim != 1:
        raise ValueError(f"bincount: x must have one axis, found {aval}")
    if length is None:
        if isinstance(x, Tracer):
            raise ConcretizationTypeError(
                "bincount: the length of the result depends on the numbers in x, which are known "
                "only when the program runs: give length="
            )
        largest = int(np.max(np.asarray(x))) if aval.size else -1
        length = builtins.max(largest + 1, one_int("bincount: minlength", minlength), 0)
    return _bincount(x, weights, length)


@operation(static="length")
def _bincount(x: Any, weights: Any, length: int) -> Any:
    if weights is None:
        weights = lax.full(typeof(x).shape, 1, default_int())
    elif typeof(weights).shape != typeof(x).shape:
        raise ValueError(
            f"bincount: weights must have the shape of x, {typeof(x).shape}, found "
            f"{typeof(weights)}"
        )
    places = lax.convert_element_type(x, np.int32) if typeof(x).dtype.kind == "b" else x
    # As in JAX, negative numbers count as 0, and numbers beyond `length` are dropped.
    return _add_at(length, lax.max(*stage2.promote(places, 0)), weights)


def _add_at(length: int, places: Any, weights: Any) -> Any:
    """Zeros with weights added at indices; indices beyond the end are dropped."""
    return lax.scatter_add(
        lax.full((length,), 0, typeof(weights).dtype),
        lax.reshape(places, (*typeof(places).shape, 1)),
        weights,
        _ADD_TO_ELEMENTS,
        mode="drop",
    )


@evaluated_by_library
def histogram_bin_edges(
    a: ArrayLike,
    bins: int | str | Sequence[Any] = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
) -> Array:
    """The bin edges of `histogram` for these arguments.

    Arguments:
        a, bins, range: as in `histogram`.
        weights: ignored.

    Raises:
        ValueError: `bins` or `range` have another shape.
        NotImplementedError: `bins` is the name of a rule.

    >>> jnp.histogram_bin_edges(jnp.array([0.0, 3.0, 4.0]), bins=4)
    Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    if isinstance(bins, str):
        raise NotImplementedError(f"histogram_bin_edges: bins must be numbers, found {bins!r}")
    if not isinstance(bins, int | np.integer) and typeof(asarray(bins)).ndim:
        if typeof(asarray(bins)).ndim != 1:
            raise ValueError(
                "histogram_bin_edges: bins must be an int or the ends of intervals, a vector; "
                f"found {typeof(asarray(bins))}"
            )
        return lax.convert_element_type(asarray(bins), dtype_of_mean(a))
    (count,) = ints("histogram_bin_edges: bins", bins)
    if range is not None and typeof(asarray(range)).shape != (2,):
        raise ValueError(f"histogram_bin_edges: range must be two numbers, found {shown(range)}")
    return _equal_bins(a, None if range is None else asarray(range), count)


@operation(static="count")
def _equal_bins(a: Any, range: Any, count: int) -> Any:
    a = lax.convert_element_type(a, dtype_of_mean(a))
    if range is None:
        low, high = (reductions.min(a), reductions.max(a)) if typeof(a).size else (0.0, 1.0)
    else:
        range = lax.convert_element_type(range, typeof(a).dtype)
        low, high = (lax.squeeze(lax.slice_in_dim(range, i, i + 1), (0,)) for i in (0, 1))
    # As in numpy, a range without extent is widened by 1/2 at both ends.
    is_point = lax.eq(low, high)
    low, high = (
        where(is_point, stage2.sub(low, 0.5), low),
        where(is_point, stage2.add(high, 0.5), high),
    )
    return linspace(low, high, count + 1, dtype=typeof(a).dtype)


@evaluated_by_library
@takes_out_sharding
def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """Count the elements in each bin; return counts and bin edges.

    Arguments:
        a: the array.
        bins: the number of bins of equal size, or an array of their edges in order.
        range: the lowest and the highest edge; None: the lowest and the highest element.
        weights: the weight of each element; an array of the shape of `a`.
        density: whether to normalize the area of the histogram to 1.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Returns:
        The counts, and the edges, one more than counts. The last bin includes both its edges.

    Raises:
        ValueError: `weights` have another shape than `a`.

    >>> counts, edges = jnp.histogram(jnp.array([1.0, 1.5, 4.0]), bins=3, range=(0.0, 6.0))
    >>> counts, edges
    (Array([2., 0., 1.], dtype=float32), Array([0., 2., 4., 6.], dtype=float32))
    """
    if weights is not None:
        if typeof(weights).shape != typeof(a).shape:
            raise ValueError(
                f"histogram: weights must have the shape of a, {typeof(a).shape}, found "
                f"{typeof(weights)}"
            )
        a, weights = to_common_dtype(a, weights, inexact=True)
    edges = histogram_bin_edges(a, bins, range, weights)  # type: ignore[arg-type]
    return _histogram(a, edges, weights, bool(density)), edges


@operation(static="density")
def _histogram(a: Any, edges: Any, weights: Any, density: bool) -> Any:
    a = stage2.reshape(to_inexact(a), (-1,))
    if weights is None:
        weights = lax.full(typeof(a).shape, 1, typeof(a).dtype)
    weights = stage2.reshape(weights, (-1,))
    count = typeof(edges).shape[0]
    # Interval 0 is below the first edge; interval `count`, beyond the last, is dropped.
    counts = lax.slice_in_dim(_add_at(count, _interval(a, edges), weights), 1, count)
    if not density:
        return counts
    widths = lax.convert_element_type(diff(edges), typeof(counts).dtype)
    return counts / widths / reductions.sum(counts)


def _interval(a: Any, edges: Any) -> Any:
    """The number of the bin of each element, from 1 on; 0 is below and the last above."""
    count = typeof(edges).shape[0]
    found = searchsorted(edges, a, "right")
    last = lax.squeeze(lax.slice_in_dim(edges, count - 1, count), (0,))
    return where(a == last, count - 1, found)


@evaluated_by_library
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Count the points in each rectangle; return counts and the bin edges along both axes.

    Arguments:
        x, y: the coordinates of the points.
        bins: as in `histogram`, for both axes, or a pair with one for each.
        range, weights, density: as in `histogramdd`.

    Raises:
        ValueError: `x` and `y` are not vectors of one size.

    >>> counts, _, _ = jnp.histogram2d(jnp.array([0.1, 0.9]), jnp.array([0.2, 0.3]), bins=2)
    >>> counts
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    if typeof(x).ndim != 1 or typeof(x).shape != typeof(y).shape:
        raise ValueError(
            f"histogram2d: x and y must be rows of as many numbers, found {typeof(x)}, {typeof(y)}"
        )
    if not isinstance(bins, int | np.integer) and len(bins) not in (1, 2):
        bins = [asarray(bins)] * 2
    sample = lax.concatenate([stage2.reshape(z, (-1, 1)) for z in to_common_dtype(x, y)], 1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, *edges


@evaluated_by_library
def histogramdd(
    sample: ArrayLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> Any:
    """Count the points in each box of a grid; return counts and the bin edges along each axis.

    Arguments:
        sample: a matrix with a point in each row.
        bins: as in `histogram`, for all axes, or a sequence with one for each.
        range: for each axis the lowest and the highest edge, or None.
        weights: the weight of each point.
        density: whether to normalize the volume of the histogram to 1.

    Raises:
        ValueError: `sample` is not a matrix, or `bins` or `range` does not have one entry per axis.

    >>> points = jnp.array([[0.0, 0.0], [1.0, 1.0], [0.9, 0.8]])
    >>> counts, edges = jnp.histogramdd(points, bins=2)
    >>> counts
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    if typeof(sample).ndim != 2:
        raise ValueError(f"histogramdd: sample must be a matrix, found {typeof(sample)}")
    points, axes = typeof(sample).shape
    axis_bins = [bins] * axes if isinstance(bins, int | np.integer) else list(bins)
    ranges = [None] * axes if range is None else list(range)
    if len(axis_bins) != axes or len(ranges) != axes:
        raise ValueError(
            f"histogramdd: {counted(axes, 'axis')} take as many of bins and range, found "
            f"{len(axis_bins)} and {len(ranges)}"
        )
    if weights is not None and (typeof(weights).shape != (points,) or typeof(weights).dtype.names):
        raise ValueError(
            f"histogramdd: weights must be a number for each of {points} points, found "
            f"{typeof(weights)}"
        )
    columns = [
        lax.reshape(lax.slice_in_dim(sample, i, i + 1, axis=1), (points,))
        for i in builtins.range(axes)
    ]
    edges = [
        histogram_bin_edges(column, bins, bounds)
        for column, bins, bounds in zip(columns, axis_bins, ranges, strict=True)
    ]
    return _histogramdd(columns, edges, weights, bool(density)), edges


@operation(static="density")
def _histogramdd(columns: Any, edges: Any, weights: Any, density: bool) -> Any:
    sizes = [typeof(ends).shape[0] + 1 for ends in edges]
    place = lax.full(typeof(columns[0]).shape, 0, np.int32)
    for column, ends, size in zip(columns, edges, sizes, strict=True):
        # The number of a cell in a row-major array, with cells outside the edges at both ends of
        # each axis, which are cut off below.
        place = place * size + _interval(column, ends)
    if weights is None:
        weights = lax.full(typeof(place).shape, 1, default_int())
    counts = lax.reshape(_add_at(math.prod(sizes), place, weights), sizes)
    counts = lax.slice(counts, [1] * len(sizes), [size - 1 for size in sizes])
    if density:
        shape = typeof(counts).shape
        counts = lax.convert_element_type(counts, typeof(edges[0]).dtype)
        counts = counts / reductions.sum(counts)
        for axis, ends in enumerate(edges):
            widths = lax.broadcast_in_dim(diff(ends), shape, (axis,))
            counts = counts / lax.convert_element_type(widths, typeof(counts).dtype)
    return counts
