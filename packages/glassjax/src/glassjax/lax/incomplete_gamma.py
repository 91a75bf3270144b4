"""The incomplete gamma functions and their derivatives."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax import formulas
from glassjax.lax.elementwise import abs, clamp, square, where
from glassjax.lax.series import converge, where_any
from glassjax.lax.special import digamma, erfc, lgamma
from glassjax.lax.transcendental import exp, expm1, log, sqrt
from glassjax.primitives.declare import Binary, binary, no_derivative
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof

# The incomplete gamma functions of large `a`: Temme's uniform expansion (DLMF 8.12).
#
# Sums and continued fractions take about `sqrt(a)` steps near `x = a`; this takes none. With `x =
# (1 + mu) * a` and `eta**2 / 2 = mu - log1p(mu)` the upper function is the tail of a normal
# distribution, plus a correction of the size of its density:
#
# erfc(eta * sqrt(a / 2)) / 2 + exp(-a * eta**2 / 2) / sqrt(2 * pi * a) * (sum of c(k) / a**k)
#
# where each c(k) is a power series in eta.


LARGE = 2.0**14  # from here on the terms below are exact in float64
_TEMME_DEGREES = (20, 13, 8, 4)  # degrees of the series c(0), c(1), ... in eta
_LARGEST_MU = 0.5  # beyond it both functions underflow
# Stirling's series of the gamma function, in powers of 1 / a (DLMF 5.11.3), as fractions.
_STIRLING = ((1, 1), (1, 12), (1, 288), (-139, 51840))


@functools.cache
def _temme_coefficients() -> list[list[float]]:
    """The coefficients of each c(k), from the highest power of eta to the constant.

    The coefficients of c(0) follow from `alpha`, the coefficients of the series of `mu` in eta.
    """
    from fractions import Fraction  # imported late: the import takes milliseconds

    alpha = [Fraction(0), Fraction(1)]
    for n in range(2, _TEMME_DEGREES[0] + 2 * len(_TEMME_DEGREES) + 2):
        known = sum(k * alpha[k] * alpha[n - k + 1] for k in range(2, n))
        alpha.append((alpha[n - 1] - known) / (n + 1))
    first = [Fraction(-1, 3), *((n + 2) * alpha[n + 2] for n in range(1, len(alpha) - 2))]
    rows = [first]
    for k, stirling in enumerate(_STIRLING[1:], 1):
        before, factor = rows[-1], (-1) ** k * Fraction(*stirling)
        rows.append([factor * first[n] + (n + 2) * before[n + 2] for n in range(len(before) - 2)])
    return [
        [float(c) for c in reversed(row[: degree + 1])]
        for row, degree in zip(rows, _TEMME_DEGREES, strict=True)
    ]


def _derivative_of(coefficients: list[float]) -> list[float]:
    degree = len(coefficients) - 1
    return [c * (degree - i) for i, c in enumerate(coefficients[:-1])]


@dataclass(frozen=True)
class _TemmePoint:
    """The position of `x` relative to `a`.

    Arguments:
        mu: `x / a - 1`.
        eta_by_mu: eta, divided by `mu`.
        log_by_mu: the logarithm of `x / a`, divided by `mu`.
        exponent: `a * eta**2 / 2`.
    """

    mu: Any
    eta_by_mu: Any
    log_by_mu: Any
    exponent: Any

    @property
    def eta(self) -> Any:
        return self.mu * self.eta_by_mu


def _temme_point(a: Any, x: Any) -> _TemmePoint:
    """The point by the series of `artanh(r)`, `r = mu / (2 + mu)`, in which nothing cancels."""
    mu = clamp(*stage2.promote(-_LARGEST_MU, (x - a) / a, _LARGEST_MU))
    q = 1.0 / (mu + 2.0)
    r = mu * q
    series = formulas.artanh_series(r)
    eta_by_mu = sqrt(2.0 * q * (1.0 - 2.0 * (r * q) * series))
    log_by_mu = 2.0 * q * (1.0 + square(r) * series)
    return _TemmePoint(mu, eta_by_mu, log_by_mu, a * (0.5 * square(mu * eta_by_mu)))


def _temme_correction(a: Any, eta: Any) -> Any:
    out: Any = 0.0
    for coefficients in reversed(_temme_coefficients()):
        out = out / a + formulas.horner(coefficients, eta)
    return out


def _temme(a: Any, x: Any, sign: float) -> Any:
    point = _temme_point(a, x)
    eta = point.eta
    normal = 0.5 * erfc(eta * sign * sqrt(a * 0.5))
    size = exp(-point.exponent) / sqrt(2 * math.pi * a)
    return normal + size * sign * _temme_correction(a, eta)


def asymptotic_lower(a: Any, x: Any) -> Any:
    """P, the regularized lower function."""
    return _temme(a, x, -1.0)


def asymptotic_upper(a: Any, x: Any) -> Any:
    """Q, the regularized upper function."""
    return _temme(a, x, 1.0)


def _over_gamma_by_stirling(a: Any) -> Any:
    """The gamma function, divided by the first term of Stirling's formula."""
    return formulas.horner([above / below for above, below in reversed(_STIRLING)], 1.0 / a)


def asymptotic_density(a: Any, x: Any) -> Any:
    """The derivative of P in `x`."""
    size = exp(-_temme_point(a, x).exponent) * sqrt(a / (2 * math.pi))
    return size / _over_gamma_by_stirling(a) / where(x == 0.0, 1.0, x)


def _temme_slope(a: Any, point: _TemmePoint) -> Any:
    """The derivative of P in `a`, divided by `exp(-exponent) / sqrt(2 * pi * a)`."""
    eta = point.eta
    correction = _temme_correction(a, eta)
    by_eta: Any = 0.0
    by_a: Any = 0.0
    for k, coefficients in reversed([*enumerate(_temme_coefficients())]):
        by_eta = by_eta / a + formulas.horner(_derivative_of(coefficients), eta)
        by_a = by_a / a - k * formulas.horner(coefficients, eta)
    # `x` is fixed: as `a` grows, eta falls.
    change = by_a / a - by_eta / (a * point.eta_by_mu)
    change = change + correction * (point.mu * point.log_by_mu - 0.5 / a)
    return -(point.log_by_mu / point.eta_by_mu + change)


def asymptotic_slope(a: Any, x: Any) -> Any:
    """The derivative of P in `a`."""
    point = _temme_point(a, x)
    size = exp(-point.exponent) / sqrt(2 * math.pi * a)
    return size * _temme_slope(a, point)


def asymptotic_sample_slope(a: Any, x: Any) -> Any:
    """The derivative of `x` in `a` at constant P: the slope divided by the density."""
    relative = _temme_slope(a, _temme_point(a, x)) * _over_gamma_by_stirling(a)
    return -(x / a * relative)


# The incomplete gamma functions, and their derivatives in both arguments.
#
# Below `a` and below 1 the lower function P is the sum of a series, elsewhere the upper function
# Q is a continued fraction (https://dlmf.nist.gov/8.7 and 8.9); each is 1 minus the other. The
# derivative in `a` uses the same steps: each step also computes its tangent. Where
# `a` is so large that this takes too many steps, an asymptotic expansion takes none.


MOST_STEPS = 2000
Pair = tuple[Any, Any]


def _epsilon(x: Any) -> float:
    return float(np.finfo(typeof(x).dtype).eps)


def _any(*conditions: Any) -> Any:
    return functools.reduce(operator.or_, conditions)


def _igamma_series(a: Any, x: Any, is_active: Any) -> Any:
    """The sum of `x**n / ((a + 1) ... (a + n))` over n = 0, 1, 2, ... ."""

    def series_step(n: Any, term: Any, total: Any) -> list[Any]:
        term = term * (x / (a + n + 1.0))
        return [term, total + term]

    def term_matters(old: Any, new: Any) -> Any:
        return new[0] > new[1] * _epsilon(x)

    one = stage2.functions.full_like(x, 1.0)
    _, total = converge(series_step, [one, one], is_active, term_matters, MOST_STEPS)
    return total


def _igamma_series_with_slope(a: Any, x: Any, is_active: Any) -> Pair:
    """The same sum, and its derivative in `a`."""

    def series_slope_step(
        n: Any, term: Any, total: Any, term_dot: Any, total_dot: Any
    ) -> list[Any]:
        below = a + n + 1.0
        ratio = x / below
        term_dot = term_dot * ratio - term * ratio / below
        term = term * ratio
        return [term, total + term, term_dot, total_dot + term_dot]

    def term_matters(old: Any, new: Any) -> Any:
        return abs(new[2]) > abs(new[3]) * _epsilon(x)

    one, zero = (stage2.functions.full_like(x, number) for number in (1.0, 0.0))
    start = [one, one, zero, zero]
    _, total, _, total_dot = converge(series_slope_step, start, is_active, term_matters, MOST_STEPS)
    return total, total_dot


def _first_denominator(a: Any, x: Any) -> Any:
    return x + 1.0 - a


def igammac_fraction(a: Any, x: Any, is_active: Any, first: int = 0) -> Any:
    """`1 / (b(0) + a(1) / (b(1) + a(2) / (b(2) + ...)))` by Steed's method (DLMF 3.10(iii)).

    Here `a(n)` is `n * (a - n)`, and `b(n)` is `x + 1 - a + 2 * n`: it is `exp(x) * x**-a` times
    the upper incomplete gamma function, for real and complex `x`. With another `first` it is the
    part of this from `b(first)` on.
    """

    def denominator(n: Any) -> Any:
        return _first_denominator(a, x) + n * 2.0

    def fraction_step(n: Any, inverse: Any, change: Any, value: Any) -> list[Any]:
        n = n + (first + 1)
        inverse = 1.0 / (denominator(n) + n * (a - n) * inverse)
        change = change * (denominator(n) * inverse - 1.0)
        return [inverse, change, value + change]

    def still_changes(old: Any, new: Any) -> Any:
        return abs(new[1]) > abs(new[2]) * (_epsilon(x) / 2)

    start = 1.0 / denominator(first)
    return converge(fraction_step, [start, start, start], is_active, still_changes, MOST_STEPS)[2]


def _igammac_start(a: Any, x: Any) -> list[Any]:
    first = _first_denominator(a, x)
    return [first, stage2.functions.full_like(x, 0.0), 1.0 / first]


def _igammac_fraction_with_slope(a: Any, x: Any, is_active: Any) -> Pair:
    """The same fraction, and its derivative in `a`."""

    def fraction_slope_step(
        n: Any, above: Any, below: Any, value: Any, above_dot: Any, below_dot: Any, value_dot: Any
    ) -> list[Any]:
        n = n + 1.0
        numerator = n * (a - n)
        denominator = _first_denominator(a, x) + n * 2.0
        # With respect to `a`, the numerator has derivative n, the denominator -1.
        ratio = numerator / above
        above_dot = (n - ratio * above_dot) / above - 1.0
        inverse_dot = n * below + numerator * below_dot - 1.0
        above = denominator + ratio
        below = 1.0 / (denominator + numerator * below)
        below_dot = -(below * below * inverse_dot)
        product = above * below
        product_dot = above_dot * below + above * below_dot
        value = value / product
        value_dot = (value_dot - value * product_dot) / product
        return [above, below, value, above_dot, below_dot, value_dot]

    def still_changes(old: Any, new: Any) -> Any:
        return abs(new[5] - old[5]) > _epsilon(x)

    start = _igammac_start(a, x)
    zero = start[1]
    slopes = [stage2.functions.full_like(x, -1.0), zero, start[2] * start[2]]
    out = converge(fraction_slope_step, [*start, *slopes], is_active, still_changes, MOST_STEPS)
    return out[2], out[5]


def _log_weight(a: Any, x: Any) -> Any:
    return a * log(x) - x - lgamma(a)


def _underflows(log_weight: Any) -> Any:
    return log_weight < -math.log(float(np.finfo(typeof(log_weight).dtype).max))


def _is_outside(a: Any, x: Any) -> Any:
    both_zero = (a == 0.0) & (x == 0.0)
    both_infinite = (a == math.inf) & (x == math.inf)
    return _any(x < 0.0, a < 0.0, both_zero, both_infinite, a != a, x != x)


def _is_large(a: Any) -> Any:
    return a >= LARGE


def _igamma(a: Any, x: Any) -> Any:
    is_above = (x >= 1.0) & (x > a)
    log_weight = _log_weight(a, x)
    is_outside = _is_outside(a, x)
    is_infinite = x == math.inf
    is_zero = (x == 0.0) | (a == math.inf)
    is_special = _any(is_zero, is_outside, _underflows(log_weight), is_infinite, _is_large(a))
    is_active = ~is_special
    weight = exp(log_weight)
    lower = weight / a * _igamma_series(a, x, is_active & ~is_above)
    upper = weight * igammac_fraction(a, x, is_active & is_above)
    out = where_any(_is_large(a), asymptotic_lower, where(is_above, 1.0 - upper, lower), a, x)
    out = where(is_infinite, 1.0, where(is_zero, 0.0, out))
    return where(is_outside, math.nan, out)


_SMALL_SHAPE = 2.0**-12
# The Taylor series of `log(gamma(1 + a))` from `a` on (DLMF 5.7(i)): Euler's constant, zeta(k) / k.
_LOG_GAMMA_AT_ONE = (
    -0.5772156649015329, 0.8224670334241132, -0.40068563438653143, 0.27058080842778454,
)  # fmt: skip
_SMALL_SHAPE_TERMS = 18


def _upper_of_small(a: Any, x: Any) -> Any:
    """Q for `a` near 0 and `x` below 1, where it is of the size of `a`.

    P is `x**a / gamma(1 + a)` times `1 + a * (sum of (-x)**n / ((a + n) * n!) over n = 1, 2, ...)`.
    """
    log_power = a * (log(x) - formulas.horner(_LOG_GAMMA_AT_ONE[::-1], a))
    total: Any = 0.0
    for n in range(_SMALL_SHAPE_TERMS, 0, -1):
        total = (total + 1.0 / (a + n)) * (x * (-1.0 / n))
    return -(expm1(log_power) + exp(log_power) * (a * total))


def _igammac(a: Any, x: Any) -> Any:
    is_above = (x >= 1.0) & (x >= a)
    log_weight = _log_weight(a, x)
    is_outside = _is_outside(a, x)
    is_zero = (x == math.inf) | (a == 0.0)
    is_one = a == math.inf
    is_special = _any(is_outside, _underflows(log_weight), is_zero, is_one, _is_large(a))
    is_active = ~is_special
    weight = exp(log_weight)
    is_small = (a < _SMALL_SHAPE) & (x < 1.0)  # P is nearly 1
    by_series = ~(is_above | is_small)
    lower = weight / a * _igamma_series(a, x, is_active & by_series)
    upper = weight * igammac_fraction(a, x, is_active & is_above)
    rest = where(is_small, _upper_of_small(a, x), 1.0 - lower)
    out = where_any(_is_large(a), asymptotic_upper, where(is_above, upper, rest), a, x)
    out = where(is_one, 1.0, where(is_zero, 0.0, out))
    return where(is_outside, math.nan, out)


def _combined_slopes(
    series_slope: Callable[..., Any],
    fraction_slope: Callable[..., Any],
    large_slope: Callable[..., Any],
    has_weight: bool,
) -> Any:
    """Combine the derivatives of the logarithms of P and Q in `a`."""

    def slope(a: Any, x: Any) -> Any:
        is_above = (x > 1.0) & (x > a)
        log_weight = _log_weight(a, x)
        is_outside = _any(x < 0.0, a <= 0.0, a != a, x != x)
        is_active = ~_any(x == 0.0, is_outside, _is_large(a))
        if has_weight:
            is_active = is_active & ~_underflows(log_weight)
        below = is_active & ~is_above
        total, total_dot = _igamma_series_with_slope(a, x, below)
        value, value_dot = _igammac_fraction_with_slope(a, x, is_active & is_above)
        # The weight of the series has the gamma function of `a + 1`.
        lower = total * (log(x) - digamma(a + 1.0)) + total_dot
        upper = value * (log(x) - digamma(a)) + value_dot
        weight = exp(log_weight)
        out = where(
            is_above, fraction_slope(weight, a, x, upper), series_slope(weight, a, x, lower)
        )
        out = where_any(_is_large(a), large_slope, out, a, x)
        return where(is_outside, math.nan, where(x == 0.0, 0.0, out))

    return slope


_igamma_slope = _combined_slopes(
    lambda weight, a, x, lower: weight / a * lower,
    lambda weight, a, x, upper: -(weight * upper),
    asymptotic_slope,
    has_weight=True,
)
# As `a` grows, x has to grow to keep P constant; the weight is x times the density.
_sample_slope = _combined_slopes(
    lambda weight, a, x, lower: -(x / a * lower),
    lambda weight, a, x, upper: x * upper,
    asymptotic_sample_slope,
    has_weight=False,
)


def _gamma_density(a: Any, x: Any) -> Any:
    # For small `a` the logarithms of gamma(a) and of 1 / x are large and cancel; these do not.
    is_small = (a < 1.0) & (x > 0.0) & (x < math.inf)
    power = where(is_small, a, a - 1.0) * log(x)
    out = abs(a) * exp(power - (x + lgamma(a + 1.0)))
    out = out / where(is_small, x, 1.0)
    out = where_any(_is_large(a), asymptotic_density, out, a, x)
    return where((a == math.inf) & (x < math.inf), 0.0, out)


# In 64 bits: an absolute error of the logarithm is a relative error of the density.
_gamma_density_of: Binary = binary(
    "gamma_density",
    "",
    hlo=formulas.in_64_bits(_gamma_density),
    kinds="f",
    jvp=(
        lambda t, out, a, x: t * (out * (log(x) - digamma(a))),
        lambda t, out, a, x: t * (out * ((a - 1.0) / x - 1.0)),
    ),
)


def _slope_of_sample_slope(out: Any, a: Any, x: Any) -> Any:
    slope_of_log_density = (a - 1.0) / x - 1.0
    return digamma(a) - log(x) - out * slope_of_log_density


_igamma_grad_a_of: Binary = binary(
    "igamma_grad_a",
    "",
    hlo=formulas.in_32_bits_at_least(_igamma_slope),
    kinds="f",
    jvp=(
        no_derivative("igamma_grad_a", "a"),
        lambda t, out, a, x: t * (_gamma_density_of(a, x) * (log(x) - digamma(a))),
    ),
)
_random_gamma_grad_of: Binary = binary(
    "random_gamma_grad",
    "",
    hlo=formulas.in_32_bits_at_least(_sample_slope),
    kinds="f",
    jvp=(
        no_derivative("random_gamma_grad", "a"),
        lambda t, out, a, x: t * _slope_of_sample_slope(out, a, x),
    ),
)
_igamma_of: Binary = binary(
    "igamma",
    "",
    hlo=formulas.in_64_bits(_igamma, below=4),
    kinds="f",
    jvp=(
        lambda t, out, a, x: t * _igamma_grad_a_of(a, x),
        lambda t, out, a, x: t * _gamma_density_of(a, x),
    ),
)
_igammac_of: Binary = binary(
    "igammac",
    "",
    hlo=formulas.in_64_bits(_igammac, below=4),
    kinds="f",
    jvp=(
        lambda t, out, a, x: -(t * _igamma_grad_a_of(a, x)),
        lambda t, out, a, x: -(t * _gamma_density_of(a, x)),
    ),
)


@operation
def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized lower incomplete gamma function of `a` at `x`.

    >>> f"{lax.igamma(1.0, 1.0):.3f}", f"{1 - lax.exp(-1.0):.3f}"
    ('0.632', '0.632')
    """
    return _igamma_of(a, x)


@operation
def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized upper incomplete gamma function: `1 - igamma(a, x)`, accurate even near 0.

    >>> f"{lax.igammac(1.0, 1.0):.3f}", f"{lax.exp(-1.0):.3f}"
    ('0.368', '0.368')
    """
    return _igammac_of(a, x)


@operation
def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of `igamma` in `a`, itself differentiable in `x` only.

    >>> slope = glassjax.grad(lax.igamma)(2.0, 1.0)
    >>> f"{lax.igamma_grad_a(2.0, 1.0):.3f}", f"{slope:.3f}"
    ('-0.276', '-0.276')
    """
    return _igamma_grad_a_of(a, x)


@operation
def random_gamma_grad(a: Any, x: Any) -> Array:
    """The derivative in `a` of a sample `x` from the gamma distribution of shape `a`.

    >>> f"{lax.random_gamma_grad(2.0, 1.0):.3f}"
    '0.751'
    """
    return _random_gamma_grad_of(a, x)
