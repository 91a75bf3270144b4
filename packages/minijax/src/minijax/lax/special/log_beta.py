"""The logarithm of the beta function."""

import math
from collections.abc import Callable
from typing import Any

from minijax.lax.elementwise.abs_and_sign import abs
from minijax.lax.elementwise.arithmetic import add, div, mul, neg, square, sub
from minijax.lax.elementwise.bits import bitwise_and, bitwise_or
from minijax.lax.elementwise.comparisons import eq, gt, le, lt
from minijax.lax.elementwise.extremes import max, min
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import log, log1p
from minijax.lax.special.gamma_functions import lgamma
from minijax.runtime.array import ArrayLike

STIRLING_FROM = 10.0  # from here on the terms below are enough
# Stirling's series, of what the logarithm of the gamma function is beyond its leading terms.
_STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
)  # fmt: skip


def beyond_stirling(x: Any) -> Any:
    """The logarithm of the gamma function, less Stirling's formula, of `x` that is not small."""
    inverse = div(1.0, x)
    of_square = square(inverse)
    series: ArrayLike = 0.0
    for coefficient in reversed(_STIRLING):
        series = add(coefficient, mul(of_square, series))
    return mul(inverse, series)


def by_parts(a: Any, b: Any, lgamma: Callable[[Any], Any]) -> Any:
    """The logarithms of `gamma(a) / gamma(a + b)`, with `a` the larger one, and of `gamma(b)`."""
    is_less = lt(abs(a), abs(b))
    near, far = where(is_less, a, b), where(is_less, b, a)
    total = add(far, near)
    growth = sub(lgamma(far), lgamma(total))
    asymptotic = neg(mul(near, log(abs(far))))
    growth = where(eq(far, total), where(eq(near, 0.0), 0.0, asymptotic), growth)
    log_of_near = lgamma(near)
    at_pole = bitwise_and(lt(near, 0.0), eq(log_of_near, math.inf))
    at_pole = bitwise_and(at_pole, gt(total, 0.0))  # even if the growth is not a number
    return where(at_pole, math.inf, add(growth, log_of_near))


def log_beta(a: Any, b: Any) -> Any:
    """`log(abs(beta(a, b)))` of float64 numbers, without subtracting large logarithms.

    After DiDonato and Morris (ACM TOMS 708, 1992).
    """
    small, large = min(a, b), max(a, b)
    is_ordinary = bitwise_or(lt(large, STIRLING_FROM), le(small, 0.0))
    logs = by_parts(a, b, lgamma)
    least, most = where(is_ordinary, 1.0, small), where(is_ordinary, STIRLING_FROM, large)
    total, ratio = add(least, most), div(least, most)
    is_tiny = lt(ratio, 1e-17)  # and infinity times zero is near
    growth = log1p(ratio)
    beyond = sub(beyond_stirling(most), beyond_stirling(total))
    power = where(is_tiny, least, mul(sub(total, 0.5), growth))
    one = sub(sub(beyond, power), mul(least, sub(log(most), 1.0)))
    one = add(lgamma(least), one)
    share = log(div(ratio, add(1.0, ratio)))
    both = sub(0.5 * math.log(2 * math.pi), mul(0.5, log(most)))
    both = add(both, add(beyond, beyond_stirling(where(lt(least, 1.0), 1.0, least))))
    both = add(both, mul(sub(least, 0.5), share))
    both = sub(both, where(is_tiny, least, mul(most, growth)))
    return where(is_ordinary, logs, where(lt(least, STIRLING_FROM), one, both))
