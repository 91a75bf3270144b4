"""The probabilities of normally distributed numbers."""

import math
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax import lax
from minijax.declare import lower_by_primitives, unary
from minijax.lax.elementwise import where
from minijax.numpy.transcendental import real_floats
from minijax.operation import operation
from minijax_stage2 import typeof


@operation
def ndtr(x: Any) -> Any:
    """The probability that a normally distributed number is at most `x`.

    >>> f"{minijax.scipy.special.ndtr(0.0):.3f}", f"{minijax.scipy.special.ndtr(1.96):.3f}"
    ('0.500', '0.975')
    """
    (x,) = real_floats("ndtr", x)
    scaled = lax.mul(x, math.sqrt(0.5))
    distance = lax.abs(scaled)
    near = lax.add(1.0, lax.erf(scaled))
    tail = lax.erfc(distance)
    far = where(lax.gt(scaled, 0), lax.sub(2.0, tail), tail)
    return lax.mul(0.5, where(lax.lt(distance, 0.5 * math.sqrt(2)), near, far))


def _log_ndtr(x: Any) -> Any:
    dtype = typeof(x).dtype
    if dtype.itemsize < 4:
        return stage2.astype(_log_ndtr(stage2.astype(x, np.float32)), dtype)
    far, above = (-20.0, 8.0) if dtype == np.float64 else (-10.0, 5.0)
    is_far = lax.lt(x, far)
    square = lax.square(where(is_far, x, far))
    inverse = lax.div(1.0, square)
    # The first terms of the asymptotic series of Mills' ratio.
    series = lax.mul(inverse, lax.sub(1.0, lax.mul(inverse, lax.sub(3.0, lax.mul(15.0, inverse)))))
    logs = lax.add(lax.log(square), lax.add(square, math.log(2 * math.pi)))
    tail = lax.add(lax.mul(-0.5, logs), lax.log1p(lax.neg(series)))
    middle = lax.log(ndtr(lax.max(x, far)))
    return where(is_far, tail, where(lax.gt(x, above), lax.neg(ndtr(lax.neg(x))), middle))


def _density_over(x: Any, log_probability: Any) -> Any:
    """The normal density at `x`, divided by a probability."""
    exponent = lax.sub(lax.mul(-0.5, lax.square(x)), 0.5 * math.log(2 * math.pi))
    return lax.exp(lax.sub(exponent, log_probability))


_log_ndtr_of = unary(
    "log_ndtr",
    "",
    hlo=lower_by_primitives(_log_ndtr),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _density_over(x, out)),
)


def _ndtri(p: Any) -> Any:
    """A rational guess (Abramowitz and Stegun 26.2.23), made exact by Newton's method."""
    dtype = typeof(p).dtype
    if dtype.itemsize < 4:
        return stage2.astype(_ndtri(stage2.astype(p, np.float32)), dtype)
    is_inside = lax.bitwise_and(lax.gt(p, 0.0), lax.lt(p, 1.0))
    is_upper = lax.gt(p, 0.5)
    log_tail = lax.log(where(is_inside, where(is_upper, lax.sub(1.0, p), p), 0.5))
    t = lax.sqrt(lax.mul(-2.0, log_tail))
    above = _polynomial(t, 0.010328, 0.802853, 2.515517)
    x = lax.sub(lax.div(above, _polynomial(t, 0.001308, 0.189269, 1.432788, 1.0)), t)
    for _ in range(3):
        out = _log_ndtr(x)
        x = lax.sub(x, lax.div(lax.sub(out, log_tail), _density_over(x, out)))
    x = where(is_upper, lax.neg(x), x)
    at_ends = where(lax.eq(p, 0.0), -math.inf, where(lax.eq(p, 1.0), math.inf, math.nan))
    return where(is_inside, x, at_ends)


def _polynomial(x: Any, *coefficients: float) -> Any:
    """The polynomial with these coefficients, highest degree first."""
    out: Any = coefficients[0]
    for c in coefficients[1:]:
        out = lax.add(lax.mul(out, x), c)
    return out


_ndtri_of = unary(
    "ndtri",
    "",
    hlo=lower_by_primitives(_ndtri),
    kinds="f",
    jvp=lambda t, out, p: lax.div(t, _density_over(out, 0.0)),
)


@operation(static="series_order")
def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """The logarithm of `ndtr`, exact also where that is nearly 0.

    Arguments:
        x: real numbers.
        series_order: must be 3: how many terms of a series are used far from 0.

    >>> f"{minijax.scipy.special.log_ndtr(-50.0):.2f}", minijax.scipy.special.ndtr(-50.0).item()
    ('-1254.83', 0.0)
    """
    if series_order != 3:
        raise NotImplementedError(f"log_ndtr: series_order must be 3, found {series_order}")
    return _log_ndtr_of(*real_floats("log_ndtr", x))


@operation
def ndtri(p: Any) -> Any:
    """The number that a normally distributed one is at most with probability `p`.

    >>> f"{minijax.scipy.special.ndtri(0.975):.2f}"
    '1.96'
    """
    return _ndtri_of(*real_floats("ndtri", p))


__all__ = [
    "log_ndtr",
    "ndtr",
    "ndtri",
]
