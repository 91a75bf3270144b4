"""The logarithm of the gamma function, its derivatives, and the zeta function."""

from __future__ import annotations

import math
from typing import Any

import minijax_stage2 as stage2
from minijax.lax.elementwise.arithmetic import add, div, mul, neg, sub
from minijax.lax.elementwise.bits import bitwise_or
from minijax.lax.elementwise.comparisons import eq, gt
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import exp, log
from minijax.lax.elementwise.widening import to_64_bits
from minijax.lax.special.log_gamma import log_gamma
from minijax.primitives.declare import (
    Binary,
    Unary,
    binary,
    lower_by_primitives,
    no_derivative,
    unary,
)
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof

_lgamma_of_64_bits = unary(
    "lgamma_of_64_bits",
    "",
    hlo="chlo.lgamma",
    kinds="f",
    jvp=lambda t, out, x: mul(t, digamma(x)),
)


def _lgamma(x: Any) -> Any:
    dtype = typeof(x).dtype
    if dtype.itemsize < 8:
        return stage2.astype(log_gamma(to_64_bits(x)), dtype)
    is_root = bitwise_or(eq(x, 1.0), eq(x, 2.0))
    return where(is_root, 0.0, _lgamma_of_64_bits(x))


lgamma = unary(
    "lgamma",
    """The logarithm of the absolute value of the gamma function of `x`.

    >>> f"{lax.exp(lax.lgamma(5.0)):.3f}"
    '24.000'
    """,
    hlo=lower_by_primitives(_lgamma),
    kinds="f",
    jvp=lambda t, out, x: mul(t, digamma(x)),
)
digamma: Unary = unary(
    "digamma",
    """The derivative of `lgamma`.

    >>> f"{lax.digamma(1.0):.3f}", f"{minijax.grad(lax.lgamma)(1.0):.3f}"
    ('-0.577', '-0.577')
    """,
    hlo="chlo.digamma",
    kinds="f",
    jvp=lambda t, out, x: mul(t, _polygamma(1, x)),
)
_polygamma: Binary = binary(
    "polygamma",
    "",
    hlo="chlo.polygamma",
    kinds="f",
    jvp=(
        no_derivative("polygamma", "m"),
        lambda t, out, m, x: mul(t, _polygamma(add(m, 1), x)),
    ),
)
_FIRST_TERMS = 10
# B(2k) / (2k)! of the Bernoulli numbers, from k = 1 on.
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000,
)  # fmt: skip


def _series_of_slope(x: Any, q: Any) -> Any:
    """The derivative of `zeta` in `x`: of the first terms, and of the rest by Euler-Maclaurin."""
    total: Any = 0.0
    for k in range(_FIRST_TERMS):
        log_of_base = log(add(q, float(k)))
        total = sub(total, mul(log_of_base, exp(neg(mul(x, log_of_base)))))
    last = add(q, float(_FIRST_TERMS))
    log_of_last = log(last)
    power = exp(neg(mul(x, log_of_last)))
    over = div(1.0, sub(x, 1.0))
    total = sub(total, mul(mul(mul(power, last), over), add(log_of_last, over)))
    total = sub(total, mul(mul(power, 0.5), log_of_last))
    product, slope = mul(div(power, last), x), sub(div(1.0, x), log_of_last)
    for k, coefficient in enumerate(_BERNOULLI, 1):
        total = add(total, mul(mul(product, coefficient), slope))
        for j in (2 * k - 1, 2 * k):
            product = div(mul(product, add(x, float(j))), last)
            slope = add(slope, div(1.0, add(x, float(j))))
    return where(gt(q, 0.0), _beyond_the_pole(x, total, -math.inf), math.nan)


def _beyond_the_pole(x: Any, value: Any, pole: float = math.nan) -> Any:
    """`value` where the sum of `zeta` converges, which is above `x = 1`, and `pole` at it."""
    return where(gt(x, 1.0), value, where(eq(x, 1.0), pole, math.nan))


def _series_in_64_bits(x: Any, q: Any) -> Any:
    return stage2.astype(_series_of_slope(to_64_bits(x), to_64_bits(q)), typeof(x).dtype)


def _second_derivative_of_zeta(x: Any, q: Any) -> Any:
    ones = stage2.full_like(x, 1.0)
    slope = stage2.jvp(lambda x: _series_of_slope(x, q), (x,), (ones,))[1]
    return _beyond_the_pole(x, slope, math.inf)


def _slope_by_offset(x: Any, q: Any) -> Any:
    """The derivative of `zeta` in `q`."""
    return _beyond_the_pole(x, neg(mul(x, _zeta(add(x, 1), q))))


def _slope_of_slope_by_offset(x: Any, q: Any) -> Any:
    after = add(x, 1)
    return _beyond_the_pole(x, neg(add(_zeta(after, q), mul(x, _slope_of_zeta(after, q)))))


_slope_of_zeta: Binary = binary(
    "slope_of_zeta",
    "",
    hlo=lower_by_primitives(_series_in_64_bits),
    kinds="f",
    jvp=(
        lambda t, out, x, q: mul(t, _second_derivative_of_zeta(x, q)),
        lambda t, out, x, q: mul(t, _slope_of_slope_by_offset(x, q)),
    ),
)


_zeta: Binary = binary(
    "zeta",
    "",
    hlo="chlo.zeta",
    kinds="f",
    jvp=(
        lambda t, out, x, q: mul(t, _slope_of_zeta(x, q)),
        lambda t, out, x, q: mul(t, _slope_by_offset(x, q)),
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


__all__ = ["digamma", "lgamma", "polygamma", "zeta"]
