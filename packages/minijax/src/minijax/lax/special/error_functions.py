"""The error function, its complement and its inverse."""

import math
from typing import Any

from minijax.lax.elementwise.abs_and_sign import abs
from minijax.lax.elementwise.arithmetic import add, div, mul, square, sub
from minijax.lax.elementwise.comparisons import eq, lt
from minijax.lax.elementwise.rounding import round
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import exp
from minijax.lax.elementwise.widening import in_32_bits_at_least
from minijax.primitives.declare import (
    Unary,
    unary,
)


def exp_of_square(x: Any, sign: float) -> Any:
    """`exp(sign * x**2)`, without the rounding error of the square.

    `x` is split in two, so that the square of the first part is exact (Moshier's Cephes, expx2).
    """
    x = where(lt(abs(x), 64.0), x, 64.0)  # whose square is as good as infinite
    first = div(round(mul(x, 128.0)), 128.0)
    rest = mul(sub(x, first), add(x, first))
    return mul(exp(mul(sign, square(first))), exp(mul(sign, rest)))


def _exp_of_negative_square(x: Any) -> Any:
    return where(eq(x, x), exp_of_square(x, -1.0), math.nan)


_bell: Unary = unary(
    "bell",
    "",
    hlo=in_32_bits_at_least(_exp_of_negative_square),
    kinds="f",
    # Where nothing is left of the bell curve, nothing is left of this, however large x is.
    jvp=lambda t, out, x: mul(t, where(eq(out, 0), 0, mul(mul(-2, out), x))),
)


erf = unary(
    "erf",
    """The error function of `x`: the integral of `2 / sqrt(pi) * exp(-t**2)` from 0 to `x`.

    >>> f"{lax.erf(0.0):.3f}", f"{lax.erf(1.0):.3f}"
    ('0.000', '0.843')
    """,
    hlo="chlo.erf",
    kinds="f",
    jvp=lambda t, out, x: mul(mul(t, 2 / math.sqrt(math.pi)), _bell(x)),
)


erfc = unary(
    "erfc",
    """`1 - erf(x)`, accurate even where that is nearly 0.

    >>> f"{lax.erfc(5.0):.3e}", bool(lax.erfc(5.0) == 1 - lax.erf(5.0))
    ('1.537e-12', False)
    """,
    hlo="chlo.erfc",
    kinds="f",
    jvp=lambda t, out, x: mul(mul(t, -2 / math.sqrt(math.pi)), _bell(x)),
)


erf_inv = unary(
    "erf_inv",
    """The number whose error function is `x`.

    >>> f"{lax.erf_inv(lax.erf(0.5)):.3f}"
    '0.500'
    """,
    hlo="chlo.erf_inv",
    kinds="f",
    jvp=lambda t, out, x: mul(mul(t, math.sqrt(math.pi) / 2), exp(square(out))),
)


__all__ = ["erf", "erf_inv", "erfc"]
