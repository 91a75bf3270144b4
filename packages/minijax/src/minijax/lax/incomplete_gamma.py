"""The incomplete gamma functions and their derivatives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise import (
    abs,
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    clamp,
    div,
    eq,
    ge,
    gt,
    le,
    lt,
    mul,
    ne,
    neg,
    square,
    sub,
    where,
)
from minijax.lax.formulas import (
    artanh_series,
    converge,
    horner,
    in_32_bits_at_least,
    in_64_bits,
    where_any,
)
from minijax.lax.special import digamma, erfc, lgamma
from minijax.lax.transcendental import exp, expm1, log, sqrt
from minijax.primitives.declare import Binary, binary, no_derivative
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof

# The incomplete gamma functions of large `a`: Temme's uniform expansion (DLMF 8.12).
#
# Sums and continued fractions take about `sqrt(a)` steps near `x = a`; this takes none. With `x =
# (1 + mu) * a` and `eta**2 / 2 = mu - log1p(mu)` the upper function is that of a normal
# distribution, and a correction of the size of its density:
#
# erfc(eta * sqrt(a / 2)) / 2 + exp(-a * eta**2 / 2) / sqrt(2 * pi * a) * (sum of c(k) / a**k)
#
# where each c(k) is a power series in eta.


LARGE = 2.0**14  # from here on the terms below give float64 all its digits
_DEGREES = (20, 13, 8, 4)  # of c(0), c(1), ...
_FARTHEST = 0.5  # beyond this `mu` nothing is left of either function
# Of the gamma function by Stirling's formula, in powers of 1 / a (DLMF 5.11.3), as fractions.
_STIRLING = ((1, 1), (1, 12), (1, 288), (-139, 51840))


@functools.cache
def _coefficients() -> list[list[float]]:
    """The coefficients of each c(k), from the highest power of eta to the constant.

    Those of c(0) come from the series of `mu` in eta, whose coefficients are `alpha`.
    """
    from fractions import Fraction  # late, for it takes milliseconds

    alpha = [Fraction(0), Fraction(1)]
    for n in range(2, _DEGREES[0] + 2 * len(_DEGREES) + 2):
        known = sum(k * alpha[k] * alpha[n - k + 1] for k in range(2, n))
        alpha.append((alpha[n - 1] - known) / (n + 1))
    first = [Fraction(-1, 3), *((n + 2) * alpha[n + 2] for n in range(1, len(alpha) - 2))]
    rows = [first]
    for k, stirling in enumerate(_STIRLING[1:], 1):
        before, factor = rows[-1], (-1) ** k * Fraction(*stirling)
        rows.append([factor * first[n] + (n + 2) * before[n + 2] for n in range(len(before) - 2)])
    return [
        [float(c) for c in reversed(row[: degree + 1])]
        for row, degree in zip(rows, _DEGREES, strict=True)
    ]


def _derivative(coefficients: list[float]) -> list[float]:
    degree = len(coefficients) - 1
    return [c * (degree - i) for i, c in enumerate(coefficients[:-1])]


@dataclass(frozen=True)
class _Place:
    """The position of `x` relative to `a`.

    Arguments:
        mu: what `x / a` exceeds 1 by.
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
        return mul(self.mu, self.eta_by_mu)


def _place(a: Any, x: Any) -> _Place:
    """By the series of the inverse hyperbolic tangent of `r = mu / (2 + mu)`: nothing cancels."""
    mu = clamp(-_FARTHEST, div(sub(x, a), a), _FARTHEST)
    q = div(1.0, add(mu, 2.0))
    r = mul(mu, q)
    series = artanh_series(r)
    eta_by_mu = sqrt(mul(mul(2.0, q), sub(1.0, mul(mul(2.0, mul(r, q)), series))))
    log_by_mu = mul(mul(2.0, q), add(1.0, mul(square(r), series)))
    return _Place(mu, eta_by_mu, log_by_mu, mul(a, mul(0.5, square(mul(mu, eta_by_mu)))))


def _correction(a: Any, eta: Any) -> Any:
    out: Any = 0.0
    for coefficients in reversed(_coefficients()):
        out = add(div(out, a), horner(coefficients, eta))
    return out


def _function(a: Any, x: Any, sign: float) -> Any:
    place = _place(a, x)
    eta = place.eta
    normal = mul(0.5, erfc(mul(mul(eta, sign), sqrt(mul(a, 0.5)))))
    size = div(exp(neg(place.exponent)), sqrt(mul(a, 2 * math.pi)))
    return add(normal, mul(mul(size, sign), _correction(a, eta)))


def asymptotic_lower(a: Any, x: Any) -> Any:
    """P, the regularized lower function."""
    return _function(a, x, -1.0)


def asymptotic_upper(a: Any, x: Any) -> Any:
    """Q, the regularized upper function."""
    return _function(a, x, 1.0)


def _over_gamma_by_stirling(a: Any) -> Any:
    """The gamma function, divided by the first term of Stirling's formula."""
    return horner([above / below for above, below in reversed(_STIRLING)], div(1.0, a))


def asymptotic_density(a: Any, x: Any) -> Any:
    """The derivative of P by `x`."""
    size = mul(exp(neg(_place(a, x).exponent)), sqrt(div(a, 2 * math.pi)))
    return div(div(size, _over_gamma_by_stirling(a)), where(eq(x, 0.0), 1.0, x))


def _relative_slope(a: Any, place: _Place) -> Any:
    """The derivative of P by `a`, divided by `exp(-exponent) / sqrt(2 * pi * a)`."""
    eta = place.eta
    correction = _correction(a, eta)
    by_eta: Any = 0.0
    by_a: Any = 0.0
    for k, coefficients in reversed([*enumerate(_coefficients())]):
        by_eta = add(div(by_eta, a), horner(_derivative(coefficients), eta))
        by_a = add(div(by_a, a), mul(-float(k), horner(coefficients, eta)))
    # `x` is fixed: as `a` grows, eta falls.
    change = sub(div(by_a, a), div(by_eta, mul(a, place.eta_by_mu)))
    change = add(change, mul(correction, sub(mul(place.mu, place.log_by_mu), div(0.5, a))))
    return neg(add(div(place.log_by_mu, place.eta_by_mu), change))


def asymptotic_slope(a: Any, x: Any) -> Any:
    """The derivative of P by `a`."""
    place = _place(a, x)
    size = div(exp(neg(place.exponent)), sqrt(mul(a, 2 * math.pi)))
    return mul(size, _relative_slope(a, place))


def asymptotic_sample_slope(a: Any, x: Any) -> Any:
    """The derivative of `x` by `a` where P stays what it is: the slope divided by the density."""
    relative = mul(_relative_slope(a, _place(a, x)), _over_gamma_by_stirling(a))
    return neg(mul(div(x, a), relative))


# The incomplete gamma functions, and their derivatives in both arguments.
#
# Below `a` and below 1 the lower function P is the sum of a series, elsewhere the upper function
# Q is a continued fraction (https://dlmf.nist.gov/8.7 and 8.9); each is 1 minus the other. The
# derivative with respect to `a` uses the same steps: each step also computes its tangent. Where
# `a` is so large that this takes too many steps, an asymptotic expansion takes none.


MOST_STEPS = 2000
Pair = tuple[Any, Any]


def _epsilon(x: Any) -> float:
    return float(np.finfo(typeof(x).dtype).eps)


def _any(*conditions: Any) -> Any:
    out = conditions[0]
    for condition in conditions[1:]:
        out = bitwise_or(out, condition)
    return out


def _series(a: Any, x: Any, is_active: Any) -> Any:
    """The sum of `x**n / ((a + 1) ... (a + n))` over n = 0, 1, 2, ... ."""

    def step(n: Any, term: Any, total: Any) -> list[Any]:
        term = mul(term, div(x, add(add(a, n), 1.0)))
        return [term, add(total, term)]

    def is_unconverged(old: Any, new: Any) -> Any:
        return gt(new[0], mul(new[1], _epsilon(x)))

    one = stage2.functions.full_like(x, 1.0)
    _, total = converge(step, [one, one], is_active, is_unconverged, MOST_STEPS)
    return total


def _series_with_slope(a: Any, x: Any, is_active: Any) -> Pair:
    """The same sum, and its derivative by `a`."""

    def step(n: Any, term: Any, total: Any, term_dot: Any, total_dot: Any) -> list[Any]:
        below = add(add(a, n), 1.0)
        ratio = div(x, below)
        term_dot = sub(mul(term_dot, ratio), div(mul(term, ratio), below))
        term = mul(term, ratio)
        return [term, add(total, term), term_dot, add(total_dot, term_dot)]

    def is_unconverged(old: Any, new: Any) -> Any:
        return gt(abs(new[2]), mul(abs(new[3]), _epsilon(x)))

    one, zero = (stage2.functions.full_like(x, number) for number in (1.0, 0.0))
    start = [one, one, zero, zero]
    _, total, _, total_dot = converge(step, start, is_active, is_unconverged, MOST_STEPS)
    return total, total_dot


def _first_steps(a: Any, x: Any) -> Any:
    return sub(add(x, 1.0), a)


def fraction(a: Any, x: Any, is_active: Any, first: int = 0) -> Any:
    """`1 / (b(0) + a(1) / (b(1) + a(2) / (b(2) + ...)))` by Steed's method (DLMF 3.10(iii)).

    Here `a(n)` is `n * (a - n)`, and `b(n)` is `x + 1 - a + 2 * n`: it is `exp(x) * x**-a` times
    the upper incomplete gamma function, for real and complex `x`. With another `first` it is the
    part of this from `b(first)` on.
    """

    def denominator(n: Any) -> Any:
        return add(_first_steps(a, x), mul(n, 2.0))

    def step(n: Any, inverse: Any, change: Any, value: Any) -> list[Any]:
        n = add(n, float(first + 1))
        inverse = div(1.0, add(denominator(n), mul(mul(n, sub(a, n)), inverse)))
        change = mul(change, sub(mul(denominator(n), inverse), 1.0))
        return [inverse, change, add(value, change)]

    def is_unconverged(old: Any, new: Any) -> Any:
        return gt(abs(new[1]), mul(abs(new[2]), _epsilon(x) / 2))

    start = div(1.0, denominator(float(first)))
    return converge(step, [start, start, start], is_active, is_unconverged, MOST_STEPS)[2]


def _start(a: Any, x: Any) -> list[Any]:
    first = _first_steps(a, x)
    return [first, stage2.functions.full_like(x, 0.0), div(1.0, first)]


def _fraction_with_slope(a: Any, x: Any, is_active: Any) -> Pair:
    """The same fraction, and its derivative by `a`."""

    def step(
        n: Any, above: Any, below: Any, value: Any, above_dot: Any, below_dot: Any, value_dot: Any
    ) -> list[Any]:
        n = add(n, 1.0)
        numerator = mul(n, sub(a, n))
        denominator = add(_first_steps(a, x), mul(n, 2.0))
        # The derivative of the numerator is n, that of the denominator -1.
        ratio = div(numerator, above)
        above_dot = sub(div(sub(n, mul(ratio, above_dot)), above), 1.0)
        inverse_dot = sub(add(mul(n, below), mul(numerator, below_dot)), 1.0)
        above = add(denominator, ratio)
        below = div(1.0, add(denominator, mul(numerator, below)))
        below_dot = neg(mul(mul(below, below), inverse_dot))
        product = mul(above, below)
        product_dot = add(mul(above_dot, below), mul(above, below_dot))
        value = div(value, product)
        value_dot = div(sub(value_dot, mul(value, product_dot)), product)
        return [above, below, value, above_dot, below_dot, value_dot]

    def is_unconverged(old: Any, new: Any) -> Any:
        return gt(abs(sub(new[5], old[5])), _epsilon(x))

    start = _start(a, x)
    zero = start[1]
    slopes = [stage2.functions.full_like(x, -1.0), zero, mul(start[2], start[2])]
    out = converge(step, [*start, *slopes], is_active, is_unconverged, MOST_STEPS)
    return out[2], out[5]


def _log_weight(a: Any, x: Any) -> Any:
    return sub(sub(mul(a, log(x)), x), lgamma(a))


def _underflows(log_weight: Any) -> Any:
    return lt(log_weight, -math.log(float(np.finfo(typeof(log_weight).dtype).max)))


def _is_outside(a: Any, x: Any) -> Any:
    both_zero = bitwise_and(eq(a, 0.0), eq(x, 0.0))
    both_infinite = bitwise_and(eq(a, math.inf), eq(x, math.inf))
    return _any(lt(x, 0.0), lt(a, 0.0), both_zero, both_infinite, ne(a, a), ne(x, x))


def _is_large(a: Any) -> Any:
    return ge(a, LARGE)


def _igamma(a: Any, x: Any) -> Any:
    is_above = bitwise_and(ge(x, 1.0), gt(x, a))
    log_weight, is_infinite = _log_weight(a, x), eq(x, math.inf)
    is_outside = _is_outside(a, x)
    is_zero = bitwise_or(eq(x, 0.0), eq(a, math.inf))
    is_special = _any(is_zero, is_outside, _underflows(log_weight), is_infinite, _is_large(a))
    is_active, weight = bitwise_not(is_special), exp(log_weight)
    lower = mul(div(weight, a), _series(a, x, bitwise_and(is_active, bitwise_not(is_above))))
    upper = mul(weight, fraction(a, x, bitwise_and(is_active, is_above)))
    out = where_any(_is_large(a), asymptotic_lower, where(is_above, sub(1.0, upper), lower), a, x)
    out = where(is_infinite, 1.0, where(is_zero, 0.0, out))
    return where(is_outside, math.nan, out)


_SMALL = 2.0**-12
# Of the logarithm of `gamma(1 + a)`, from `a` on: Euler's constant, and zeta(k) / k.
_LOG_GAMMA_AT_ONE = (
    -0.5772156649015329, 0.8224670334241132, -0.40068563438653143, 0.27058080842778454,
)  # fmt: skip
_TERMS_OF_SMALL = 18


def _upper_of_small(a: Any, x: Any) -> Any:
    """Q for `a` near 0 and `x` below 1, where it is of the size of `a`.

    P is `x**a / gamma(1 + a)` times `1 + a * (sum of (-x)**n / ((a + n) * n!) over n = 1, 2, ...)`.
    """
    log_power = mul(a, add(log(x), neg(horner(_LOG_GAMMA_AT_ONE[::-1], a))))
    total: Any = 0.0
    for n in range(_TERMS_OF_SMALL, 0, -1):
        total = mul(add(total, div(1.0, add(a, float(n)))), mul(x, -1.0 / n))
    return neg(add(expm1(log_power), mul(exp(log_power), mul(a, total))))


def _igammac(a: Any, x: Any) -> Any:
    is_above = bitwise_and(ge(x, 1.0), ge(x, a))
    log_weight = _log_weight(a, x)
    is_outside, is_zero = _is_outside(a, x), bitwise_or(eq(x, math.inf), eq(a, 0.0))
    is_one = eq(a, math.inf)
    is_special = _any(is_outside, _underflows(log_weight), is_zero, is_one, _is_large(a))
    is_active = bitwise_not(is_special)
    weight = exp(log_weight)
    is_small = bitwise_and(lt(a, _SMALL), lt(x, 1.0))  # and P is 1 but for a little
    by_series = bitwise_not(bitwise_or(is_above, is_small))
    lower = mul(div(weight, a), _series(a, x, bitwise_and(is_active, by_series)))
    upper = mul(weight, fraction(a, x, bitwise_and(is_active, is_above)))
    rest = where(is_small, _upper_of_small(a, x), sub(1.0, lower))
    out = where_any(_is_large(a), asymptotic_upper, where(is_above, upper, rest), a, x)
    out = where(is_one, 1.0, where(is_zero, 0.0, out))
    return where(is_outside, math.nan, out)


def _slope(
    of_series: Callable[..., Any],
    of_fraction: Callable[..., Any],
    of_large: Callable[..., Any],
    has_weight: bool,
) -> Any:
    """Combine the derivatives of the logarithms of P and Q in `a`."""

    def slope(a: Any, x: Any) -> Any:
        is_above = bitwise_and(gt(x, 1.0), gt(x, a))
        log_weight = _log_weight(a, x)
        is_outside = _any(lt(x, 0.0), le(a, 0.0), ne(a, a), ne(x, x))
        is_active = bitwise_not(_any(eq(x, 0.0), is_outside, _is_large(a)))
        if has_weight:
            is_active = bitwise_and(is_active, bitwise_not(_underflows(log_weight)))
        below = bitwise_and(is_active, bitwise_not(is_above))
        total, total_dot = _series_with_slope(a, x, below)
        value, value_dot = _fraction_with_slope(a, x, bitwise_and(is_active, is_above))
        # The weight of the series has the gamma function of `a + 1`.
        lower = add(mul(total, sub(log(x), digamma(add(a, 1.0)))), total_dot)
        upper = add(mul(value, sub(log(x), digamma(a))), value_dot)
        weight = exp(log_weight)
        out = where(is_above, of_fraction(weight, a, x, upper), of_series(weight, a, x, lower))
        out = where_any(_is_large(a), of_large, out, a, x)
        return where(is_outside, math.nan, where(eq(x, 0.0), 0.0, out))

    return slope


_igamma_slope = _slope(
    lambda weight, a, x, lower: mul(div(weight, a), lower),
    lambda weight, a, x, upper: neg(mul(weight, upper)),
    asymptotic_slope,
    has_weight=True,
)
# As `a` grows, x has to grow so that P stays what it is; the weight is x times the density.
_sample_slope = _slope(
    lambda weight, a, x, lower: neg(mul(div(x, a), lower)),
    lambda weight, a, x, upper: mul(x, upper),
    asymptotic_sample_slope,
    has_weight=False,
)


def _density_of(a: Any, x: Any) -> Any:
    # Where `a` is small, the logarithms of gamma(a) and of 1 / x are large; those below are not.
    is_small = bitwise_and(lt(a, 1.0), bitwise_and(gt(x, 0.0), lt(x, math.inf)))
    power = mul(where(is_small, a, sub(a, 1.0)), log(x))
    out = mul(abs(a), exp(sub(power, add(x, lgamma(add(a, 1.0))))))
    out = div(out, where(is_small, x, 1.0))
    out = where_any(_is_large(a), asymptotic_density, out, a, x)
    return where(bitwise_and(eq(a, math.inf), lt(x, math.inf)), 0.0, out)


# In 64 bits, for an error of the logarithm is a relative one of the density.
_density: Binary = binary(
    "gamma_density",
    "",
    hlo=in_64_bits(_density_of),
    kinds="f",
    jvp=(
        lambda t, out, a, x: mul(t, mul(out, sub(log(x), digamma(a)))),
        lambda t, out, a, x: mul(t, mul(out, sub(div(sub(a, 1.0), x), 1.0))),
    ),
)


def _slope_of_sample_slope(out: Any, a: Any, x: Any) -> Any:
    slope_of_log_density = sub(div(sub(a, 1.0), x), 1.0)
    return sub(sub(digamma(a), log(x)), mul(out, slope_of_log_density))


_igamma_grad_a_of: Binary = binary(
    "igamma_grad_a",
    "",
    hlo=in_32_bits_at_least(_igamma_slope),
    kinds="f",
    jvp=(
        no_derivative("igamma_grad_a", "a"),
        lambda t, out, a, x: mul(t, mul(_density(a, x), sub(log(x), digamma(a)))),
    ),
)
_random_gamma_grad_of: Binary = binary(
    "random_gamma_grad",
    "",
    hlo=in_32_bits_at_least(_sample_slope),
    kinds="f",
    jvp=(
        no_derivative("random_gamma_grad", "a"),
        lambda t, out, a, x: mul(t, _slope_of_sample_slope(out, a, x)),
    ),
)
_igamma_of: Binary = binary(
    "igamma",
    "",
    hlo=in_64_bits(_igamma, below=4),
    kinds="f",
    jvp=(
        lambda t, out, a, x: mul(t, _igamma_grad_a_of(a, x)),
        lambda t, out, a, x: mul(t, _density(a, x)),
    ),
)
_igammac_of: Binary = binary(
    "igammac",
    "",
    hlo=in_64_bits(_igammac, below=4),
    kinds="f",
    jvp=(
        lambda t, out, a, x: neg(mul(t, _igamma_grad_a_of(a, x))),
        lambda t, out, a, x: neg(mul(t, _density(a, x))),
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

    >>> slope = minijax.grad(lax.igamma)(2.0, 1.0)
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
