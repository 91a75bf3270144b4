"""The beta function, and its logarithm."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits, to_64_bits
from minijax.lax.special.log_beta import by_parts, log_beta
from minijax.lax.special.log_gamma import LANCZOS_SHIFT, lanczos_sum, log_gamma, log_of_normal
from minijax.lax.special.minus_log1p import artanh_series
from minijax.lax.special.where_any import where_any
from minijax.numpy.math.operands import real_floats
from minijax.primitives.declare import binary, lower_by_primitives
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.special.gamma_functions import gammasgn
from minijax_stage2 import typeof
from minijax_stage2.functions import full_like


def _betaln_of_singles(a: Any, b: Any) -> Any:
    """The value for float32 input, in float64: a quotient of Lanczos sums.

    They give `beta(a + 1, b + 1)`, from which the recurrence leads to the result.
    """
    is_positive = lax.bitwise_and(lax.gt(a, 0.0), lax.gt(b, 0.0))
    is_inside = lax.bitwise_and(is_positive, lax.lt(lax.max(a, b), math.inf))
    small, large = (where(is_inside, x, 1.0) for x in (lax.min(a, b), lax.max(a, b)))
    total = lax.add(small, large)
    place = lax.add(total, LANCZOS_SHIFT + 1)
    (above, below), (above_large, below_large) = lanczos_sum(small), lanczos_sum(large)
    below_total, above_total = lanczos_sum(lax.add(total, 1.0))
    above = lax.mul(lax.mul(above, above_large), lax.mul(above_total, lax.add(total, 1.0)))
    below = lax.mul(lax.mul(below, below_large), lax.mul(below_total, lax.sqrt(place)))
    factor = lax.mul(lax.div(above, below), lax.div(lax.div(total, small), large))
    share = log_of_normal(lax.div(lax.add(small, LANCZOS_SHIFT), place))
    rest = lax.div(lax.add(small, 1.0), place)  # what the other lacks of 1
    s = lax.div(rest, lax.sub(rest, 2.0))
    other = lax.mul(lax.mul(2.0, s), lax.add(1.0, lax.mul(lax.square(s), artanh_series(s))))
    powers = lax.add(lax.mul(lax.add(small, 0.5), share), lax.mul(lax.add(large, 0.5), other))
    scale = math.sqrt(2 * math.pi) * math.exp(1 - LANCZOS_SHIFT)
    out = lax.add(powers, log_of_normal(lax.mul(factor, scale)))
    out = where(lax.bitwise_and(lax.eq(small, 1.0), lax.eq(large, 1.0)), 0.0, out)

    by_logs = functools.partial(by_parts, lgamma=log_gamma)
    return where_any(lax.bitwise_not(is_inside), by_logs, out, a, b)


def _in_64_bits(a: Any, b: Any) -> Any:
    dtype = typeof(a).dtype
    if dtype.itemsize == 8:
        return log_beta(a, b)
    return stage2.astype(_betaln_of_singles(to_64_bits(a), to_64_bits(b)), dtype)


# B(2k) / (2k) for the Bernoulli numbers B, from k = 1 on.
_OF_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_SHIFT = 10  # from here on these are enough


def _growth_of_digamma(a: Any, b: Any) -> Any:
    """`digamma(a + b) - digamma(a)` of positive numbers, as a sum of positive parts.

    It uses the recurrence and the asymptotic series (https://dlmf.nist.gov/5.5.2, 5.11.2), both
    subtracted term by term.
    """
    is_positive = lax.bitwise_and(lax.gt(a, 0.0), lax.gt(b, 0.0))
    is_inside = lax.bitwise_and(is_positive, lax.lt(lax.add(a, b), math.inf))
    x, step = where(is_inside, a, 1.0), where(is_inside, b, 1.0)
    # The growth by a step that is next to nothing is its share of a larger one: no part underflows.
    share: Any = lax.div(step, lax.mul(x, 2.0**-60))
    is_linear = lax.lt(share, 2.0**-40)
    share, step = where(is_linear, share, 1.0), where(is_linear, lax.mul(x, 2.0**-60), step)
    out: Any = 0.0
    for k in range(_SHIFT):
        low = lax.add(x, float(k))
        out = lax.add(out, lax.mul(lax.div(step, lax.add(low, step)), lax.div(1.0, low)))
    low = lax.add(x, float(_SHIFT))
    one, other = lax.div(1.0, low), lax.div(1.0, lax.add(low, step))
    quotient = lax.mul(lax.div(step, lax.add(low, step)), one)
    out = lax.add(out, lax.add(lax.log1p(lax.mul(step, one)), lax.mul(0.5, quotient)))
    p, q = lax.square(one), lax.square(other)
    series: ArrayLike = 0.0
    power: ArrayLike = 1.0
    powers: ArrayLike = 1.0
    for coefficient in _OF_DIGAMMA:  # powers is the difference of powers of p and q, by p - q
        series = lax.add(series, lax.mul(coefficient, powers))
        power = lax.mul(power, q)
        powers = lax.add(lax.mul(powers, p), power)
    out = lax.add(out, lax.mul(lax.mul(quotient, lax.add(one, other)), series))
    out = lax.mul(out, share)

    def by_difference(a: Any, b: Any) -> Any:
        growth = lax.sub(lax.digamma(lax.add(a, b)), lax.digamma(a))
        return where(lax.eq(a, 0.0), math.nan, growth)

    return where_any(lax.bitwise_not(is_inside), by_difference, out, a, b)


def _trigamma(x: Any) -> Any:
    return lax.polygamma(full_like(x, 1.0), x)


_growth_of_digamma_of = binary(
    "growth_of_digamma",
    "",
    hlo=in_64_bits(_growth_of_digamma),
    kinds="f",
    jvp=(
        lambda t, out, a, b: lax.mul(t, lax.sub(_trigamma(lax.add(a, b)), _trigamma(a))),
        lambda t, out, a, b: lax.mul(t, _trigamma(lax.add(a, b))),
    ),
)
_betaln_of = binary(
    "betaln",
    "",
    hlo=lower_by_primitives(_in_64_bits),
    kinds="f",
    jvp=(
        lambda t, out, a, b: lax.neg(lax.mul(t, _growth_of_digamma_of(a, b))),
        lambda t, out, a, b: lax.neg(lax.mul(t, _growth_of_digamma_of(b, a))),
    ),
)


@operation
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """The logarithm of the absolute value of the beta function.

    >>> f"{minijax.scipy.special.betaln(2.0, 3.0):.3f}", f"{jnp.log(1 / 12):.3f}"
    ('-2.485', '-2.485')
    """
    return _betaln_of(*real_floats("betaln", a, b))


@operation
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function.

    >>> f"{minijax.scipy.special.beta(2.0, 3.0):.4f}", f"{1 / 12:.4f}"
    ('0.0833', '0.0833')
    """
    a, b = real_floats("beta", a, b)
    return lax.mul(_sign_of_beta(a, b), lax.exp(betaln(a, b)))


def _sign_of_beta(a: Any, b: Any) -> Any:
    """Of three gamma functions; a sum that is flushed to 0 has the sign of the larger."""
    total = lax.add(a, b)
    signs = gammasgn(a), gammasgn(b)
    is_first = lax.gt(_size(a), _size(b))
    of_total = where(lax.eq(total, 0.0), where(is_first, *signs), gammasgn(total))
    return lax.mul(lax.mul(*signs), of_total)


def _size(x: Any) -> Any:
    """Integers that compare as the absolute values of floats do, subnormal ones among them."""
    bits = np.dtype(f"int{typeof(x).dtype.itemsize * 8}")
    return lax.bitwise_and(lax.bitcast_convert_type(x, bits), np.iinfo(bits).max)


__all__ = ["beta", "betaln"]
