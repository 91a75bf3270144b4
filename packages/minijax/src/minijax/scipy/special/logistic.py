"""The logistic function, and exponentials in sums."""

from __future__ import annotations

from typing import Any

from minijax import nn
from minijax.lax import promoting as lax
from minijax.numpy.math.operands import real_floats
from minijax.primitives.declare import lower_by_primitives, unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2.promotion import to_inexact

Axes = int | tuple[int, ...] | None


@operation
def expit(x: ArrayLike) -> Array:
    """`1 / (1 + exp(-x))`.

    >>> minijax.scipy.special.expit(jnp.array([-1e3, 0.0, 1e3]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return lax.logistic(to_inexact(x))


def _logit(x: Any) -> Any:
    return lax.sub(lax.log(x), lax.log1p(lax.neg(x)))


_logit_of = unary(
    "logit",
    "",
    hlo=lower_by_primitives(_logit),
    kinds="f",
    jvp=lambda t, out, x: lax.div(t, lax.mul(x, lax.sub(1.0, x))),
)


@operation
def logit(x: ArrayLike) -> Array:
    """`log(x / (1 - x))`, which `expit` undoes.

    >>> minijax.scipy.special.logit(jnp.array([0.0, 0.5, 1.0]))
    Array([-inf,   0.,  inf], dtype=float32)
    """
    (x,) = real_floats("logit", x)
    return _logit_of(x)


@operation(static="axis")
def softmax(x: ArrayLike, *, axis: Axes = None) -> Array:
    """`exp(x)` scaled so that the sum over the axes, all if None, is 1.

    >>> minijax.scipy.special.softmax(jnp.array([[0.0, 0.0], [0.0, -1e3]]), axis=1)
    Array([[0.5, 0.5],
           [1. , 0. ]], dtype=float32)
    """
    return nn.softmax(x, axis)


@operation(static="axis")
def log_softmax(x: ArrayLike, *, axis: Axes = None) -> Array:
    """The logarithm of `softmax`, accurate even where that is nearly 0.

    >>> minijax.scipy.special.log_softmax(jnp.array([0.0, -1e3, -2e3]))
    Array([    0., -1000., -2000.], dtype=float32)
    """
    return nn.log_softmax(x, axis)


__all__ = ["expit", "log_softmax", "logit", "softmax"]
