"""Activations, the softmax family, and `one_hot`."""

from collections.abc import Sequence
from typing import Any

import minijax.numpy as jnp
from minijax import lax
from minijax.lax import logistic as sigmoid
from minijax.lax import tanh
from minijax.operation import operation

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
    negative = jnp.where(jnp.greater(x, 0), jnp.negative(x), x)
    return jnp.add(relu(x), jnp.log1p(jnp.exp(negative)))


@operation
def silu(x: Any) -> Any:
    """`x * sigmoid(x)`."""
    return jnp.multiply(x, sigmoid(x))


swish = silu


@operation(static=("axis", "keepdims"))
def logsumexp(a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """`log(sum(exp(a)))` over the axes, without overflow."""
    largest = jnp.max(lax.stop_gradient(a), axis, keepdims=True)
    offset = jnp.where(jnp.isfinite(largest), largest, 0)
    total = jnp.sum(jnp.exp(jnp.subtract(a, offset)), axis, keepdims=True)
    out = jnp.add(jnp.log(total), offset)
    return out if keepdims else jnp.sum(out, axis)  # over axes of size 1


@operation(static="axis")
def log_softmax(x: Any, axis: Axes = -1) -> Any:
    """The logarithm of `softmax`, exact also where that is nearly 0."""
    shifted = jnp.subtract(x, jnp.max(lax.stop_gradient(x), axis, keepdims=True))
    total = jnp.sum(jnp.exp(shifted), axis, keepdims=True)
    return jnp.subtract(shifted, jnp.log(total))


@operation(static="axis")
def softmax(x: Any, axis: Axes = -1) -> Any:
    """`exp(x)` scaled so that the sum over the axes is 1, without overflow."""
    exps = jnp.exp(jnp.subtract(x, jnp.max(lax.stop_gradient(x), axis, keepdims=True)))
    return jnp.divide(exps, jnp.sum(exps, axis, keepdims=True))


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
    "elu",
    "leaky_relu",
    "log_softmax",
    "logsumexp",
    "one_hot",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "swish",
    "tanh",
]
