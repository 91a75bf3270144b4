"""Integrals of exponentials, sines and cosines over the variable, and the dilogarithm.

Near 0 they are power series; elsewhere they are the continued fraction of the incomplete gamma
function, of which they are special cases (https://dlmf.nist.gov/6.11, 8.19).
"""

import math
from typing import Any

import numpy as np

from minijax.declare import binary, no_derivative, unary
from minijax.lax import promoting as lax
from minijax.lax.converging import converge
from minijax.lax.elementwise import where
from minijax.lax.incomplete_gamma import fraction
from minijax.lax.widths import in_32_bits_at_least, in_64_bits
from minijax.numpy.transcendental import real_floats
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import full_like

MOST_TERMS = 500


def _sum(next_term: Any, first: Any, is_active: Any) -> Any:
    """The sum of a series.

    Arguments:
        next_term: function of how many terms there were before, and of a factor that is handed on
            from one term to the next; it returns the next factor and the term.
        first: the first factor. No term is larger than its factor, by which convergence is judged:
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


# --8<-- [start:expn]
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
_exp1_of = unary(
    "exp1",
    "",
    hlo=in_64_bits(lambda x: _expn(full_like(x, 1.0), x)),
    kinds="f",
    # Minus infinity at both zeros.
    jvp=lambda t, out, x: lax.neg(
        lax.mul(t, lax.div(lax.exp(lax.neg(x)), where(lax.eq(x, 0.0), 0.0, x)))
    ),
)
# --8<-- [end:expn]


def _expi(x: Any) -> Any:
    is_near = lax.bitwise_and(lax.gt(x, 0.0), lax.lt(x, 40.0))
    near, far = where(is_near, x, 1.0), where(is_near, 40.0, x)

    def next_term(k: Any, power: Any) -> Any:
        k = lax.add(k, 1.0)
        power = lax.div(lax.mul(power, near), k)
        return power, lax.div(power, k)

    one = full_like(x, 1.0)
    lower = lax.add(lax.log(near), lax.add(np.euler_gamma, _sum(next_term, one, is_near)))

    def next_far_term(k: Any, power: Any) -> Any:
        # The terms become smaller for as long as their number is below x.
        return where(lax.lt(k, 40.0), lax.mul(power, lax.div(lax.add(k, 1.0), far)), 0.0), power

    upper = lax.mul(lax.div(lax.exp(far), far), _sum(next_far_term, one, lax.bitwise_not(is_near)))
    upper = where(lax.eq(x, math.inf), math.inf, upper)
    out = where(is_near, lower, where(lax.eq(x, 0.0), -math.inf, upper))
    return where(lax.lt(x, 0.0), lax.neg(_expn(one, lax.neg(x))), out)


_expi_of = unary(
    "expi",
    "",
    hlo=in_64_bits(_expi),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, lax.div(lax.exp(x), x)),
)


# --8<-- [start:sici]
def _imaginary_exponential_integral(x: Any) -> Any:
    """`E1(i * x)` for x from 2 on."""
    turn = lax.complex(lax.cos(x), lax.neg(lax.sin(x)))
    place = lax.complex(full_like(x, 0.0), x)
    return lax.mul(turn, fraction(full_like(place, 0.0), place, lax.lt(x, math.inf)))


def _si(x: Any) -> Any:
    size = lax.abs(x)
    is_near = lax.lt(size, 4.0)
    near, far = where(is_near, size, 1.0), where(is_near, 4.0, size)

    def next_term(k: Any, power: Any) -> Any:
        odd = lax.add(lax.mul(k, 2.0), 1.0)
        below = lax.mul(lax.add(odd, 1.0), lax.add(odd, 2.0))
        return lax.neg(lax.mul(power, lax.div(lax.square(near), below))), lax.div(power, odd)

    lower = _sum(next_term, near, is_near)
    upper = lax.add(lax.imag(_imaginary_exponential_integral(far)), math.pi / 2)
    upper = where(lax.eq(size, math.inf), math.pi / 2, upper)
    return lax.mul(lax.sign(x), where(is_near, lower, upper))


def _ci(x: Any) -> Any:
    size = lax.abs(x)
    is_near = lax.lt(size, 4.0)
    near, far = where(is_near, size, 1.0), where(is_near, 4.0, size)

    def next_term(k: Any, power: Any) -> Any:
        even = lax.add(lax.mul(k, 2.0), 2.0)
        below = lax.mul(lax.sub(even, 1.0), even)
        power = lax.neg(lax.mul(power, lax.div(lax.square(near), below)))
        return power, lax.div(power, even)

    series = _sum(next_term, full_like(x, 1.0), is_near)
    lower = lax.add(lax.add(lax.log(near), np.euler_gamma), series)
    lower = where(lax.eq(x, 0.0), -math.inf, lower)
    upper = lax.neg(lax.real(_imaginary_exponential_integral(far)))
    upper = where(lax.eq(x, math.inf), 0.0, where(lax.eq(x, -math.inf), math.nan, upper))
    return where(is_near, lower, upper)


def _sinc(x: Any) -> Any:
    ratio = lax.div(lax.sin(x), where(lax.eq(x, 0.0), 1.0, x))
    return where(lax.eq(x, 0.0), 1.0, where(lax.eq(lax.abs(x), math.inf), 0.0, ratio))


_si_of = unary(
    "sine_integral",
    "",
    hlo=in_32_bits_at_least(_si),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _sinc(x)),
)
_ci_of = unary(
    "cosine_integral",
    "",
    hlo=in_32_bits_at_least(_ci),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, lax.div(lax.cos(x), x)),
)
# --8<-- [end:sici]


def _spence(x: Any) -> Any:
    # https://dlmf.nist.gov/25.12: what is above 1.5 goes by 1/x, what is below 0.5 by 1 - x.
    is_large = lax.gt(x, 1.5)
    y = where(is_large, lax.div(1.0, x), x)
    is_small = lax.bitwise_and(lax.lt(y, 0.5), lax.gt(y, 0.0))
    w = where(is_small, y, lax.sub(1.0, y))

    def next_term(k: Any, power: Any) -> Any:
        return lax.mul(power, w), lax.div(power, lax.square(lax.add(k, 1.0)))

    out = _sum(next_term, w, lax.gt(x, 0.0))
    log_x = lax.log(where(lax.gt(x, 0.0), x, 1.0))
    log_y = where(is_large, lax.neg(log_x), log_x)
    product = lax.mul(log_y, lax.log1p(lax.neg(where(is_small, y, 0.0))))
    out = where(is_small, lax.sub(lax.sub(math.pi**2 / 6, product), out), out)
    out = where(is_large, lax.sub(lax.mul(-0.5, lax.square(log_y)), out), out)
    out = where(lax.eq(x, 0.0), math.pi**2 / 6, out)
    return where(lax.ge(x, 0.0), out, math.nan)


def _spence_tangent(t: Any, out: Any, x: Any) -> Any:
    is_one = lax.eq(x, 1.0)
    slope = lax.div(lax.log(x), lax.sub(1.0, where(is_one, 0.0, x)))
    return lax.mul(t, where(is_one, -1.0, slope))


_spence_of = unary("spence", "", hlo=in_32_bits_at_least(_spence), kinds="f", jvp=_spence_tangent)


@operation
def expn(n: Any, x: Any) -> Any:
    """The integral of `exp(-x * t) / t**n` over t from 1 on, for whole numbers `n`.

    It has a derivative by `x` only.

    >>> f"{minijax.scipy.special.expn(2, 1.0):.3f}"
    '0.148'
    """
    return _expn_of(*real_floats("expn", n, x))


@operation
def exp1(x: Any) -> Any:
    """The integral of `exp(-t) / t` over t from `x` on.

    >>> f"{minijax.scipy.special.exp1(1.0):.3f}"
    '0.219'
    """
    return _exp1_of(*real_floats("exp1", x))


@operation
def expi(x: Any) -> Any:
    """The integral of `exp(t) / t` over t up to `x`, at 0 its principal value.

    >>> f"{minijax.scipy.special.expi(1.0):.3f}"
    '1.895'
    """
    return _expi_of(*real_floats("expi", x))


@operation
def sici(x: Any) -> tuple[Any, Any]:
    """The integrals of `sin(t) / t` over t up to `x`, and minus that of `cos(t) / t` from there.

    >>> [f"{x:.3f}" for x in minijax.scipy.special.sici(1.0)]
    ['0.946', '0.337']
    """
    (x,) = real_floats("sici", x)
    return _si_of(x), _ci_of(x)


@operation
def spence(x: Any) -> Any:
    """The integral of `log(t) / (1 - t)` over t from 1 to `x`.

    Raises:
        TypeError: `x` is no array of floats of 32 or 64 bits.

    >>> f"{minijax.scipy.special.spence(2.0):.3f}", f"{-(jnp.pi**2) / 12:.3f}"
    ('-0.822', '-0.822')
    """
    if typeof(x).dtype not in (np.float32, np.float64):
        raise TypeError(f"spence: x must have dtype float32 or float64, found {typeof(x)}")
    return _spence_of(x)


__all__ = [
    "exp1",
    "expi",
    "expn",
    "sici",
    "spence",
]
