"""The incomplete gamma functions of large `a`: Temme's uniform expansion (DLMF 8.12).

Sums and continued fractions take about `sqrt(a)` steps near `x = a`; this takes none. With
`x = (1 + mu) * a` and `eta**2 / 2 = mu - log1p(mu)` the upper function is that of a normal
distribution, and a correction of the size of its density:

    erfc(eta * sqrt(a / 2)) / 2 + exp(-a * eta**2 / 2) / sqrt(2 * pi * a) * (sum of c(k) / a**k)

where each c(k) is a power series in eta.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from minijax.lax.elementwise.arithmetic import add, div, mul, neg, square, sub
from minijax.lax.elementwise.comparisons import eq
from minijax.lax.elementwise.extremes import clamp
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import exp, sqrt
from minijax.lax.special.error_functions import erfc
from minijax.lax.special.minus_log1p import artanh_series
from minijax.lax.special.polynomials import polynomial

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
        out = add(div(out, a), polynomial(coefficients, eta))
    return out


def _function(a: Any, x: Any, sign: float) -> Any:
    place = _place(a, x)
    eta = place.eta
    normal = mul(0.5, erfc(mul(mul(eta, sign), sqrt(mul(a, 0.5)))))
    size = div(exp(neg(place.exponent)), sqrt(mul(a, 2 * math.pi)))
    return add(normal, mul(mul(size, sign), _correction(a, eta)))


def lower(a: Any, x: Any) -> Any:
    """P, the regularized lower function."""
    return _function(a, x, -1.0)


def upper(a: Any, x: Any) -> Any:
    """Q, the regularized upper function."""
    return _function(a, x, 1.0)


def _over_gamma_by_stirling(a: Any) -> Any:
    """The gamma function, divided by the first term of Stirling's formula."""
    return polynomial([above / below for above, below in reversed(_STIRLING)], div(1.0, a))


def density(a: Any, x: Any) -> Any:
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
        by_eta = add(div(by_eta, a), polynomial(_derivative(coefficients), eta))
        by_a = add(div(by_a, a), mul(-float(k), polynomial(coefficients, eta)))
    # `x` is fixed: as `a` grows, eta falls.
    change = sub(div(by_a, a), div(by_eta, mul(a, place.eta_by_mu)))
    change = add(change, mul(correction, sub(mul(place.mu, place.log_by_mu), div(0.5, a))))
    return neg(add(div(place.log_by_mu, place.eta_by_mu), change))


def slope(a: Any, x: Any) -> Any:
    """The derivative of P by `a`."""
    place = _place(a, x)
    size = div(exp(neg(place.exponent)), sqrt(mul(a, 2 * math.pi)))
    return mul(size, _relative_slope(a, place))


def sample_slope(a: Any, x: Any) -> Any:
    """The derivative of `x` by `a` where P stays what it is: the slope divided by the density."""
    relative = mul(_relative_slope(a, _place(a, x)), _over_gamma_by_stirling(a))
    return neg(mul(div(x, a), relative))
