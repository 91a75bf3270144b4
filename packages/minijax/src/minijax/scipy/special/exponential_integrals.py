"""Exponential integrals.

Near 0 they are power series (https://dlmf.nist.gov/6.6). Elsewhere those of any order are the
continued fraction of the incomplete gamma function, of which they are special cases
(https://dlmf.nist.gov/8.19). The one of first order is a factor times its Chebyshev series
(Clenshaw, Chebyshev series for mathematical functions, 1962), written in powers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.lax.special.incomplete_gamma import fraction
from minijax.lax.special.polynomials import polynomial
from minijax.lax.special.series import converge
from minijax.numpy.math.operands import strong_floats
from minijax.primitives.declare import binary, no_derivative, unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import full_like

MOST_TERMS = 500


def _sum(next_term: Any, first: Any, is_active: Any) -> Any:
    """The sum of a series.

    Arguments:
        next_term: function of the number of earlier terms, and of a factor that is passed from term
            to term; it returns the next factor and the term.
        first: the first factor. No term is larger than its factor, which decides convergence, since
            a term may be 0.
    """
    epsilon = float(np.finfo(typeof(first).dtype).eps)

    def step(n: Any, factor: Any, total: Any) -> list[Any]:
        factor, term = next_term(n, factor)
        return [factor, lax.add(total, term)]

    def is_unconverged(old: Any, new: Any) -> Any:
        return lax.gt(lax.abs(new[0]), lax.mul(lax.abs(new[1]), epsilon))

    start = [first, full_like(first, 0.0)]
    return converge(step, start, is_active, is_unconverged, MOST_TERMS)[1]


def _expn(n: Any, x: Any) -> Any:
    is_small = lax.bitwise_and(lax.le(x, 0.7), lax.gt(x, 0.0))
    is_inside = lax.bitwise_and(lax.gt(x, 0.0), lax.gt(n, 0.0))
    near, far = where(is_small, x, 0.5), where(is_small, 2.0, x)
    last = lax.sub(n, 1.0)

    def next_term(k: Any, power: Any) -> Any:
        below = lax.sub(k, last)
        term = where(lax.eq(below, 0.0), 0.0, lax.div(power, where(lax.eq(below, 0.0), 1.0, below)))
        return lax.div(lax.mul(power, lax.neg(near)), lax.add(k, 1.0)), term

    one = full_like(x, 1.0)
    series = _sum(next_term, one, lax.bitwise_and(is_small, is_inside))
    logs = lax.sub(lax.mul(last, lax.log(near)), lax.lgamma(n))
    is_odd = lax.ne(lax.rem(last, 2.0), 0.0)
    power = lax.mul(where(is_odd, -1.0, 1.0), lax.exp(logs))
    lower = lax.sub(lax.mul(power, lax.sub(lax.digamma(n), lax.log(near))), series)

    # Of what is larger the exponential is zero, and the fraction is not computed.
    is_far = lax.bitwise_and(lax.bitwise_and(is_inside, lax.bitwise_not(is_small)), lax.lt(x, 1e3))
    upper = lax.mul(lax.exp(lax.neg(far)), fraction(lax.sub(1.0, n), far, is_far))
    out = where(is_small, lower, upper)
    out = where(lax.eq(n, 0.0), lax.div(lax.exp(lax.neg(x)), x), out)
    at_zero = where(lax.le(n, 1.0), math.inf, lax.div(1.0, where(lax.eq(n, 1.0), 1.0, last)))
    out = where(lax.eq(x, 0.0), at_zero, out)
    return where(lax.bitwise_or(lax.lt(n, 0.0), lax.lt(x, 0.0)), math.nan, out)


def _expn_tangent(t: Any, out: Any, n: Any, x: Any) -> Any:
    of_zero = lax.mul(out, lax.add(1.0, lax.div(1.0, x)))
    slope = where(lax.eq(n, 0.0), of_zero, _expn_of(lax.sub(n, 1.0), x))
    return lax.neg(lax.mul(t, slope))


_expn_of = binary(
    "expn",
    "",
    hlo=in_64_bits(_expn),
    kinds="f",
    jvp=(no_derivative("expn", "n"), _expn_tangent),
)


# E1(x) * x * exp(x) from 1 on, in 6 / (x + 2) - 1, highest degree first.
_E1_BEYOND = (
    1.6653605630210352e-09, -2.2833791588047637e-09, -8.884869602603872e-09,
    1.1242555759612937e-08, 2.308454459271108e-08, -2.8530020944707464e-08, -3.563055711250494e-08,
    3.866861189273486e-08, 3.59847775087085e-08, -4.927132707516047e-08, -3.401080059476726e-08,
    -1.3562838183210082e-08, -3.3895594783596894e-08, -1.988326883196929e-07,
    -2.757892838197972e-07, -9.093660485625875e-07, -1.5231163467442538e-06,
    -4.759418936062513e-06, -8.721850614330528e-06, -2.653610548185957e-05, -5.219395827001712e-05,
    -0.00016176761759105962, -0.00033798581482425506, -0.0011289560037625775,
    -0.002507852571851941, -0.010133650725821937, -0.024300313654295764, -0.19036949703167486,
    0.8253825996042233,
)  # fmt: skip
# Ei(x) * x * exp(-x) from 8 to 24, in 24 / x - 2.
_EI_BETWEEN = (
    7.295997498271392e-11, -1.2986684344394544e-09, 2.7972774696205398e-09, 3.75392960845311e-09,
    -1.9173579130465075e-08, 2.135103303335394e-08, 1.1783504890075976e-08, -9.342202199094821e-08,
    2.1442411002090458e-07, -1.958821152049133e-07, -4.291846892992687e-07, 1.9023240099659114e-06,
    -2.5347046021936673e-06, -2.7610538146517924e-06, 1.6579946630548978e-05,
    -1.7692294852930692e-05, -4.616656010674406e-05, 0.00013732291612991314, 9.334164293044166e-05,
    -0.0006719540776297963, -0.0007168215029051482, 0.0022845381279430407, 0.01143817510780101,
    0.0663599969871745, 1.1029745449067592,
)  # fmt: skip
# The same from 24 on, in 48 / x - 1.
_EI_BEYOND = (
    -7.958362416674816e-12, -4.3128144278422854e-11, 1.0585359469972874e-11,
    2.6369414725278334e-10, 1.9271607413852916e-10, -5.758981872455477e-10, -9.45986420556208e-10,
    -6.621219535716691e-11, 1.0652237994055923e-09, 1.648386298285285e-09, 2.4525109826562722e-09,
    5.036596429762775e-09, 1.3569421721248852e-08, 4.6844841027596855e-08, 2.053127853729203e-07,
    1.1430188598494646e-06, 8.211967484590294e-06, 7.863790798684312e-05, 0.001063768785547162,
    0.022753072027360828, 1.0217607036601566,
)  # fmt: skip
# How many terms of the power series are seen below 1, and below 8.
_E1_TERMS, _EI_TERMS = 19, 45


def _exp1(x: Any) -> Any:
    is_small = lax.le(x, 1.0)
    near, far = where(lax.gt(x, 0.0), where(is_small, x, 1.0), 1.0), where(is_small, 1.0, x)
    logs = lax.add(np.euler_gamma, lax.log(near))
    lower = lax.neg(lax.add(logs, _power_series(lax.neg(near), _E1_TERMS)))
    series = polynomial(_E1_BEYOND, lax.sub(lax.div(6.0, lax.add(far, 2.0)), 1.0))
    upper = lax.div(lax.mul(lax.exp(lax.neg(far)), series), far)
    out = where(is_small, lower, upper)
    return where(lax.eq(x, 0.0), math.inf, where(lax.lt(x, 0.0), math.nan, out))


def _power_series(x: Any, count: int) -> Any:
    """The sum of x**k / (k * k!) over a number of k, from 1 on."""
    coefficients = [1 / (k * math.factorial(k)) for k in range(count, 0, -1)]
    return lax.mul(x, polynomial(coefficients, x))


def _expi(x: Any) -> Any:
    is_small, is_far = lax.le(x, 8.0), lax.gt(x, 24.0)
    near, far = where(lax.gt(x, 0.0), where(is_small, x, 1.0), 1.0), where(is_small, 8.0, x)
    logs = lax.add(np.euler_gamma, lax.log(near))
    lower = lax.add(logs, _power_series(near, _EI_TERMS))
    inverse = lax.div(1.0, far)
    between = polynomial(_EI_BETWEEN, lax.sub(lax.mul(24.0, where(is_far, 1 / 24, inverse)), 2.0))
    beyond = polynomial(_EI_BEYOND, lax.sub(lax.mul(48.0, where(is_far, inverse, 0.0)), 1.0))
    upper = lax.mul(lax.mul(lax.exp(far), inverse), where(is_far, beyond, between))
    out = where(is_small, lower, where(lax.eq(x, math.inf), math.inf, upper))
    out = where(lax.eq(x, 0.0), -math.inf, out)
    return where(lax.lt(x, 0.0), lax.neg(_exp1(lax.abs(x))), out)


def _slope_of_exp1(x: Any) -> Any:
    """Minus infinity at both zeros, and NaN below them, where `exp1` is."""
    positive = where(lax.lt(x, 0.0), math.nan, where(lax.eq(x, 0.0), 0.0, x))
    return lax.neg(lax.div(lax.exp(lax.neg(x)), positive))


_exp1_of = unary(
    "exp1",
    "",
    hlo=in_64_bits(_exp1),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _slope_of_exp1(x)),
)
_expi_of = unary(
    "expi",
    "",
    hlo=in_64_bits(_expi),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, lax.div(lax.exp(x), x)),
)


@operation
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The integral of `exp(-x * t) / t**n` over t from 1 on, for whole numbers `n`.

    It is differentiable in `x` only.

    >>> f"{minijax.scipy.special.expn(2, 1.0):.3f}"
    '0.148'
    """
    return _expn_of(*strong_floats("expn", n, x))


@operation
def exp1(x: ArrayLike) -> Array:
    """The integral of `exp(-t) / t` over t from `x` on.

    >>> f"{minijax.scipy.special.exp1(1.0):.3f}"
    '0.219'
    """
    return _exp1_of(*strong_floats("exp1", x))


@operation
def expi(x: ArrayLike) -> Array:
    """The integral of `exp(t) / t` over t up to `x`, as a principal value at 0.

    >>> f"{minijax.scipy.special.expi(1.0):.3f}"
    '1.895'
    """
    return _expi_of(*strong_floats("expi", x))


__all__ = ["exp1", "expi", "expn"]
