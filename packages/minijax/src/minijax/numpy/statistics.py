"""Averages, quantiles and covariances."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax import lax
from minijax.arrays import require_no_out
from minijax.lax.elementwise import where as choose
from minijax.lax.sorting import take_along
from minijax.numpy.dtypes import dtype_of_mean
from minijax.numpy.reductions import any, mean, sum
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes
from minijax_stage2.promotion import (
    broadcast_shapes,
    broadcast_to,
    cast,
    promote,
    result_type,
)

Axes = int | Sequence[int] | None


@operation(static=("axis", "returned", "keepdims"))
def average(
    a: Any,
    axis: Axes = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """The mean, in which each element may have a weight.

    Arguments:
        a: the array.
        axis: the axes to average over; all if None.
        weights: an array of the shape of `a`, or of its size along the one axis.
        returned: whether the sum of the weights is returned too, in a pair.
        keepdims: whether the axes stay, with size 1.

    Raises:
        ValueError: the weights do not fit, or have another shape and there is no axis.
    """
    dtype = dtype_of_mean(a)
    if weights is None:
        out = mean(a, axis, keepdims=keepdims)
        count = typeof(a).size // max(typeof(out).size, 1)
        total = lax.full(typeof(out).shape, count, dtype)
        return (out, total) if returned else out
    a, weights = promote(lax.convert_element_type(a, dtype), _aligned(a, axis, weights))
    a, weights = (lax.convert_element_type(x, dtype_of_mean(a)) for x in (a, weights))
    shape = broadcast_shapes(typeof(a).shape, typeof(weights).shape)
    total = sum(broadcast_to(weights, shape), axis, keepdims=keepdims)
    out = lax.div(sum(lax.mul(a, weights), axis, keepdims=keepdims), total)
    return (out, total) if returned else out


def _aligned(a: Any, axis: Axes, weights: Any) -> Any:
    shape, of_weights = typeof(a).shape, typeof(weights).shape
    if shape == of_weights:
        return weights
    if axis is None:
        raise ValueError(
            f"average: weights of shape {of_weights} for an array of shape {shape} take an axis"
        )
    axes = canonical_axes("average", axis, len(shape))
    if of_weights != tuple(shape[i] for i in axes):
        raise ValueError(
            f"average: weights of shape {of_weights} do not fit axis {axis} of shape {shape}"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return lax.broadcast_in_dim(lax.transpose(weights, order), shape, sorted(axes))


# --8<-- [start:quantile]
METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@operation(static=("axis", "overwrite_input", "method", "keepdims"))
def quantile(
    a: Any,
    q: Any,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The numbers that a share `q` of the elements are below.

    Arguments:
        a: the array, real or of integers.
        q: a share from 0 to 1, or an array of them, whose axes come first in the result.
        axis: the axes to go along; all if None.
        out: must be None.
        overwrite_input: must be False: an Array is never written to.
        method: what to do between two elements: "linear", "lower", "higher", "midpoint" or
            "nearest".
        keepdims: whether the axes stay, with size 1.
        weights: must be None.

    Raises:
        ValueError: `method` is not known, `q` has more than one axis, `a` is complex, or
            `overwrite_input` is given.
    """
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights, False)


@operation(static=("axis", "overwrite_input", "method", "keepdims"))
def nanquantile(
    a: Any,
    q: Any,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`quantile` of what is no NaN; NaN where all are."""
    return _quantile(
        "nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights, True
    )


@operation(static=("axis", "overwrite_input", "method", "keepdims"))
def percentile(
    a: Any,
    q: Any,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`quantile` with `q` from 0 to 100."""
    q = lax.div(lax.convert_element_type(q, dtype_of_mean(q)), 100)
    return _quantile(
        "percentile", a, q, axis, out, overwrite_input, method, keepdims, weights, False
    )


@operation(static=("axis", "overwrite_input", "method", "keepdims"))
def nanpercentile(
    a: Any,
    q: Any,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`nanquantile` with `q` from 0 to 100."""
    q = lax.div(lax.convert_element_type(q, dtype_of_mean(q)), 100)
    return _quantile(
        "nanpercentile", a, q, axis, out, overwrite_input, method, keepdims, weights, True
    )


@operation(static=("axis", "overwrite_input", "keepdims"))
def median(
    a: Any,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The number that half of the elements are below; the arguments are those of `quantile`."""
    return _quantile(
        "median", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims, None, False
    )


@operation(static=("axis", "overwrite_input", "keepdims"))
def nanmedian(
    a: Any,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """`median` of what is no NaN; NaN where all are."""
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
    require_no_out(name, out)
    if overwrite_input:
        raise ValueError(f"{name}: overwrite_input must be False: an Array is never written to")
    if weights is not None:
        raise NotImplementedError(f"{name}: weights must be None; average takes weights")
    if method not in METHODS:
        raise ValueError(f"{name}: method must be one of {METHODS}, found {method!r}")
    if typeof(a).dtype.kind == "c":
        raise ValueError(f"{name}: complex numbers have no order, found {typeof(a)}")
    if typeof(q).ndim > 1:
        raise ValueError(f"{name}: q must be a number or have one axis, found {typeof(q)}")
    dtype = dtype_of_mean(a)
    a = lax.convert_element_type(a, dtype)
    shape = typeof(a).shape
    axes = canonical_axes(name, axis, len(shape))
    kept = [i for i in range(len(shape)) if i not in axes]
    a = lax.reshape(lax.transpose(a, (*kept, *axes)), (*(shape[i] for i in kept), -1))
    rest, size = typeof(a).shape[:-1], typeof(a).shape[-1]
    if not size:
        raise ValueError(f"{name}: an array of shape {shape} has no elements to choose from")
    q_shape = typeof(q).shape
    shares = lax.convert_element_type(lax.reshape(q, (-1,)), dtype)
    along = len(rest)
    if passes_over_nan:
        ordered = lax.sort(a, along)
        count = sum(lax.eq(a, a), along, dtype, keepdims=True)
    else:  # one NaN makes the result NaN
        ordered = lax.sort(choose(any(lax.ne(a, a), along, keepdims=True), np.nan, a), along)
        count = lax.full((*rest, 1), size, dtype)
    wide = (*rest, typeof(shares).shape[0])
    shares = lax.broadcast_in_dim(shares, wide, (along,))
    last = broadcast_to(lax.sub(count, 1), wide)
    place = lax.mul(shares, last)
    picked = _between(ordered, place, last, along, method)
    if passes_over_nan:
        picked = choose(broadcast_to(lax.eq(count, 0), wide), np.nan, picked)
    out_first = lax.transpose(picked, (along, *range(along)))
    sizes = tuple(
        1 if i in axes else shape[i] for i in range(len(shape)) if keepdims or i not in axes
    )
    return lax.reshape(out_first, (*q_shape, *sizes))


def _between(ordered: Any, place: Any, last: Any, along: int, method: str) -> Any:
    """What lies at the places, which may be between two elements."""
    below = lax.max(lax.min(lax.floor(place), last), 0)
    above = lax.max(lax.min(lax.ceil(place), last), 0)

    def at(index: Any) -> Any:
        return take_along(ordered, lax.convert_element_type(index, np.int32), along)

    if method == "lower":
        return at(below)
    if method == "higher":
        return at(above)
    share_above = lax.sub(place, lax.floor(place))
    if method == "nearest":
        return at(choose(lax.gt(share_above, 0.5), above, below))
    if method == "midpoint":
        return lax.mul(lax.add(at(below), at(above)), 0.5)
    share_below = lax.sub(1, share_above)
    return lax.add(lax.mul(at(below), share_below), lax.mul(at(above), share_above))


# --8<-- [end:quantile]


@operation(static=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """The covariances of variables, each a row of `m`.

    Arguments:
        m: a matrix, or one variable.
        y: more variables, in the same form.
        rowvar: whether a variable is a row of `m`; else a column.
        bias: whether to divide by the number of observations, rather than by one less.
        ddof: what to take from the number of observations; overrides `bias`.
        fweights: how often each observation counts, as integers.
        aweights: the weight of each observation.
        dtype: the dtype of the result, if not that of the variables as floats.

    Raises:
        ValueError: there are more than two axes, or `ddof` is not whole.
        TypeError: weights do not fit the observations.
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError(f"cov: ddof must be a whole number, found {ddof}")
    x = _variables("cov", m, rowvar, dtype)
    if y is not None:
        more = _variables("cov", y, rowvar, dtype)
        if rowvar is False and typeof(more).shape[0] == 1:
            more = lax.reshape(more, (1, -1))
        x = lax.concatenate(promote_dtypes(x, more), 0)
    if not typeof(x).size:
        return lax.full((typeof(x).shape[0],) * 2, np.nan, typeof(x).dtype)
    observations = typeof(x).shape[1]
    weights = _weights(observations, fweights, aweights, typeof(x).dtype)
    correction = ddof if ddof is not None else int(not bias)
    if weights is None:
        centred = lax.sub(x, mean(x, 1, keepdims=True))
        scaled, divisor = centred, observations - correction
    else:
        total = sum(weights)
        row = lax.reshape(weights, (1, -1))
        centred = lax.sub(x, lax.div(sum(lax.mul(x, row), 1, keepdims=True), total))
        scaled = lax.mul(centred, row)
        if correction == 0:
            divisor = total
        elif aweights is None:
            divisor = lax.sub(total, correction)
        else:
            of_squares = sum(lax.mul(weights, lax.convert_element_type(aweights, typeof(x).dtype)))
            divisor = lax.sub(total, lax.div(lax.mul(correction, of_squares), total))
    other = lax.conj(scaled) if typeof(x).dtype.kind == "c" else scaled
    products = lax.dot_general(centred, other, (((1,), (1,)), ((), ())))
    out = lax.div(products, divisor)
    single = [i for i, size in enumerate(typeof(out).shape) if size == 1]
    return lax.squeeze(out, single)


def promote_dtypes(*operands: Any) -> list[Any]:
    """Operands of one dtype, whatever their shapes."""
    meeting = result_type(*map(typeof, operands))
    return [cast(x, meeting) for x in operands]


def _variables(name: str, m: Any, rowvar: bool, dtype: Any) -> Any:
    """A matrix with a variable in each row."""
    if typeof(m).ndim > 2:
        raise ValueError(f"{name}: expected at most two axes, found {typeof(m)}")
    m = lax.convert_element_type(m, dtype_of_mean(m) if dtype is None else dtype)
    if typeof(m).ndim < 2:
        return lax.reshape(m, (1, -1))
    return m if rowvar else lax.transpose(m, (1, 0))


def _weights(observations: int, fweights: Any, aweights: Any, dtype: Any) -> Any:
    product = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        if typeof(weights).shape != (observations,):
            raise TypeError(
                f"cov: {name} must be {observations} numbers, one for each observation, found "
                f"{typeof(weights)}"
            )
        if name == "fweights" and typeof(weights).dtype.kind not in "iu":
            raise TypeError(f"cov: fweights must be integers, found {typeof(weights)}")
        weights = lax.convert_element_type(weights, dtype)
        product = weights if product is None else lax.mul(product, weights)
    return product


@operation(static=("rowvar", "dtype"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The correlations of variables, from -1 to 1; the arguments are those of `cov`."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not typeof(c).ndim:
        return lax.div(c, c)
    size = typeof(c).shape[0]
    index = lax.iota(np.int32, size)
    diagonal = lax.reshape(take_along(c, lax.reshape(index, (size, 1)), 1), (size,))
    real = lax.real(diagonal) if typeof(c).dtype.kind == "c" else diagonal
    deviation = lax.convert_element_type(lax.sqrt(real), typeof(c).dtype)
    c = lax.div(c, lax.broadcast_in_dim(deviation, (size, size), (0,)))
    c = lax.div(c, lax.broadcast_in_dim(deviation, (size, size), (1,)))
    if typeof(c).dtype.kind == "c":
        return lax.complex(lax.clamp(-1.0, lax.real(c), 1.0), lax.clamp(-1.0, lax.imag(c), 1.0))
    return lax.clamp(-1.0, c, 1.0)


__all__ = [
    "average",
    "corrcoef",
    "cov",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]
