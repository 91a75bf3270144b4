"""Activations, the softmax family, and `one_hot`."""

import math
from collections.abc import Sequence
from typing import Any

import minijax.numpy as jnp
from minijax import lax
from minijax.lax import logistic as sigmoid
from minijax.lax import tanh
from minijax.operation import operation
from minijax_stage2 import promote, typeof
from minijax_stage2.functions import canonical_axes
from minijax_stage2.promotion import to_inexact

Axes = int | Sequence[int] | None


@operation
def relu(x: Any) -> Any:
    """`x` where it is positive, else 0; the derivative at 0 is 0."""
    return jnp.where(jnp.less_equal(x, 0), 0, x)


@operation
def leaky_relu(x: Any, negative_slope: float = 1e-2) -> Any:
    """`x` where it is positive, else `negative_slope * x`."""
    return jnp.where(jnp.greater_equal(x, 0), x, jnp.multiply(negative_slope, x))


@operation
def elu(x: Any, alpha: float = 1.0) -> Any:
    """`x` where it is positive, else `alpha * (exp(x) - 1)`."""
    is_positive = jnp.greater(x, 0)
    negative = jnp.where(is_positive, 0, x)  # where it is not chosen, exp must not overflow
    return jnp.where(is_positive, x, jnp.multiply(alpha, jnp.expm1(negative)))


@operation
def softplus(x: Any) -> Any:
    """`log(1 + exp(x))`, a smooth `relu`, without overflow."""
    return jnp.logaddexp(to_inexact(x), 0.0)


@operation
def log_sigmoid(x: Any) -> Any:
    """The logarithm of `sigmoid`, exact also where that is nearly 0."""
    return jnp.negative(softplus(jnp.negative(x)))


@operation
def silu(x: Any) -> Any:
    """`x * sigmoid(x)`."""
    return jnp.multiply(x, sigmoid(x))


swish = silu


@operation
def mish(x: Any) -> Any:
    """`x * tanh(softplus(x))`."""
    return jnp.multiply(x, tanh(softplus(x)))


@operation(static="approximate")
def gelu(x: Any, approximate: bool = True) -> Any:
    """`x` times the probability that a normally distributed number is at most `x`.

    Arguments:
        x: the numbers.
        approximate: whether to approximate the probability by a hyperbolic tangent.
    """
    x = to_inexact(x)
    if approximate:
        inner = jnp.multiply(_GELU_SCALE, jnp.add(x, jnp.multiply(0.044715, jnp.power(x, 3))))
        return jnp.multiply(x, jnp.multiply(0.5, jnp.add(1.0, tanh(inner))))
    return jnp.multiply(jnp.multiply(0.5, x), lax.erfc(jnp.multiply(x, -math.sqrt(0.5))))


_GELU_SCALE = math.sqrt(2 / math.pi)


@operation
def relu6(x: Any) -> Any:
    """`x` between 0 and 6, else the nearer of them."""
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


@operation
def hard_sigmoid(x: Any) -> Any:
    """`relu6(x + 3) / 6`, a `sigmoid` made of straight lines."""
    return jnp.divide(relu6(jnp.add(x, 3.0)), 6.0)


@operation
def hard_silu(x: Any) -> Any:
    """`x * hard_sigmoid(x)`."""
    return jnp.multiply(x, hard_sigmoid(x))


hard_swish = hard_silu


@operation
def hard_tanh(x: Any) -> Any:
    """`x` between -1 and 1, else the nearer of them."""
    return jnp.where(jnp.greater(x, 1), 1, jnp.where(jnp.less(x, -1), -1, x))


@operation
def soft_sign(x: Any) -> Any:
    """`x / (1 + abs(x))`."""
    return jnp.divide(x, jnp.add(jnp.abs(x), 1))


@operation
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """`x` where it is positive, else `alpha * (exp(x / alpha) - 1)`."""
    negative = jnp.minimum(jnp.divide(x, alpha), 0.0)
    return jnp.add(jnp.maximum(x, 0.0), jnp.multiply(alpha, jnp.expm1(negative)))


@operation
def selu(x: Any) -> Any:
    """`elu` scaled so that mean 0 and variance 1 are kept (Klambauer et al. 2017)."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return jnp.multiply(scale, elu(x, alpha))


@operation(static="axis")
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of `x` along an axis of even size, times `sigmoid` of the second.

    Raises:
        ValueError: `x` has no axis, or its size is odd.
    """
    (axis,) = canonical_axes("glu", axis, typeof(x).ndim)
    if not typeof(x).ndim:
        raise ValueError(f"glu: x must have an axis to be halved, found {typeof(x)}")
    size = typeof(x).shape[axis]
    if size % 2:
        raise ValueError(f"glu: axis {axis} of {typeof(x)} must have an even size, found {size}")
    first = lax.slice_in_dim(x, 0, size // 2, axis=axis)
    return jnp.multiply(first, sigmoid(lax.slice_in_dim(x, size // 2, size, axis=axis)))


@operation
def squareplus(x: Any, b: Any = 4) -> Any:
    """`(x + sqrt(x**2 + b)) / 2`."""
    x, b = promote(x, b)
    return jnp.divide(jnp.add(x, jnp.sqrt(jnp.add(jnp.square(x), b))), 2)


@operation
def sparse_plus(x: Any) -> Any:
    """0 up to -1, `x` from 1 on, and `(x + 1)**2 / 4` between."""
    between = jnp.divide(jnp.square(jnp.add(x, 1.0)), 4)
    return jnp.where(jnp.less_equal(x, -1), 0.0, jnp.where(jnp.greater_equal(x, 1), x, between))


@operation
def sparse_sigmoid(x: Any) -> Any:
    """0 up to -1, 1 from 1 on, and `(x + 1) / 2` between: the derivative of `sparse_plus`."""
    return jnp.multiply(0.5, jnp.clip(jnp.add(x, 1.0), 0.0, 2.0))


@operation
def identity(x: Any) -> Any:
    """`x` itself."""
    return jnp.asarray(x)


@operation
def log1mexp(x: Any) -> Any:
    """`log(1 - exp(-x))` for positive `x`, exact also near 0 and far from it."""
    is_near = jnp.less(x, math.log(2))
    near = jnp.where(is_near, x, 1.0)
    far = jnp.where(is_near, 1.0, x)
    by_expm1 = jnp.log(jnp.negative(jnp.expm1(jnp.negative(near))))
    return jnp.where(is_near, by_expm1, jnp.log1p(jnp.negative(jnp.exp(jnp.negative(far)))))


# --8<-- [start:logsumexp]
@operation(static=("axis", "keepdims", "return_sign"))
def logsumexp(
    a: Any,
    axis: Axes = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """`log(sum(b * exp(a)))` over the axes, without overflow.

    Arguments:
        a: the array.
        axis: the axes to sum over; None: all.
        b: factors, which broadcast to `a`; 1 if not given.
        keepdims: whether the axes stay, with size 1.
        return_sign: whether to return the sign of the sum besides the logarithm of its absolute
            value; without it that of a negative sum is NaN.
        where: which elements take part, booleans that broadcast to `a`; all if not given.
    """
    if b is not None:
        a, b = map(to_inexact, promote(a, b))
        a = jnp.where(jnp.not_equal(b, 0), a, -math.inf)
    else:
        a = to_inexact(a)
    largest = _largest(jnp.real(a), axis, where)
    offset = lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0))
    exps = jnp.exp(jnp.subtract(a, lax.convert_element_type(offset, typeof(a).dtype)))
    total = jnp.sum(exps if b is None else jnp.multiply(b, exps), axis, where=where, keepdims=True)
    sign = jnp.sign(total)
    if return_sign or typeof(total).dtype.kind != "c":
        log = jnp.log(jnp.abs(total))
    else:
        log = jnp.log(total)
    out = jnp.add(log, offset)
    if not keepdims:  # the axes have size 1
        out, sign = jnp.sum(out, axis), jnp.sum(sign, axis)
    if return_sign:
        return out, sign
    if b is not None and typeof(out).dtype.kind != "c":
        return jnp.where(jnp.less(sign, 0), math.nan, out)
    return out


# --8<-- [end:logsumexp]


def _largest(x: Any, axis: Axes, where: Any) -> Any:
    return jnp.max(lax.stop_gradient(x), axis, keepdims=True, where=where, initial=-math.inf)


@operation(static=("axis", "keepdims"))
def logmeanexp(x: Any, axis: Axes = None, where: Any = None, keepdims: bool = False) -> Any:
    """`log(mean(exp(x)))` over the axes, without overflow; arguments as of `logsumexp`."""
    ones = jnp.ones_like(jnp.real(to_inexact(x)))
    count = jnp.sum(ones, axis, where=where, keepdims=keepdims)
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    return jnp.subtract(total, jnp.log(count))


@operation(static="axis")
def log_softmax(x: Any, axis: Axes = -1, where: Any = None) -> Any:
    """The logarithm of `softmax`, exact also where that is nearly 0.

    Arguments:
        x: the array.
        axis: the axes over which the exponentials sum to 1.
        where: which elements take part; the others become minus infinity.
    """
    chosen = x if where is None else jnp.where(where, x, -math.inf)
    shifted = jnp.subtract(chosen, _largest(chosen, axis, where))
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    out = jnp.subtract(shifted, jnp.log(total))
    return out if where is None else jnp.where(where, out, -math.inf)


@operation(static="axis")
def softmax(x: Any, axis: Axes = -1, where: Any = None) -> Any:
    """`exp(x)` scaled so that the sum over the axes is 1, without overflow.

    Arguments:
        x: the array.
        axis: the axes over which the result sums to 1.
        where: which elements take part; the others become 0.
    """
    chosen = x if where is None else jnp.where(where, x, -math.inf)
    exps = jnp.exp(jnp.subtract(chosen, _largest(chosen, axis, where)))
    out = jnp.divide(exps, jnp.sum(exps, axis, where=where, keepdims=True))
    return out if where is None else jnp.where(where, out, 0)


@operation(static=("axis", "algorithm"))
def standardize(
    x: Any,
    axis: Axes = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """`x` shifted and scaled so that over the axes its mean is 0 and its variance 1.

    Arguments:
        x: the array.
        axis: the axes.
        mean: what to subtract; the mean over the axes if not given.
        variance: by whose root to divide; the variance over the axes if not given.
        epsilon: is added to the variance.
        where: which elements mean and variance are taken of; all if not given.
        algorithm: how the variance is computed: "fast", from the mean of the squares, or "stable",
            from the distances to the mean.

    Raises:
        ValueError: there is no such algorithm.
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', found {algorithm!r}")
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None and algorithm == "stable":
        variance = jnp.var(x, axis, keepdims=True, where=where, mean=mean)
    elif variance is None:  # rounding must not make it negative
        squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
        variance = jnp.clip(jnp.subtract(squares, jnp.square(mean)), 0)
    return jnp.multiply(jnp.subtract(x, mean), lax.rsqrt(jnp.add(variance, epsilon)))


@operation(static=("num_classes", "dtype", "axis"))
def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Any:
    """For each integer of `x` an array of `num_classes` numbers: a one in its place, else zeros.

    Arguments:
        x: integers. One that names no class becomes zeros only.
        num_classes: the number of classes.
        dtype: of the result; the default float if not given.
        axis: where the classes stand in the result.
    """
    x = jnp.asarray(x)
    shape = list(jnp.expand_dims(x, axis).shape)
    along = axis % len(shape)
    shape[along] = num_classes
    classes = lax.broadcasted_iota(x.dtype, shape, along)
    hot = jnp.equal(jnp.expand_dims(x, axis), classes)
    return lax.convert_element_type(hot, jnp.zeros((), dtype).dtype)


__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]
