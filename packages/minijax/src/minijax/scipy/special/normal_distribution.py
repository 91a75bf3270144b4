"""The probabilities of normally distributed numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_32_bits_at_least, in_64_bits, to_64_bits
from minijax.lax.special.polynomials import polynomial
from minijax.numpy.math.operands import strong_floats
from minijax.primitives.declare import Unary, lower_by_primitives, unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.special.error_functions import _erfcx
from minijax_stage2 import typeof


@operation
def ndtr(x: ArrayLike) -> Array:
    """The normal distribution function: the probability of at most `x`.

    >>> f"{minijax.scipy.special.ndtr(0.0):.3f}", f"{minijax.scipy.special.ndtr(1.96):.3f}"
    ('0.500', '0.975')
    """
    (x,) = strong_floats("ndtr", x)
    scaled = lax.mul(x, math.sqrt(0.5))
    distance = lax.abs(scaled)
    near = lax.add(1.0, lax.erf(scaled))
    tail = lax.erfc(distance)
    far = where(lax.gt(scaled, 0), lax.sub(2.0, tail), tail)
    return lax.mul(0.5, where(lax.lt(distance, 0.5 * math.sqrt(2)), near, far))


def _log_ndtr(x: Any) -> Any:
    far, above = (-20.0, 8.0) if typeof(x).dtype == np.float64 else (-10.0, 5.0)
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
    hlo=in_32_bits_at_least(_log_ndtr),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _density_over(x, out)),
)


# Numerators and denominators of Wichura's AS 241, lowest degree first: in 0.425**2 - (p - 0.5)**2,
# where that is positive; elsewhere in the root of the logarithm of the tail, less 1.6 up to 5, and
# less 5 beyond. The first is what his function exceeds its value in the middle by, which is most of
# it and has no rounding error; of the numerator, what does not vanish there is the remainder.
_IN_MIDDLE, _REMAINDER = math.sqrt(2 * math.pi), 1.7510003717598482e-14
_MIDDLE = (
    (4.874765941399854e0, 1.7690044402900705e2, 2.3583059454499707e3, 1.422148343116457e4,
     3.857904915793208e4, 4.0495706885421416e4, 1.0591799914467878e4),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def _ndtri(p: Any, log: Callable[[Any], Any] = lax.log) -> Any:
    """Wichura's rational functions (Applied Statistics 37, 1988, algorithm AS 241: PPND16)."""
    centred = lax.sub(p, 0.5)
    is_middle = lax.le(lax.abs(centred), 0.425)
    square = where(is_middle, lax.square(centred), 0.0)
    above, below = _polynomials(_MIDDLE, lax.sub(0.425**2, square))
    excess = lax.div(lax.add(lax.mul(square, above), _REMAINDER), below)
    middle = lax.mul(centred, lax.add(_IN_MIDDLE, excess))
    size = _size_in_tail(lax.sqrt(lax.neg(log(_tail(p)))))
    x = where(is_middle, middle, where(lax.gt(centred, 0.0), size, lax.neg(size)))
    return _with_ends(p, x, -math.inf, math.inf)


def _rounded_ndtri(p: Any) -> Any:
    """Sums in float64; float32 would lose 3 units in the last place, as float64 does in tails."""
    dtype = typeof(p).dtype
    if dtype.itemsize == 8:
        return _nearer_in_tail(p, _ndtri(p))
    return stage2.astype(_ndtri(to_64_bits(p), _log_in_32_bits), dtype)


def _nearer_in_tail(p: Any, x: Any) -> Any:
    """Newton's step from a quantile `x`: of the logarithm of the tail by its distance."""
    is_tail = lax.lt(_tail(p), 0.15)
    distance = where(is_tail, lax.abs(x), 1.0)
    log_tail = lax.log(where(is_tail, _tail(p), 0.5))
    scaled = _erfcx(lax.mul(distance, math.sqrt(0.5)))
    log_found = lax.sub(lax.log(lax.mul(0.5, scaled)), lax.mul(0.5, lax.square(distance)))
    step = lax.mul(lax.sub(log_found, log_tail), lax.mul(math.sqrt(math.pi / 2), scaled))
    nearer = lax.add(distance, step)
    return where(is_tail, where(lax.lt(x, 0.0), lax.neg(nearer), nearer), x)


def _log_in_32_bits(x: Any) -> Any:
    """The logarithm of a float64 that is exact as a float32, ten times as fast as in 64 bits."""
    is_small = lax.lt(x, 2.0**-120)  # perhaps subnormal
    normal = stage2.astype(lax.mul(x, where(is_small, 2.0**64, 1.0)), np.float32)
    log = stage2.astype(lax.log(normal), np.float64)
    return lax.sub(log, where(is_small, 64 * math.log(2), 0.0))


def _tail(p: Any) -> Any:
    """The probability of one tail, beyond the quantile; 0.5 if `p` is not a probability."""
    is_inside = lax.bitwise_and(lax.gt(p, 0.0), lax.lt(p, 1.0))
    return where(is_inside, where(lax.gt(p, 0.5), lax.sub(1.0, p), p), 0.5)


def _size_in_tail(r: Any) -> Any:
    is_near = lax.le(r, 5.0)
    near = _ratio(_TAIL, where(is_near, lax.sub(r, 1.6), 0.0))
    return where(is_near, near, _ratio(_FAR_TAIL, lax.sub(r, 5.0)))


def _with_ends(p: Any, inside: Any, at_zero: float, at_one: float) -> Any:
    at_ends = where(lax.eq(p, 0.0), at_zero, where(lax.eq(p, 1.0), at_one, math.nan))
    return where(lax.bitwise_and(lax.gt(p, 0.0), lax.lt(p, 1.0)), inside, at_ends)


def _polynomials(coefficients: Sequence[Sequence[float]], x: Any) -> list[Any]:
    return [polynomial([*reversed(each)], x) for each in coefficients]


def _ratio(coefficients: Sequence[Sequence[float]], x: Any) -> Any:
    return lax.div(*_polynomials(coefficients, x))


def _ndtri_slope(p: Any) -> Any:
    """In the middle, the inverse of the density, which magnifies errors of `x` by its square.

    In the tails, Mills' ratio, the tail by the density, divided by the tail.
    """
    is_middle = lax.le(lax.abs(lax.sub(p, 0.5)), 0.425)
    x = _nearer_in_tail(p, _ndtri(p))
    middle = lax.mul(_IN_MIDDLE, lax.exp(lax.mul(0.5, lax.square(x))))
    scaled = _erfcx(lax.mul(where(is_middle, 1.0, lax.abs(x)), math.sqrt(0.5)))
    mills = lax.mul(math.sqrt(math.pi / 2), scaled)
    outside = lax.div(mills, _tail(p))
    return _with_ends(p, where(is_middle, middle, outside), math.inf, math.inf)


_ndtri_slope_of = unary(
    "ndtri_slope",
    "",
    hlo=in_64_bits(_ndtri_slope),
    kinds="f",
    jvp=lambda t, out, p: lax.mul(t, lax.mul(lax.mul(_ndtri_of(p), out), out)),
)
_ndtri_of: Unary = unary(
    "ndtri",
    "",
    hlo=lower_by_primitives(_rounded_ndtri),
    kinds="f",
    jvp=lambda t, out, p: lax.mul(t, _ndtri_slope_of(p)),
)


@operation(static="series_order")
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of `ndtr`, accurate even where that is nearly 0.

    Arguments:
        x: real numbers.
        series_order: must be 3: the number of terms of the series used far from 0.

    >>> f"{minijax.scipy.special.log_ndtr(-50.0):.2f}", minijax.scipy.special.ndtr(-50.0).item()
    ('-1254.83', 0.0)
    """
    if series_order != 3:
        raise NotImplementedError(f"log_ndtr: series_order must be 3, found {series_order}")
    return _log_ndtr_of(*strong_floats("log_ndtr", x))


@operation
def ndtri(p: ArrayLike) -> Array:
    """The normal quantile: the number that is not exceeded with probability `p`.

    >>> f"{minijax.scipy.special.ndtri(0.975):.2f}"
    '1.96'
    """
    return _ndtri_of(*strong_floats("ndtri", p))


@operation
def erfcinv(y: ArrayLike) -> Array:
    """The number whose `erfc` is `y`, accurate also where `y` is nearly 0.

    Raises:
        ValueError: `y` is complex.

    >>> minijax.scipy.special.erfcinv(jnp.array([0.0, 1.0, 2.0]))
    Array([ inf,   0., -inf], dtype=float32)
    """
    (y,) = strong_floats("erfcinv", y)
    return lax.mul(lax.sub(0.0, _ndtri_of(lax.mul(y, 0.5))), math.sqrt(0.5))


__all__ = ["erfcinv", "log_ndtr", "ndtr", "ndtri"]
