"""Activation functions, softmax, and one-hot vectors."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax.numpy as jnp
import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.lax import logistic
from glassjax.lax.formulas import horner, with_derivatives
from glassjax.lax.gathering import as_index
from glassjax.lax.shapes import filled_like
from glassjax.numpy import tanh
from glassjax.primitives.declare import lower_by_primitives, unary
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax.settings import number_types
from glassjax.settings.number_types import require_promotable
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes, canonical_axis, ints
from glassjax_stage2.promotion import promote, to_inexact
from glassjax_stage2.shaped_array import is_inexact

# Activations, `standardize` and `one_hot`.


Axes = int | Sequence[int] | None


@operation
def relu(x: ArrayLike) -> Array:
    """`x` where it is positive, else 0. The derivative at 0 is 0.

    >>> nn.relu(jnp.array([-2.0, 0.0, 2.0])), glassjax.grad(nn.relu)(0.0)
    (Array([0., 0., 2.], dtype=float32), Array(0., dtype=float32, weak_type=True))
    """
    return _relu_of(promote(x, 0)[0])


@operation
def _relu(x: ArrayLike) -> Array:
    return jnp.maximum(x, 0)


_relu_of = unary(
    "relu",
    "",
    hlo=lower_by_primitives(_relu),
    kinds="iufc",
    jvp=lambda t, out, x: lax.select(x > 0, t, lax.full_like(t, 0)),
)


@operation
def leaky_relu(x: ArrayLike, negative_slope: float = 1e-2) -> Array:
    """`x` where it is positive, else `negative_slope * x`.

    >>> nn.leaky_relu(jnp.array([-2.0, 2.0]), negative_slope=0.25)
    Array([-0.5,  2. ], dtype=float32)
    """
    require_promotable(x, negative_slope)
    return jnp.where(jnp.greater_equal(x, 0), x, jnp.multiply(negative_slope, x))


@operation
def elu(x: ArrayLike, alpha: float = 1.0) -> Array:
    """`x` where it is positive, else `alpha * (exp(x) - 1)`.

    >>> nn.elu(jnp.array([-1e3, 0.0, 2.0]))
    Array([-1.,  0.,  2.], dtype=float32)
    """
    require_promotable(x, alpha)
    if not is_inexact(typeof(x).dtype):
        x = jnp.multiply(x, 1.0)
    is_positive = jnp.greater(x, 0)
    # exp must not overflow where it is not used
    negative = jnp.where(jnp.greater(x, 0), 0.0, x)
    return jnp.where(is_positive, x, alpha * jnp.expm1(negative))


@operation
def softplus(x: ArrayLike) -> Array:
    """`log(1 + exp(x))`, a smooth `relu`, without overflow.

    >>> nn.softplus(jnp.array([-1e3, 1e3]))
    Array([   0., 1000.], dtype=float32)
    """
    return jnp.logaddexp(x, 0)


@operation
def sigmoid(x: ArrayLike) -> Array:
    """`1 / (1 + exp(-x))`.

    >>> nn.sigmoid(jnp.array([-1e3, 0.0, 1e3]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return logistic(x)


@operation
def log_sigmoid(x: ArrayLike) -> Array:
    """The logarithm of `sigmoid`, accurate even where that is nearly 0.

    >>> nn.log_sigmoid(jnp.array([-1e3, 1e3]))
    Array([-1000.,    -0.], dtype=float32)
    """
    return -softplus(jnp.negative(x))


@operation
def silu(x: ArrayLike) -> Array:
    """`x * sigmoid(x)`.

    >>> nn.silu(jnp.array([0.0, 1e3])), f"{nn.silu(-1.0):.2f}"
    (Array([   0., 1000.], dtype=float32), '-0.27')
    """
    return jnp.multiply(x, sigmoid(x))


swish = silu


@operation
def mish(x: ArrayLike) -> Array:
    """`x * tanh(softplus(x))`.

    >>> nn.mish(jnp.array([-5.0, 0.0, 5.0])).round(2)
    Array([-0.03,  0.  ,  5.  ], dtype=float32)
    """
    x, _ = promote(x, 0)  # booleans become ints, as in softplus
    x = to_inexact(x)
    if typeof(x).dtype.kind == "c":
        return tanh(softplus(x)) * x
    return _mish_of(x)


def _mish_parts(x: Any) -> tuple[Any, Any]:
    """Numerator and denominator of `tanh(softplus(x))`.

    They are polynomials in an exponential that is at most 1.
    """
    is_positive = x > 0
    power = lax.exp(-lax.abs(x))
    square, twice = lax.square(power), power + power
    above = jnp.where(is_positive, 1, square) + twice
    return above, above + jnp.where(is_positive, square + square, 2)


def _mish_quarter(x: Any) -> Any:
    """A quarter of the numerator of the slope of `tanh(softplus(x))`.

    Its denominator is the square of the function's own denominator.
    """
    power = lax.exp(-lax.abs(x))
    return jnp.where(x > 0, lax.square(power), power) * (1 + power)


def _mish(x: Any) -> Any:
    above, below = _mish_parts(x)
    return x * (above / below)


def _mish_slope(x: Any) -> Any:
    (above, below), quarter = _mish_parts(x), _mish_quarter(x)
    x = lax.clamp(*stage2.promote(-_BEYOND_EXP, x, _BEYOND_EXP))  # infinity times 0 would be NaN
    return (above * below + 4 * x * quarter) / lax.square(below)


def _mish_curvature(x: Any) -> Any:
    (above, below), quarter = _mish_parts(x), _mish_quarter(x)
    x = lax.clamp(*stage2.promote(-_BEYOND_EXP, x, _BEYOND_EXP))
    bend = 1 - logistic(x) * (1 + 2 * (above / below))
    return 4 * quarter / lax.square(below) * (2 + x * bend)


_BEYOND_EXP = 1e4
_mish_of = with_derivatives("mish", _mish, _mish_slope, _mish_curvature)


@operation(static="approximate")
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """`x` times the probability that a normally distributed number is at most `x`.

    Arguments:
        x: the numbers.
        approximate: whether to approximate the probability with a hyperbolic tangent.

    >>> nn.gelu(jnp.array([-1.0, 0.0, 3.0])).round(2)
    Array([-0.16,  0.  ,  3.  ], dtype=float32)
    """
    x = to_inexact(x)
    x = lax.convert_element_type(x, typeof(x).dtype)
    if not approximate:
        return _gelu_of(x)
    inner = _GELU_SCALE * (x + 0.044715 * jnp.power(x, 3))
    return x * (0.5 * (1.0 + tanh(inner)))


_GELU_SCALE = math.sqrt(2 / math.pi)


def _gelu(x: Any) -> Any:
    return 0.5 * x * lax.erfc(x * -math.sqrt(0.5))


def _normal_density(x: Any) -> Any:
    return lax.exp(-0.5 * lax.square(x)) / math.sqrt(2 * math.pi)


def _gelu_slope(x: Any) -> Any:
    """`ndtr(x) + x * density(x)`; next to its zero, where these cancel, a Taylor series."""
    x = lax.clamp(*stage2.promote(-_BEYOND_EXP, x, _BEYOND_EXP))  # infinity times 0 would be NaN
    whole = 0.5 * lax.erfc(x * -math.sqrt(0.5)) + x * _normal_density(x)
    offset = (x - _GELU_SLOPE_ZERO[0]) - _GELU_SLOPE_ZERO[1]
    near = offset * horner(_gelu_slope_series(), offset)
    return jnp.where(lax.abs(offset) < 1 / 16, near, whole)


def _gelu_curvature(x: Any) -> Any:
    x = lax.clamp(*stage2.promote(-_BEYOND_EXP, x, _BEYOND_EXP))
    return (2 - lax.square(x)) * _normal_density(x)


# The zero of the slope, as a float32 and a remainder (double-float).
_GELU_SLOPE_ZERO = (-0.7517915368080139, 1.211444945855772e-08)


@functools.cache
def _gelu_slope_series(terms: int = 14) -> list[float]:
    """Taylor coefficients of the slope, from the highest to the first.

    Its derivatives are polynomials times the density, whose own is `-x` times the density.
    """
    zero = sum(_GELU_SLOPE_ZERO)
    density = math.exp(-(zero**2) / 2) / math.sqrt(2 * math.pi)
    factor, coefficients = np.polynomial.Polynomial([2, 0, -1]), []
    for k in range(1, terms + 1):
        coefficients.append(float(factor(zero)) * density / math.factorial(k))
        factor = factor.deriv() - factor * np.polynomial.Polynomial([0, 1])
    return coefficients[::-1]


_gelu_of = written_in_jax("special")(with_derivatives("gelu", _gelu, _gelu_slope, _gelu_curvature))


@operation
def relu6(x: ArrayLike) -> Array:
    """`x` clipped to 0 to 6; the derivative at these bounds is 0.

    >>> nn.relu6(jnp.array([-2.0, 2.0, 8.0]))
    Array([0., 2., 6.], dtype=float32)
    """
    return _relu6_of(promote(x, 0)[0])


@operation
def _relu6(x: ArrayLike) -> Array:
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


_relu6_of = unary(
    "relu6",
    "",
    hlo=lower_by_primitives(_relu6),
    kinds="f",
    jvp=lambda t, out, x: lax.select((x > 0) & (x < 6), t, lax.full_like(t, 0)),
)


@operation
def hard_sigmoid(x: ArrayLike) -> Array:
    """`relu6(x + 3) / 6`, a piecewise linear `sigmoid`.

    >>> nn.hard_sigmoid(jnp.array([-5.0, 0.0, 5.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return relu6(jnp.add(x, 3.0)) / 6.0


@operation
def hard_silu(x: ArrayLike) -> Array:
    """`x * hard_sigmoid(x)`.

    >>> nn.hard_silu(jnp.array([-1.5, 0.0, 5.0]))
    Array([-0.375,  0.   ,  5.   ], dtype=float32)
    """
    return hard_sigmoid(x) * x


hard_swish = hard_silu


@operation
def hard_tanh(x: ArrayLike) -> Array:
    """`x` between -1 and 1, else the nearer of them.

    >>> nn.hard_tanh(jnp.array([-5.0, 0.5, 5.0]))
    Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return jnp.where(jnp.greater(x, 1), 1, jnp.where(jnp.less(x, -1), -1, x))


@operation
def soft_sign(x: ArrayLike) -> Array:
    """`x / (1 + abs(x))`.

    >>> nn.soft_sign(jnp.array([-3.0, 0.0, 1.0]))
    Array([-0.75,  0.  ,  0.5 ], dtype=float32)
    """
    return jnp.divide(x, jnp.abs(x) + 1)


@operation
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """`x` where it is positive, else `alpha * (exp(x / alpha) - 1)`.

    >>> nn.celu(jnp.array([-1e3, 0.0, 2.0]), alpha=0.5)
    Array([-0.5,  0. ,  2. ], dtype=float32)
    """
    require_promotable(x, alpha)
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@operation
def selu(x: ArrayLike) -> Array:
    """`elu` scaled so that mean 0 and variance 1 are kept (Klambauer et al. 2017).

    >>> nn.selu(jnp.array([-1e3, 0.0, 1.0])).round(2)
    Array([-1.76,  0.  ,  1.05], dtype=float32)
    """
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


@operation(static="axis")
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half of `x` along an axis of even size, times `sigmoid` of the second.

    Raises:
        ValueError: `x` has no axis, or its size is odd.

    >>> nn.glu(jnp.array([1.0, 2.0, 0.0, 1e3]))
    Array([0.5, 2. ], dtype=float32)
    """
    axis = canonical_axis("glu", axis, typeof(x).ndim)
    if not typeof(x).ndim:
        raise ValueError(f"glu: x must have an axis to be halved, found {typeof(x)}")
    size = typeof(x).shape[axis]
    if size % 2:
        raise ValueError(f"glu: axis {axis} of {typeof(x)} must have an even size, found {size}")
    first, second = lax.split(x, (size // 2, size // 2), axis)
    return first * sigmoid(second)


@operation
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """`(x + sqrt(x**2 + b)) / 2`.

    >>> nn.squareplus(jnp.array([-1.5, 0.0, 1.5]))
    Array([0.5, 1. , 2. ], dtype=float32)
    """
    require_promotable(x, b)
    return (jnp.sqrt(jnp.square(x) + b) + x) / 2


@operation
def sparse_plus(x: ArrayLike) -> Array:
    """0 up to -1, `x` from 1 on, and `(x + 1)**2 / 4` between.

    >>> nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
    Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    between = jnp.square(jnp.add(x, 1.0)) / 4
    return jnp.where(jnp.less_equal(x, -1.0), 0.0, jnp.where(jnp.greater_equal(x, 1), x, between))


@operation
def sparse_sigmoid(x: ArrayLike) -> Array:
    """0 up to -1, 1 from 1 on, and `(x + 1) / 2` between: the derivative of `sparse_plus`.

    >>> nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return 0.5 * jnp.clip(jnp.add(x, 1.0), 0.0, 2.0)


@operation
def identity(x: ArrayLike) -> Array:
    """`x` itself.

    >>> nn.identity(jnp.array([-1.0, 2.0]))
    Array([-1.,  2.], dtype=float32)
    """
    typeof(x)  # raises TypeError unless x is an array
    return jnp.asarray(x)


@operation
def log1mexp(x: ArrayLike) -> Array:
    """`log(1 - exp(-x))` for positive `x`, accurate near 0 and far from it.

    >>> x = 1e-10
    >>> f"{nn.log1mexp(x):.2f}", f"{jnp.log(1 - jnp.exp(-x)):.2f}"
    ('-23.03', '-inf')
    """
    return _log1mexp_of(to_inexact(x))


def _log1mexp(x: Any) -> Any:
    is_near = x < math.log(2)
    near = jnp.where(is_near, x, 1.0)
    far = jnp.where(is_near, 1.0, x)
    by_expm1 = jnp.log(-jnp.expm1(-near))
    return jnp.where(is_near, by_expm1, jnp.log1p(-jnp.exp(-far)))


def _log1mexp_slope(x: Any) -> Any:
    return 1 / lax.expm1(x)


def _log1mexp_curvature(x: Any) -> Any:
    return -1 / (lax.expm1(x) * -lax.expm1(-x))


_log1mexp_of = with_derivatives(
    "log1mexp", _log1mexp, _log1mexp_slope, _log1mexp_curvature, kinds="fc"
)


@operation(static=("axis", "algorithm"))
def standardize(
    x: ArrayLike,
    axis: Axes = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """`x` shifted and scaled so that over the axes its mean is 0 and its variance 1.

    Arguments:
        x: the array.
        axis: the axes.
        mean: the number to subtract; by default the mean over the axes.
        variance: the number by whose square root to divide; by default the variance over the axes.
        epsilon: added to the variance.
        where: mask of the elements used for mean and variance; all by default.
        algorithm: how the variance is computed: "fast", from the mean of the squares, or "stable",
            from the distances to the mean.

    Raises:
        ValueError: there is no such algorithm.

    >>> nn.standardize(jnp.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])).round(2)
    Array([[-1.22,  0.  ,  1.22],
           [-1.22,  0.  ,  1.22]], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', found {algorithm!r}")
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None and algorithm == "stable":
        variance = jnp.var(x, axis, keepdims=True, where=where, mean=mean)
    elif variance is None:  # rounding must not make it negative
        squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
        variance = jnp.clip(squares - jnp.square(mean), 0)
    return jnp.subtract(x, mean) * lax.rsqrt(jnp.asarray(variance) + epsilon)


@operation(static=("num_classes", "dtype", "axis", "out_sharding"))
def one_hot(
    x: Any,
    num_classes: int,
    *,
    dtype: Any = None,
    axis: int = -1,
    out_sharding: Any = None,
) -> Array:
    """One-hot vectors of `num_classes` numbers: a one at the index in `x`, else zeros.

    Arguments:
        x: integers. One out of range becomes all zeros.
        num_classes: the number of classes.
        dtype: the dtype of the result; None: the default float.
        axis: the position of the class axis in the result.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `x` does not hold numbers.

    >>> nn.one_hot(jnp.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    x = jnp.asarray(x)
    if typeof(x).dtype.names:
        raise TypeError(f"one_hot: expected integers, found {typeof(x)}")
    x = as_index(x) if x.dtype.kind in "iu" else x  # narrow dtypes cannot represent every class
    x = jnp.expand_dims(x, axis)
    along, shape = axis % x.ndim, [1] * x.ndim
    (shape[along],) = ints("one_hot: num_classes", num_classes)
    hot = x == lax.broadcasted_iota(x.dtype, shape, along)
    return lax.convert_element_type(hot, jnp.zeros((), dtype).dtype)


# The softmax family: exponentials along axes, and logarithms of their sums, without overflow.


@operation(static=("axis", "keepdims", "return_sign"))
def logsumexp(
    a: ArrayLike,
    axis: Axes = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """`log(sum(b * exp(a)))` over the axes, without overflow.

    Arguments:
        a: the array.
        axis: the axis or axes to reduce; None: all.
        b: factors, which broadcast to `a`; 1 by default.
        keepdims: whether to keep the reduced axes, with size 1.
        return_sign: whether to return the logarithm of the absolute value of the sum, and its sign;
            without it the logarithm of a negative sum is NaN.
        where: mask of the elements to include, which broadcasts to `a`; all by default.

    >>> x = jnp.array([1e3, 1e3])
    >>> nn.logsumexp(x), jnp.log(jnp.sum(jnp.exp(x)))
    (Array(1000.6932, dtype=float32), Array(inf, dtype=float32))
    """
    if b is not None:
        a, b = number_types.promote(a, b, inexact=True)
        a = jnp.where(b != 0, a, -math.inf)
    else:
        a = to_inexact(a)
    if where is not None:  # the derivative of an ignored infinity is 0, too
        a = jnp.where(where, a, -math.inf)
    axes = canonical_axes("logsumexp", axis, typeof(a).ndim)
    largest = jnp.max(jnp.real(a), axes, keepdims=keepdims, where=where, initial=-math.inf)
    finite = lax.select(lax.is_finite(largest), largest, filled_like(largest, 0))
    offset = lax.stop_gradient(finite)
    shift = lax.convert_element_type(offset, typeof(a).dtype)
    exps = jnp.exp(a - (shift if keepdims else lax.expand_dims(shift, axes)))
    total = jnp.sum(exps if b is None else b * exps, axes, where=where, keepdims=keepdims)
    sign = jnp.sign(total)
    if return_sign or typeof(total).dtype.kind != "c":
        log = jnp.log(jnp.abs(total))
    else:
        log = jnp.log(total)
    out = log + offset
    if return_sign:
        return out, sign
    if b is not None and typeof(out).dtype.kind != "c":
        return jnp.where(sign < 0, math.nan, out)
    return out


def _largest(x: Any, axis: Axes, where: Any) -> Any:
    return lax.stop_gradient(jnp.max(x, axis, keepdims=True, where=where, initial=-math.inf))


@operation(static=("axis", "keepdims"))
def logmeanexp(
    x: ArrayLike, axis: Axes = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """`log(mean(exp(x)))` over the axes, without overflow.

    Arguments:
        x: the array.
        axis: as in `logsumexp`.
        where: mask of the elements to include, which broadcasts to `x`; None: all.
        keepdims: as in `logsumexp`.

    >>> nn.logmeanexp(jnp.array([1e3, 1e3]))
    Array(1000., dtype=float32)
    """
    ones = jnp.ones_like(jnp.real(to_inexact(x)))
    count = jnp.sum(ones, axis, where=where, keepdims=keepdims)
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    return total - jnp.log(count)


@operation(static="axis")
def log_softmax(x: ArrayLike, axis: Axes = -1, where: ArrayLike | None = None) -> Array:
    """The logarithm of `softmax`, accurate even where that is nearly 0.

    Arguments:
        x: the array.
        axis: the axes over which the exponentials sum to 1.
        where: mask of the elements to include; the others become minus infinity.

    >>> nn.log_softmax(jnp.array([0.0, -1e3, -2e3]))
    Array([    0., -1000., -2000.], dtype=float32)
    """
    chosen = x if where is None else jnp.where(where, x, -math.inf)
    shifted = chosen - _largest(chosen, axis, where)
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    out = shifted - jnp.log(total)
    return out if where is None else jnp.where(where, out, -math.inf)


@operation(static="axis")
def softmax(x: ArrayLike, axis: Axes = -1, where: ArrayLike | None = None) -> Array:
    """`exp(x)` scaled so that the sum over the axes is 1, without overflow.

    Arguments:
        x: the array.
        axis: the axes over which the result sums to 1.
        where: mask of the elements to include; the others become 0.

    >>> nn.softmax(jnp.log(jnp.array([1.0, 3.0]))).round(2)
    Array([0.25, 0.75], dtype=float32)
    >>> nn.softmax(jnp.zeros(3), where=jnp.array([True, True, False]))
    Array([0.5, 0.5, 0. ], dtype=float32)
    """
    chosen = x if where is None else jnp.where(where, x, -math.inf)
    exps = jnp.exp(chosen - _largest(chosen, axis, where))
    out = exps / jnp.sum(exps, axis, where=where, keepdims=True)
    return out if where is None else jnp.where(where, out, 0)
