"""The Box-Cox transformations, powers that continue to the logarithm."""

from __future__ import annotations

import math
from typing import Any

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.numpy.math.operands import strong_floats
from minijax.primitives.declare import Unary, unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation


def _series(u: Any, first: int) -> Any:
    """The sum of `(n + 1) ** first / (n + 1 + first)! * u**n`, for small `u`."""
    total: Any = 0.0
    for n in reversed(range(12)):
        total = lax.add(lax.mul(total, u), (n + 1) ** first / math.factorial(n + 1 + first))
    return total


def _mean_exponential(u: Any) -> Any:
    is_small = lax.lt(lax.abs(u), 0.1)
    size = where(is_small, 1.0, u)
    series = _series(where(is_small, u, 0.0), 0)
    quotient = lax.div(lax.expm1(size), size)
    return where(is_small, series, where(lax.eq(u, math.inf), math.inf, quotient))


def _slope(u: Any) -> Any:
    is_small = lax.lt(lax.abs(u), 0.1)
    size = where(is_small, 1.0, u)
    quotient = lax.div(lax.sub(lax.exp(size), lax.div(lax.expm1(size), size)), size)
    return where(is_small, _series(where(is_small, u, 0.0), 1), quotient)


def _curvature(out: Any, x: Any) -> Any:
    """The slope of the slope; it equals 1/3 at 0."""
    size = where(lax.eq(x, 0.0), 1.0, x)
    quotient = lax.div(lax.sub(lax.exp(size), lax.mul(2.0, out)), size)
    return where(lax.eq(x, 0.0), 1 / 3, quotient)


_slope_of: Unary = unary(
    "mean_exponential_slope",
    "",
    hlo=in_64_bits(_slope),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _curvature(out, x)),
)
# expm1(x) / x, the mean of the exponential between 0 and x.
_mean_exponential_of: Unary = unary(
    "mean_exponential",
    "",
    hlo=in_64_bits(_mean_exponential),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _slope_of(x)),
)


def _power(log: Any, lmbda: Any) -> Any:
    """`expm1(lmbda * log) / lmbda`, even where one of them is 0."""
    is_infinite = lax.eq(lax.abs(log), math.inf)
    finite = where(is_infinite, 0.0, log)
    inner = lax.mul(finite, _mean_exponential_of(lax.mul(lmbda, finite)))
    # At the ends of the line a power is 0 or infinite.
    is_zero = lax.eq(lmbda, 0.0)
    limit = lax.div(-1.0, where(is_zero, 1.0, lmbda))
    grows = lax.eq(lax.gt(log, 0.0), lax.gt(lmbda, 0.0))
    at_end = where(lax.bitwise_or(is_zero, grows), log, limit)
    return where(is_infinite, at_end, inner)


@operation
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """`(x**lmbda - 1) / lmbda`, or `log(x)` where `lmbda` is 0; NaN for negative `x`.

    Raises:
        ValueError: an argument is complex.

    >>> print(boxcox(4.0, jnp.array([0.5, 0.0])))
    [2.        1.3862944]
    """
    x, lmbda = strong_floats("boxcox", x, lmbda)
    return _power(lax.log(x), lmbda)


@operation
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """`boxcox(1 + x, lmbda)`, accurate also for small `x`.

    Raises:
        ValueError: an argument is complex.

    >>> f"{minijax.scipy.special.boxcox1p(1e-10, 0.5):.3e}"
    '1.000e-10'
    """
    x, lmbda = strong_floats("boxcox1p", x, lmbda)
    return _power(lax.log1p(x), lmbda)


__all__ = ["boxcox", "boxcox1p"]
