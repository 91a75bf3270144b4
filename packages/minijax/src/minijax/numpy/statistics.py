"""Averages, covariances and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.sorting import take_along
from minijax.numpy.dtypes import default_float, of_one_dtype
from minijax.numpy.reductions import mean, sum
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_meeting
from minijax_stage2 import typeof
from minijax_stage2.errors import shown
from minijax_stage2.functions import canonical_axes
from minijax_stage2.promotion import broadcast_shapes, broadcast_to, to_inexact
from minijax_stage2.shaped_array import dialect, is_inexact

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
        axis: the axes to average over; all if None.
        weights: an array of the shape of `a`, or of its size along the one axis.
        returned: whether to return the sum of the weights, too, in a pair.
        keepdims: whether to keep the axes, with size 1.

    Raises:
        ValueError: the weights do not match `a`, or have another shape and there is no axis.

    >>> jnp.average(jnp.array([1.0, 4.0]), weights=jnp.array([2.0, 1.0]))
    Array(2., dtype=float32)
    """
    if weights is None:
        out = mean(a, axis, keepdims=keepdims)
        count = typeof(a).size // max(typeof(out).size, 1)
        total = lax.full(typeof(out).shape, count, typeof(out).dtype)
        return (out, total) if returned else out
    a, weights = of_one_dtype(a, _aligned(a, axis, weights), inexact=True)
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
        dtype: the dtype of the result, if not that of the variables as floats.

    Raises:
        ValueError: there are more than two axes.
        TypeError: `fweights` are not integers.
        RuntimeError: weights do not match the observations.

    >>> jnp.cov(jnp.array([[1.0, 3.0], [2.0, 6.0]]))
    Array([[2., 4.],
           [4., 8.]], dtype=float32)
    """
    require_meeting(*([m] if y is None else [m, y]))
    if y is not None:
        m, y = of_one_dtype(m, y)
    x = _variables("cov", m, rowvar, dtype)
    if typeof(x).shape[0] == 0:  # as JAX has it, whatever the dtypes
        return lax.full((0, 0), 0.0, default_float())
    if y is not None:
        is_one_row = typeof(y).shape[:1] == (1,)  # which numpy takes for a variable
        more = _variables("cov", y, rowvar or is_one_row, dtype)
        x = lax.concatenate(of_one_dtype(x, more), 0)
    if not typeof(x).size:
        count = typeof(x).shape[0]
        return lax.full((count, count) if count != 1 else (), np.nan, typeof(x).dtype)
    observations = typeof(x).shape[1]
    weights = _weights(observations, fweights, aweights)
    correction = ddof if ddof is not None else int(not bias)
    divisor: ArrayLike
    if weights is None:
        centred = lax.sub(x, mean(x, 1, keepdims=True))
        scaled, divisor = centred, observations - correction
    else:
        x, weights = of_one_dtype(x, weights)
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


def _variables(name: str, m: Any, rowvar: bool, dtype: Any) -> Any:
    """A matrix with a variable in each row."""
    if typeof(m).ndim > 2:
        raise ValueError(f"{name}: expected at most two axes, found {typeof(m)}")
    if dtype is not None and not is_inexact(dialect().dtype_of(name, dtype)):
        raise ValueError(f"{name}: dtype must be one of floats, found {shown(dtype)}")
    m = to_inexact(m) if dtype is None else lax.convert_element_type(m, dtype)
    if typeof(m).ndim < 2:
        return lax.reshape(m, (1, -1))
    return m if rowvar else lax.transpose(m, (1, 0))


def _weights(observations: int, fweights: Any, aweights: Any) -> Any:
    product = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        if typeof(weights).shape != (observations,):
            raise RuntimeError(
                f"cov: {name} must be {observations} numbers, one for each observation, found "
                f"{typeof(weights)}"
            )
        if name == "fweights" and typeof(weights).dtype.kind not in "iu":
            raise TypeError(f"cov: fweights must be integers, found {typeof(weights)}")
        product = weights if product is None else lax.mul(*of_one_dtype(product, weights))
    return product


@operation(static=("rowvar", "dtype"))
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """The correlations of variables, from -1 to 1; the arguments are those of `cov`.

    >>> x = jnp.array([1.0, 2.0, 3.0])
    >>> f"{jnp.corrcoef(x, -2 * x)[0, 1]:.2f}"
    '-1.00'
    """
    require_meeting(*([x] if y is None else [x, y]))
    c = cov(x, y, rowvar, dtype=dtype)
    if not typeof(c).ndim:
        return lax.div(c, c)
    size = typeof(c).shape[0]
    if not size:
        return c
    index = lax.iota(np.int32, size)
    diagonal = lax.reshape(take_along(c, lax.reshape(index, (size, 1)), 1), (size,))
    real = lax.real(diagonal) if typeof(c).dtype.kind == "c" else diagonal
    deviation = lax.convert_element_type(lax.sqrt(real), typeof(c).dtype)
    c = lax.div(c, lax.broadcast_in_dim(deviation, (size, size), (0,)))
    c = lax.div(c, lax.broadcast_in_dim(deviation, (size, size), (1,)))
    if typeof(c).dtype.kind == "c":
        return lax.complex(_within_1(lax.real(c)), _within_1(lax.imag(c)))
    return _within_1(c)


def _within_1(x: Any) -> Any:
    """`x` limited to -1 to 1; its derivative at NaN is NaN, where that of `clamp` is 0."""
    return lax.min(1.0, lax.max(-1.0, x))


__all__ = ["average", "corrcoef", "cov"]
