"""Special functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax import elementwise, transcendental
from glassjax.lax.conversion import bitcast_convert_type
from glassjax.lax.elementwise import abs, sign, square, where
from glassjax.lax.formulas import horner, in_32_bits_at_least, to_64_bits
from glassjax.lax.series import polynomial
from glassjax.lax.transcendental import elementary, exp, log, sqrt
from glassjax.primitives import declare
from glassjax.runtime.array import Array, ArrayLike, to_array
from glassjax.runtime.jit import jit
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof

# The error function, its complement and its inverse.


def _gaussian(x: Any) -> Any:
    """`exp(-x**2)`, without the rounding error of the square.

    The square of the leading digits of `x`, half of all, is exact. The others bring a factor that
    is nearly 1: 1 and a series.
    """
    dtype = typeof(x).dtype
    is_wide = dtype.itemsize == 8
    dropped, underflows, terms = (27, 28.0, 4) if is_wide else (12, 11.0, 5)
    size = elementwise.min(*stage2.promote(abs(x), underflows))
    bits: Any = np.uint64 if is_wide else np.uint32
    mask = bits(2 ** (8 * dtype.itemsize) - 2**dropped)
    leading = bitcast_convert_type(bitcast_convert_type(size, bits) & mask, dtype)
    rest = size - leading
    exact = leading * leading
    rest = rest * (size + leading)
    first = exp(-exact, accuracy=transcendental.AccuracyMode.HIGHEST)
    exponent = -rest
    series = polynomial(exponent, [1 / math.factorial(k) for k in range(1, terms + 1)])
    return first + first * (exponent * series)


_exp_neg_sq: declare.Unary = declare.unary(
    "exp_neg_sq",
    "",
    hlo=in_32_bits_at_least(_gaussian),
    kinds="f",
    # Where the Gaussian underflows, its derivative is 0, even for infinite x.
    jvp=lambda t, out, x: t * where(out == 0, 0, -2 * out * x),
)


erf = declare.unary(
    "erf",
    """The error function of `x`: the integral of `2 / sqrt(pi) * exp(-t**2)` from 0 to `x`.

    >>> f"{lax.erf(0.0):.3f}", f"{lax.erf(1.0):.3f}"
    ('0.000', '0.843')
    """,
    hlo="chlo.erf",
    kinds="f",
    jvp=lambda t, out, x: 2 / math.sqrt(math.pi) * (t * _exp_neg_sq(x)),
)


erfc = elementary(
    "erfc",
    """`1 - erf(x)`, accurate even where that is nearly 0.

    >>> f"{lax.erfc(5.0):.3e}", bool(lax.erfc(5.0) == 1 - lax.erf(5.0))
    ('1.537e-12', False)
    """,
    hlo="chlo.erfc",
    kinds="f",
    jvp=lambda t, out, x: -2 / math.sqrt(math.pi) * (t * _exp_neg_sq(x)),
)


erf_inv = declare.unary(
    "erf_inv",
    """The number whose error function is `x`.

    >>> f"{lax.erf_inv(lax.erf(0.5)):.3f}"
    '0.500'
    """,
    hlo="chlo.erf_inv",
    kinds="f",
    jvp=lambda t, out, x: (math.sqrt(math.pi) / 2) * (t * exp(square(out))),
)


# Modified Bessel functions of order 0 and 1, exponentially scaled.


# Chebyshev series of Cephes, highest degree first: of exp(-x) I0(x) in x / 2 - 2, for x up to 8,
# and of exp(-x) sqrt(x) I0(x) in 32 / x - 2, for x from 8 on.
_I0E_NEAR = (
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16,
    1.71539128555513303061e-15, -1.16853328779934516808e-14, 7.67618549860493561688e-14,
    -4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11,
    9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7,
    1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5,
    -5.75419501008210370398e-5, 1.88502885095841655729e-4, -5.76375574538582365885e-4,
    1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2,
    1.71620901522208775349e-1, -3.04682672343198398683e-1, 6.76795274409476084995e-1,
)  # fmt: skip


_I0E_FAR = (
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17,
    3.46122286769746109310e-17, -2.82762398051658348494e-16, -3.42548561967721913462e-16,
    1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15,
    -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11,
    -3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10,
    3.39623202570838634515e-9, 2.26666899049817806459e-8, 2.04891858946906374183e-7,
    2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)  # fmt: skip


def _chebyshev(coefficients: Sequence[float], x: Any) -> Any:
    """The sum of `c[k] T[k](x / 2)`, the first one halved, by Clenshaw's recurrence."""
    if typeof(x).dtype == np.float32:  # smaller terms add nothing
        coefficients = [c for c in coefficients if np.abs(c) > 1e-9]
    before_last: Any = 0.0
    last: Any = 0.0
    current: Any = coefficients[0]
    for c in coefficients[1:]:
        before_last, last, current = last, current, x * current - last + c
    return 0.5 * (current - before_last)


def _i0e(x: Any) -> Any:
    x = abs(x)
    near = _chebyshev(_I0E_NEAR, 0.5 * x - 2.0)
    far = _chebyshev(_I0E_FAR, 32.0 / x - 2.0) / sqrt(x)
    return where(x <= 8.0, near, far)


def _i1e_tangent(t: Any, out: Any, x: Any) -> Any:
    eps = float(ml_dtypes.finfo(typeof(x).dtype).eps)
    is_away = abs(x) > eps
    safe = where(is_away, x, stage2.functions.full_like(x, eps))
    slope = bessel_i0e(safe) - out * (sign(safe) + elementwise.reciprocal(safe))
    return t * where(is_away, slope, stage2.functions.full_like(x, 0.5))


bessel_i0e = declare.unary(
    "bessel_i0e",
    """The modified Bessel function of order 0, times `exp(-abs(x))`.

    >>> f"{lax.bessel_i0e(1.0):.3f}", f"{lax.exp(-1.0) * 1.2660659:.3f}"
    ('0.466', '0.466')
    """,
    hlo=in_32_bits_at_least(_i0e),
    kinds="f",
    jvp=lambda t, out, x: t * (bessel_i1e(x) - sign(x) * out),
)


bessel_i1e: declare.Unary = declare.unary(
    "bessel_i1e",
    """The modified Bessel function of order 1, times `exp(-abs(x))`.

    >>> f"{lax.bessel_i1e(1.0):.3f}", f"{lax.exp(-1.0) * 0.5651591:.3f}"
    ('0.208', '0.208')
    """,
    hlo="chlo.bessel_i1e",
    kinds="f",
    jvp=_i1e_tangent,
)


# The logarithm of the gamma function, for floats of up to 32 bits.
#
# It is evaluated in float64: near its zeros a small difference of large numbers remains. XLA's
# own formula spends most of its time on logarithms and divisions; this one has few.


# Lanczos' sum for g = 7 (Godfrey's coefficients), over the product of (z + 1) to (z + 8).
LANCZOS_SHIFT = 7.5
_LANCZOS_ABOVE = (
    0.9999999999998099, 60.45833333334203, 1599.0425347220457, 24165.510665029535,
    228235.2154997145, 1379496.2658786706, 5210869.017760831, 11246929.484659927,
    10619610.099075994,
)  # fmt: skip
_LANCZOS_BELOW = (1.0, 36.0, 546.0, 4536.0, 22449.0, 67284.0, 118124.0, 109584.0, 40320.0)

# The Taylor series of sin(pi * x) / x in x**2, for x up to 1/2, highest degree first.
_SINE_SERIES = tuple(
    (-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12, -1, -1)
)
# The Taylor series of 2 * artanh(s) / s in s**2, highest degree first.
_ARTANH_SERIES = tuple(2.0 / (2 * k + 1) for k in range(10, -1, -1))


@jit
def log_gamma(x: Any) -> Any:
    """`log(abs(gamma(x)))` of a float32 converted to float64."""
    is_left = x < 0.5
    z = where(is_left, 1.0 - x, x) - 1.0
    t = z + LANCZOS_SHIFT
    power = (z + 0.5) * log_of_normal(t) - t
    part = x - elementwise.round(x, elementwise.RoundingMethod.TO_NEAREST_EVEN)
    sine = abs(part * horner(_SINE_SERIES, part * part))
    above, below = lanczos_sum(z)
    scaled = above / below * math.sqrt(2 * math.pi)
    rest = log_of_normal(where(is_left, math.pi / (sine * scaled), scaled))
    out = where(is_left, rest - power, rest + power)
    out = where((x == 1.0) | (x == 2.0), 0.0, out)
    is_infinite = (is_left & (part == 0.0)) | (abs(x) == math.inf)
    return where(is_infinite, math.inf, out)


@jit
def lanczos_sum(z: Any) -> tuple[Any, Any]:
    """Numerator and denominator of `gamma(z + 1) * exp(t) / t**(z + 0.5) / sqrt(2 * pi)`.

    Here `t` is `z + LANCZOS_SHIFT`.
    """
    size = where(z < 1e10, z, 1e10)  # beyond, the leading terms are all of the quotient
    return horner(_LANCZOS_ABOVE, size), horner(_LANCZOS_BELOW, size)


@jit
def log_of_normal(x: Any) -> Any:
    """The logarithm of a positive normal float64: `x = 2**exponent * rest`, rest near 1."""
    bits = bitcast_convert_type(x, np.int64)
    # With this exponent the rest is between the square roots of 1/2 and 2.
    shifted = bits + np.int64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    exponent = elementwise.shift_right_logical(*stage2.promote(shifted, 52)) - 1023
    rest = bitcast_convert_type(bits - exponent * np.int64(1 << 52), np.float64)
    s = (rest - 1.0) / (rest + 1.0)
    near_one = s * horner(_ARTANH_SERIES, s * s)
    return stage2.astype(exponent, np.float64) * math.log(2) + near_one


# The logarithm of the gamma function, its derivatives, and the zeta function.


_lgamma_of_64_bits = declare.unary(
    "lgamma_of_64_bits",
    "",
    hlo="chlo.lgamma",
    kinds="f",
    jvp=lambda t, out, x: t * digamma(x),
)


def _lgamma(x: Any) -> Any:
    dtype = typeof(x).dtype
    if dtype.itemsize < 8:
        return stage2.astype(log_gamma(to_64_bits(x)), dtype)
    is_root = (x == 1.0) | (x == 2.0)
    return where(is_root, 0.0, _lgamma_of_64_bits(x))


lgamma = declare.unary(
    "lgamma",
    """The logarithm of the absolute value of the gamma function of `x`.

    >>> f"{lax.exp(lax.lgamma(5.0)):.3f}"
    '24.000'
    """,
    hlo=declare.lower_by_primitives(_lgamma),
    kinds="f",
    jvp=lambda t, out, x: t * digamma(x),
)
digamma: declare.Unary = declare.unary(
    "digamma",
    """The derivative of `lgamma`.

    >>> f"{lax.digamma(1.0):.3f}", f"{glassjax.grad(lax.lgamma)(1.0):.3f}"
    ('-0.577', '-0.577')
    """,
    hlo="chlo.digamma",
    kinds="f",
    jvp=lambda t, out, x: t * _polygamma(*stage2.promote(1, x)),
)
_polygamma: declare.Binary = declare.binary(
    "polygamma",
    "",
    hlo="chlo.polygamma",
    kinds="f",
    jvp=(
        declare.no_derivative("polygamma", "m"),
        lambda t, out, m, x: t * _polygamma(m + 1, x),
    ),
)
_ZETA_TERMS = 10
# B(2k) / (2k)! for the Bernoulli numbers B, from k = 1 on.
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000,
)  # fmt: skip


def _zeta_slope_series(x: Any, q: Any) -> Any:
    """The derivative of `zeta` in `x`: first terms, then Euler-Maclaurin (DLMF 25.11(iii))."""
    total: Any = 0.0
    for k in range(_ZETA_TERMS):
        log_of_base = log(q + k)
        total = total - log_of_base * exp(-(x * log_of_base))
    last = q + _ZETA_TERMS
    log_of_last = log(last)
    power = exp(-(x * log_of_last))
    over = 1.0 / (x - 1.0)
    total = total - power * last * over * (log_of_last + over)
    total = total - power * 0.5 * log_of_last
    product = power / last * x
    slope = 1.0 / x - log_of_last
    for k, coefficient in enumerate(_BERNOULLI, 1):
        total = total + product * coefficient * slope
        for j in (2 * k - 1, 2 * k):
            product = product * (x + j) / last
            slope = slope + 1.0 / (x + j)
    return where(q > 0.0, _beyond_pole(x, total, -math.inf), math.nan)


def _beyond_pole(x: Any, value: Any, pole: float = math.nan) -> Any:
    """`value` above `x = 1`, where the sum of `zeta` converges, and `pole` at 1."""
    return where(x > 1.0, value, where(x == 1.0, pole, math.nan))


@declare.with_64_bits
def _zeta_slope_in_64_bits(x: Any, q: Any) -> Any:
    return stage2.astype(_zeta_slope_series(to_64_bits(x), to_64_bits(q)), typeof(x).dtype)


def _zeta_second_slope(x: Any, q: Any) -> Any:
    ones = stage2.full_like(x, 1.0)
    q = to_array(q)  # a numpy constant would be added to at trace time, term by term
    slope = stage2.jvp(lambda x: _zeta_slope_series(x, q), (x,), (ones,))[1]
    return _beyond_pole(x, slope, math.inf)


def _zeta_offset_slope(x: Any, q: Any) -> Any:
    """The derivative of `zeta` in `q`."""
    return _beyond_pole(x, -(x * _zeta(x + 1, q)))


def _zeta_slope_offset_slope(x: Any, q: Any) -> Any:
    after = x + 1
    return _beyond_pole(x, -(_zeta(after, q) + x * _zeta_slope(after, q)))


_zeta_slope: declare.Binary = declare.binary(
    "slope_of_zeta",
    "",
    hlo=declare.lower_by_primitives(_zeta_slope_in_64_bits),
    kinds="f",
    jvp=(
        lambda t, out, x, q: t * _zeta_second_slope(x, q),
        lambda t, out, x, q: t * _zeta_slope_offset_slope(x, q),
    ),
)


_zeta: declare.Binary = declare.binary(
    "zeta",
    "",
    hlo="chlo.zeta",
    kinds="f",
    jvp=(
        lambda t, out, x, q: t * _zeta_slope(x, q),
        lambda t, out, x, q: t * _zeta_offset_slope(x, q),
    ),
)


@operation
def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The `m`-th derivative of `digamma` at `x`; not differentiable in `m`.

    >>> f"{lax.polygamma(1.0, 1.0):.3f}", f"{jnp.pi**2 / 6:.3f}"
    ('1.645', '1.645')
    """
    return _polygamma(m, x)


@operation
def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Hurwitz' zeta function, the sum of `1 / (q + k)**x` over k = 0, 1, 2, ... .

    It is differentiable if `x` is above 1, and in `x` if `q` is positive, too; elsewhere its
    derivatives are NaN.

    >>> f"{lax.zeta(2.0, 1.0):.3f}", f"{jnp.pi**2 / 6:.3f}"
    ('1.645', '1.645')
    """
    return _zeta(x, q)
