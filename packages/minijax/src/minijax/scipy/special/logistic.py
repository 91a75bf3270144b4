"""The logistic function, and exponentials in sums."""

from typing import Any

from minijax import lax, nn
from minijax.numpy.transcendental import real_floats
from minijax.operation import operation
from minijax_stage2.promotion import to_inexact

Axes = int | tuple[int, ...] | None


@operation
def expit(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return lax.logistic(to_inexact(x))


@operation
def logit(x: Any) -> Any:
    """`log(x / (1 - x))`, which `expit` undoes."""
    (x,) = real_floats("logit", x)
    return lax.sub(lax.log(x), lax.log1p(lax.neg(x)))


@operation(static="axis")
def softmax(x: Any, *, axis: Axes = None) -> Any:
    """`exp(x)` scaled so that the sum over the axes, all if None, is 1."""
    return nn.softmax(x, axis)


@operation(static="axis")
def log_softmax(x: Any, *, axis: Axes = None) -> Any:
    """The logarithm of `softmax`, exact also where that is nearly 0."""
    return nn.log_softmax(x, axis)


__all__ = [
    "expit",
    "log_softmax",
    "logit",
    "softmax",
]
