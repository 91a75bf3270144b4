"""The error functions and the normal distribution: erf, erfcx, wofz, ndtr, owens_t."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax import numpy as jnp
from glassjax.lax.formulas import horner, in_32_bits_at_least, in_64_bits, to_64_bits
from glassjax.numpy import transcendental
from glassjax.numpy.cases import where
from glassjax.numpy.dtypes import default_float
from glassjax.primitives import declare
from glassjax.primitives.declare import Unary, binary, lower_by_primitives, unary
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof

# The error function.


@operation
def erf(x: ArrayLike) -> Array:
    """The error function of `x`.

    >>> f"{glassjax.scipy.special.erf(1.0):.3f}"
    '0.843'
    """
    return lax.erf(*transcendental.real_floats("erf", x))


@operation
def erfc(x: ArrayLike) -> Array:
    """`1 - erf(x)`, accurate even where that is nearly 0.

    >>> f"{glassjax.scipy.special.erfc(5.0):.3e}"
    '1.537e-12'
    """
    return lax.erfc(*transcendental.real_floats("erfc", x))


@operation
def erfinv(x: ArrayLike) -> Array:
    """The number whose error function is `x`.

    >>> f"{glassjax.scipy.special.erfinv(glassjax.scipy.special.erf(0.5)):.3f}"
    '0.500'
    """
    return lax.erf_inv(*transcendental.real_floats("erfinv", x))


# erfcx(x) * (2 * x + 1) from 1/2 on, in 7 / (x + 3) - 1, highest degree first.
_ERFCX = (
    1.7273984377393314e-11, -7.839796597428872e-12, -2.0194772612135376e-10,
    1.6242483762069316e-10, 1.336870386119782e-09, -1.7665958819602618e-09, -7.211389633963752e-09,
    1.448219496903576e-08, 3.8721429616343525e-08, -1.0511438493965513e-07, -2.410820745924068e-07,
    7.238739104902653e-07, 1.9136503491626945e-06, -4.577269092079202e-06, -1.8863222935535367e-05,
    1.7479106593904733e-05, 0.00019788759716667242, 0.00024740376448686123, -0.001392061249454098,
    -0.008073603938175784, -0.02280179959886874, -0.04180651066502489, -0.0466545853467421,
    -0.003496013513368038, 0.12216847723549219, 1.2329951186255526,
)  # fmt: skip
# Minus the slope of erfcx times (x + 1)**2, in the same variable.
_ERFCX_SLOPE = (
    -1.1757547485083518e-11, -7.566186347797371e-11, 2.0591023672070005e-10, 7.876754824745773e-10,
    -1.9291555111922804e-09, -4.209866607439699e-09, 1.3427759326223213e-08,
    1.5658337202174124e-08, -8.11383845293618e-08, -4.5941582264855266e-08, 4.690592604209732e-07,
    1.3621469389926802e-07, -2.7598805008963138e-06, -9.865376376395777e-07,
    1.6835260799556332e-05, 1.4721963446774055e-05, -9.924770366263751e-05,
    -0.00020857456113329017, 0.0003781045233359512, 0.0021934506270083667, 0.0028020489708460313,
    -0.005165742593417587, -0.027518286612198375, -0.05050604770012541, -0.026953169270668067,
    0.10295514153201475, 0.34605620908994794, 0.8095876523755363,
)  # fmt: skip


def _erfcx_variable(x: Any) -> Any:
    return 7.0 / (x + 3.0) - 1.0


def _exp_of_square(x: Any) -> Any:
    """`exp(x**2)`, without the rounding error of the square.

    `x` is split in two, so that the square of the first part is exact (Moshier's Cephes, expx2).
    """
    x = where(abs(x) < 64.0, x, 64.0)  # the exponential of its square is infinite
    first = lax.round(x * 128.0) / 128.0
    return lax.exp(lax.square(first)) * lax.exp((x - first) * (x + first))


def _erfcx(x: Any) -> Any:
    """The Chebyshev series of Shepherd and Laframboise (Math. Comp. 36, 1981) for large `x`."""
    is_far = x > 0.5
    near, far = where(is_far, 0.5, x), where(is_far, x, 0.5)
    product = _exp_of_square(near) * lax.erfc(near)
    tail = horner(_ERFCX, _erfcx_variable(far)) / (2.0 * far + 1.0)
    return where(is_far, tail, product)


def _erfcx_slope(x: Any) -> Any:
    """`2 * x * erfcx(x) - 2 / sqrt(pi)`; a series for large `x`, where the difference cancels."""
    is_far = x > 0.5
    near, far = where(is_far, 0.5, x), where(is_far, x, 0.5)
    difference = near * 2.0 * _erfcx(near) - 2 / math.sqrt(math.pi)
    inverse = 1.0 / (far + 1.0)
    tail = horner(_ERFCX_SLOPE, _erfcx_variable(far)) * inverse * -inverse
    return where(is_far, tail, difference)


_erfcx_slope_of = unary(
    "erfcx_slope",
    "",
    hlo=in_64_bits(_erfcx_slope),
    kinds="f",
    jvp=lambda t, out, x: t * (2.0 * (_erfcx_of(x) + x * out)),
)
_erfcx_of: Unary = unary(
    "erfcx",
    "",
    hlo=in_64_bits(_erfcx),
    kinds="f",
    jvp=lambda t, out, x: t * _erfcx_slope_of(x),
)


@operation
def erfcx(x: ArrayLike) -> Array:
    """`exp(x**2) * erfc(x)`, even where the first factor overflows or the second underflows.

    >>> f"{glassjax.scipy.special.erfcx(1.0):.3f}", f"{glassjax.scipy.special.erfcx(1e10):.3e}"
    ('0.428', '5.642e-11')
    """
    return _erfcx_of(*transcendental.strong_floats("erfcx", x))


# `wofz`, the scaled error function of complex numbers, and `dawsn`, its part on the real line.


_WOFZ_COUNT = 12
_WOFZ_STEP = math.sqrt(math.pi / _WOFZ_COUNT)
_WOFZ_EVEN = [_WOFZ_STEP * k for k in range(1, _WOFZ_COUNT)]
_WOFZ_ODD = [_WOFZ_STEP * (k + 0.5) for k in range(_WOFZ_COUNT)]


def _multiplied_by_i(z: Any) -> Any:
    return lax.complex(-lax.imag(z), lax.real(z))


def _exp_of_negative_square(z: Any) -> Any:
    """`exp(-z**2)`, whose absolute value is computed from a product: a difference would cancel."""
    x, y = lax.real(z), lax.imag(z)
    size = lax.exp((y - x) * (y + x))
    angle = -2.0 * (x * y)
    is_real = angle == 0.0
    imag = where(is_real, 0.0, size * lax.sin(angle))
    return lax.complex(where(is_real, size, size * lax.cos(angle)), imag)


def _wofz_first_quadrant(z: Any) -> Any:
    """`wofz` by the midpoint and trapezoidal rules, plus the residue of a pole near the real line.

    M. Al Azah and S. Chandler-Wilde, "Computation of the complex error function using modified
    trapezoidal rules", SIAM J. Numer. Anal. 59, 2021. The error is a few units in the last place.
    """
    x, y = lax.real(z), lax.imag(z)
    square = z * z

    def summed(nodes: list[float]) -> Any:
        total = lax.full_like(z, 0.0)
        for node in nodes:
            total = total + math.exp(-(node**2)) / (square - node**2)
        return _multiplied_by_i(z) * (2 * _WOFZ_STEP / math.pi * total)

    offset = x / _WOFZ_STEP
    offset = offset - lax.floor(offset)
    is_far = y >= lax.max(*stage2.promote(x, math.pi / _WOFZ_STEP))
    is_between = (y < x) & (offset >= 0.25) & (offset <= 0.75)
    is_odd = is_far | ~is_between
    # The residue: exp(-z**2) over 1 plus or minus exp(-2 pi i z / step).
    turned = z * (-2 * math.pi / _WOFZ_STEP)
    turned = lax.exp(where(is_far, lax.full_like(z, 0.0), _multiplied_by_i(turned)))
    divisor = 1.0 + where(is_odd, turned, -turned)
    residue = 2.0 * _exp_of_negative_square(z) / divisor
    at_zero = lax.complex(lax.full_like(x, 0.0), lax.full_like(x, _WOFZ_STEP / math.pi)) / z
    even = at_zero + summed(_WOFZ_EVEN)
    return where(is_odd, summed(_WOFZ_ODD), even) + where(is_far, lax.full_like(z, 0.0), residue)


def _wofz(z: Any) -> Any:
    """`wofz` of the first quadrant; the others by reflection."""
    x, y = lax.real(z), lax.imag(z)
    size_x, size_y = lax.abs(x), lax.abs(y)
    is_large = (size_x > 1e8) | (size_y > 1e8)
    inner = lax.complex(where(is_large, 1.0, size_x), where(is_large, 1.0, size_y))
    near = _wofz_first_quadrant(inner)
    # i / (sqrt(pi) * z), by the larger part, so that nothing overflows.
    is_wide = size_x > size_y
    larger = where(is_large, where(is_wide, size_x, size_y), 1.0)
    ratio = where(is_large, where(is_wide, size_y, size_x), 0.0) / larger
    ratio = where(ratio == ratio, ratio, 1.0)
    whole = 1 / math.sqrt(math.pi) / larger / (1.0 + lax.square(ratio))
    other = whole * ratio
    far = lax.complex(where(is_wide, other, whole), where(is_wide, whole, other))
    w = where(is_large, far, near)
    w = where(x < 0.0, lax.conj(w), w)
    below = lax.complex(-x, -y)
    reflected = 2.0 * _exp_of_negative_square(below) - lax.conj(w)
    is_number = (x == x) & (y == y)
    w = where(y < 0.0, reflected, w)
    # On the imaginary axis it is real.
    w = lax.complex(lax.real(w), where(x == 0.0, 0.0, lax.imag(w)))
    return where(is_number, w, lax.full_like(w, complex(math.nan, math.nan)))


@declare.with_64_bits
def _wofz_in_128_bits(z: Any) -> Any:
    dtype = typeof(z).dtype
    return stage2.astype(_wofz(stage2.astype(z, np.complex128)), dtype)


def _slope_of_wofz(t: Any, out: Any, z: Any) -> Any:
    constant = lax.full_like(out, 2j / math.sqrt(math.pi))
    return t * (constant - 2.0 * (z * out))


_wofz_of: Unary = unary(
    "wofz", "", hlo=lower_by_primitives(_wofz_in_128_bits), kinds="c", jvp=_slope_of_wofz
)


@operation
def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function, `exp(-z**2) * erfc(-1j * z)`; a complex number even for a real `z`.

    Source: Al Azah and Chandler-Wilde, 2021.

    >>> print(wofz(jnp.array([0.0, 1j])).round(4))
    [1.    +0.j 0.4276+0.j]
    """
    (z,) = transcendental.strong(transcendental.inexact_arrays(z))
    dtype = np.result_type(typeof(z).dtype, np.complex64)
    return _wofz_of(lax.convert_element_type(z, dtype))


_DAWSN_NEAR = 7.0  # beyond, the asymptotic series is exact
_BELL_STEP = 0.2
_BELL = [(n, math.exp(-((n * _BELL_STEP) ** 2)) / n) for n in range(1, 68, 2)]
_FAR_TERMS = [math.prod(range(1, 2 * k, 2)) / 2**k for k in reversed(range(24))]


def _dawsn(x: Any) -> Any:
    """Rybicki's sum of hyperbolic sines, in which none cancel (Computers in Physics 3, 1989)."""
    is_near = lax.abs(x) < _DAWSN_NEAR
    near, far = where(is_near, x, 0.0), where(is_near, _DAWSN_NEAR, x)
    total: Any = 0.0
    for n, weight in _BELL:
        angle = 2 * n * _BELL_STEP * near
        total = total + weight * lax.sinh(angle)
    sum_of_sines = 2 / math.sqrt(math.pi) * total * lax.exp(-lax.square(near))
    inverse = 1.0 / far
    tail = 0.5 * inverse * horner(_FAR_TERMS, lax.square(inverse))
    return where(x == x, where(is_near, sum_of_sines, tail), math.nan)


_dawsn_of: Unary = unary(
    "dawsn",
    "",
    hlo=in_64_bits(_dawsn),
    kinds="f",
    # 1 - 2 x dawsn(x) cancels for large x; the slope has its own asymptotic series.
    jvp=lambda t, out, x: t * _dawsn_slope_of(x),
)


def _dawsn_slope(x: Any) -> Any:
    is_near = lax.abs(x) < _DAWSN_NEAR
    near, far = where(is_near, x, 0.0), where(is_near, _DAWSN_NEAR, x)
    difference = 1.0 - 2.0 * near * _dawsn(near)
    inverse = lax.square(1.0 / far)
    tail = -(inverse * horner(_FAR_TERMS[:-1], inverse))
    return where(x == x, where(is_near, difference, tail), math.nan)


_dawsn_slope_of: Unary = unary(
    "dawsn_slope",
    "",
    hlo=in_64_bits(_dawsn_slope),
    kinds="f",
    jvp=lambda t, out, x: t * (-2.0 * (_dawsn_of(x) + x * out)),
)


@operation
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral: `exp(-x**2)` times the integral of `exp(t**2)` from 0 to `x`.

    Raises:
        ValueError: `x` is complex.

    >>> f"{glassjax.scipy.special.dawsn(1.0):.4f}"
    '0.5381'
    """
    return _dawsn_of(*transcendental.strong_floats("dawsn", x))


# The normal distribution function, its logarithm and its inverse.


@operation
def ndtr(x: ArrayLike) -> Array:
    """The normal distribution function: the probability of at most `x`.

    >>> f"{glassjax.scipy.special.ndtr(0.0):.3f}", f"{glassjax.scipy.special.ndtr(1.96):.3f}"
    ('0.500', '0.975')
    """
    (x,) = transcendental.strong_floats("ndtr", x)
    scaled = x * math.sqrt(0.5)
    distance = lax.abs(scaled)
    return 0.5 * lax.select(
        distance < 0.5 * math.sqrt(2),
        1.0 + lax.erf(scaled),
        lax.select(scaled > 0, 2.0 - lax.erfc(distance), lax.erfc(distance)),
    )


def _log_ndtr(x: Any) -> Any:
    far, above = (-20.0, 8.0) if typeof(x).dtype == np.float64 else (-10.0, 5.0)
    is_far = x < far
    square = lax.square(where(is_far, x, far))
    inverse = 1.0 / square
    # The first terms of the asymptotic series of Mills' ratio.
    series = inverse * (1.0 - inverse * (3.0 - 15.0 * inverse))
    logs = lax.log(square) + (square + math.log(2 * math.pi))
    tail = -0.5 * logs + lax.log1p(-series)
    middle = lax.log(ndtr(lax.max(*stage2.promote(x, far))))
    return where(is_far, tail, where(x > above, -ndtr(-x), middle))


def _density_over(x: Any, log_probability: Any) -> Any:
    """The normal density at `x`, divided by a probability."""
    exponent = -0.5 * lax.square(x) - 0.5 * math.log(2 * math.pi)
    return lax.exp(exponent - log_probability)


_log_ndtr_of = unary(
    "log_ndtr",
    "",
    hlo=in_32_bits_at_least(_log_ndtr),
    kinds="f",
    jvp=lambda t, out, x: t * _density_over(x, out),
)


# Numerators and denominators of Wichura's AS 241, lowest degree first: in 0.425**2 - (p - 0.5)**2
# where that is positive; elsewhere in the root r of minus the logarithm of the tail, as polynomials
# in r - 1.6 for r up to 5, and in r - 5 beyond. In the middle the value at p = 1/2 is subtracted,
# which is most of the function and has no rounding error: _REMAINDER is what the numerator keeps.
_IN_MIDDLE, _REMAINDER = math.sqrt(2 * math.pi), 1.7510003717598482e-14
_MIDDLE = (
    (4.874765941399854e0, 1.7690044402900705e2, 2.3583059454499707e3, 1.422148343116457e4,
     3.857904915793208e4, 4.0495706885421416e4, 1.0591799914467878e4),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
_NEAR_TAIL = (
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
    centred = p - 0.5
    is_middle = lax.abs(centred) <= 0.425
    square = where(is_middle, lax.square(centred), 0.0)
    above, below = _polynomials(_MIDDLE, 0.425**2 - square)
    excess = (square * above + _REMAINDER) / below
    middle = centred * (_IN_MIDDLE + excess)
    size = _size_in_tail(lax.sqrt(-log(_tail_probability(p))))
    x = where(is_middle, middle, where(centred > 0.0, size, -size))
    return _with_ends(p, x, -math.inf, math.inf)


@declare.with_64_bits
def _rounded_ndtri(p: Any) -> Any:
    """`ndtri` with sums in float64: float32 would lose 3 units in the last place."""
    dtype = typeof(p).dtype
    if dtype.itemsize == 8:
        return _nearer_in_tail(p, _ndtri(p))
    return stage2.astype(_ndtri(to_64_bits(p), _log_in_32_bits), dtype)


def _nearer_in_tail(p: Any, x: Any) -> Any:
    """One Newton step from a quantile `x`, for the logarithm of the tail."""
    is_tail = _tail_probability(p) < 0.15
    distance = where(is_tail, lax.abs(x), 1.0)
    log_tail = lax.log(where(is_tail, _tail_probability(p), 0.5))
    scaled = _erfcx(distance * math.sqrt(0.5))
    log_found = lax.log(0.5 * scaled) - 0.5 * lax.square(distance)
    step = (log_found - log_tail) * (math.sqrt(math.pi / 2) * scaled)
    nearer = distance + step
    return where(is_tail, where(x < 0.0, -nearer, nearer), x)


def _log_in_32_bits(x: Any) -> Any:
    """The logarithm of a float64 that is exact as a float32, ten times as fast as in 64 bits."""
    is_small = x < 2.0**-120  # may be subnormal
    normal = stage2.astype(x * where(is_small, 2.0**64, 1.0), np.float32)
    log = stage2.astype(lax.log(normal), np.float64)
    return log - where(is_small, 64 * math.log(2), 0.0)


def _tail_probability(p: Any) -> Any:
    """The probability of one tail, beyond the quantile; 0.5 if `p` is not a probability."""
    is_inside = (p > 0.0) & (p < 1.0)
    return where(is_inside, where(p > 0.5, 1.0 - p, p), 0.5)


def _size_in_tail(r: Any) -> Any:
    is_near = r <= 5.0
    near = _tail_ratio(_NEAR_TAIL, where(is_near, r - 1.6, 0.0))
    return where(is_near, near, _tail_ratio(_FAR_TAIL, r - 5.0))


def _with_ends(p: Any, inside: Any, at_zero: float, at_one: float) -> Any:
    at_ends = where(p == 0.0, at_zero, where(p == 1.0, at_one, math.nan))
    return where((p > 0.0) & (p < 1.0), inside, at_ends)


def _polynomials(coefficients: Sequence[Sequence[float]], x: Any) -> list[Any]:
    return [horner([*reversed(each)], x) for each in coefficients]


def _tail_ratio(coefficients: Sequence[Sequence[float]], x: Any) -> Any:
    above, below = _polynomials(coefficients, x)
    return above / below


def _ndtri_slope(p: Any) -> Any:
    """The inverse of the density in the middle; in the tails, Mills' ratio divided by the tail.

    Mills' ratio is the tail divided by the density. In the tails the inverse of the density would
    magnify errors of the quantile.
    """
    is_middle = lax.abs(p - 0.5) <= 0.425
    x = _nearer_in_tail(p, _ndtri(p))
    middle = _IN_MIDDLE * lax.exp(0.5 * lax.square(x))
    scaled = _erfcx(where(is_middle, 1.0, lax.abs(x)) * math.sqrt(0.5))
    mills = math.sqrt(math.pi / 2) * scaled
    outside = mills / _tail_probability(p)
    return _with_ends(p, where(is_middle, middle, outside), math.inf, math.inf)


_ndtri_slope_of = unary(
    "ndtri_slope",
    "",
    hlo=in_64_bits(_ndtri_slope),
    kinds="f",
    jvp=lambda t, out, p: t * (_ndtri_of(p) * out * out),
)
_ndtri_of: Unary = unary(
    "ndtri",
    "",
    hlo=lower_by_primitives(_rounded_ndtri),
    kinds="f",
    jvp=lambda t, out, p: t * _ndtri_slope_of(p),
)


@operation(static="series_order")
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of `ndtr`, accurate even where that is nearly 0.

    Arguments:
        x: real numbers.
        series_order: must be 3: the number of terms of the series used far from 0.

    Raises:
        NotImplementedError: `series_order` is not 3.

    >>> f"{glassjax.scipy.special.log_ndtr(-50.0):.2f}", glassjax.scipy.special.ndtr(-50.0).item()
    ('-1254.83', 0.0)
    """
    if series_order != 3:
        raise NotImplementedError(f"log_ndtr: series_order must be 3, found {series_order}")
    return _log_ndtr_of(*transcendental.strong_floats("log_ndtr", x))


@operation
def ndtri(p: ArrayLike) -> Array:
    """The normal quantile: the number that is not exceeded with probability `p`.

    >>> f"{glassjax.scipy.special.ndtri(0.975):.2f}"
    '1.96'
    """
    return _ndtri_of(*transcendental.strong_floats("ndtri", p))


@operation
def erfcinv(y: ArrayLike) -> Array:
    """The number whose `erfc` is `y`, accurate also where `y` is nearly 0.

    Raises:
        ValueError: `y` is complex.

    >>> glassjax.scipy.special.erfcinv(jnp.array([0.0, 1.0, 2.0]))
    Array([ inf,   0., -inf], dtype=float32)
    """
    (y,) = transcendental.strong_floats("erfcinv", y)
    return (0.0 - _ndtri_of(y * 0.5)) * math.sqrt(0.5)


# `owens_t`: the probability of a wedge under the bivariate normal distribution.


def _owens_t(h: Any, a: Any) -> Any:
    h = jnp.clip(jnp.abs(h), 0, _FARTHEST)
    is_steep = jnp.abs(a) > 1
    steep = jnp.where(is_steep, jnp.clip(jnp.abs(a), 0, _STEEPEST), 1)
    # T(h, a) of a steep line follows from T(h * a, 1 / a) of the reflected one.
    flat_part = _flat_t(jnp.where(is_steep, h * steep, h), jnp.where(is_steep, 1 / steep, a))
    above_h, above_line = ndtr(-h), ndtr(-h * steep)
    steep_part = (above_h + above_line) / 2 - above_h * above_line - flat_part
    return jnp.where(is_steep, jnp.sign(a) * steep_part, flat_part)


def _flat_t(h: Any, a: Any) -> Any:
    """The defining integral, for `a` up to 1, by Gauss quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(40)

    def term(node: float, weight: float) -> Any:
        tilted = 1 + jnp.square(a * node)
        return weight * jnp.exp(-jnp.square(h) / 2 * tilted) / tilted

    terms = list(map(term, ((nodes + 1) / 2).tolist(), weights.tolist()))
    while len(terms) > 1:  # pairwise sums round less
        terms = [*map(operator.add, terms[::2], terms[1::2]), *terms[len(terms) // 2 * 2 :]]
    return a * (terms[0] / (4 * math.pi))


def _owens_t_tangent_h(t: Any, out: Any, h: Any, a: Any) -> Any:
    """The tangent in `h`: its density, times the probability of `Y` between 0 and `a * h`."""
    h, to_end = _clipped_to_finite(h), _clipped_to_finite(a)
    slope = jnp.exp(-jnp.square(h) / 2) * lax.erf(h * to_end * math.sqrt(0.5))
    return t * slope * (-0.5 / math.sqrt(2 * math.pi))


def _owens_t_tangent_a(t: Any, out: Any, h: Any, a: Any) -> Any:
    """The tangent in `a`: the density at the end of the line."""
    h, to_end = _clipped_to_finite(h), _clipped_to_finite(a)
    density = jnp.exp(-(jnp.square(h) + jnp.square(h * to_end)) / 2)
    return t * density / (2 * math.pi * (1 + jnp.square(a)))


def _clipped_to_finite(x: Any) -> Any:
    """`x` clipped to finite numbers, so that its product with 0 is 0."""
    most = float(jnp.finfo(x.dtype).max)
    return jnp.clip(x, -most, most)


# Beyond this `h` the probability underflows; steeper lines coincide with the axis.
_FARTHEST, _STEEPEST = 1e3, 1e18

_owens_t_of = binary(
    "owens_t",
    "",
    hlo=lower_by_primitives(_owens_t),
    kinds="f",
    jvp=(_owens_t_tangent_h, _owens_t_tangent_a),
)


@operation
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T: the probability of `X > h` and `0 < Y < a * X`, for two normal variables.

    Returns:
        Floats of the default dtype, whatever the dtype of the arguments.

    Raises:
        ValueError: an argument is complex.

    >>> print(f"{owens_t(0.0, 1.0):.4f}")
    0.1250
    """
    h, a = (
        lax.convert_element_type(x, default_float())
        for x in transcendental.real_arrays("owens_t", h, a)
    )
    return _owens_t_of(h, a)
