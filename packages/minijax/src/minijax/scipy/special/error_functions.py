"""The error function."""

import math
from typing import Any

from minijax.declare import Unary, unary
from minijax.floats import strong_floats
from minijax.lax import promoting as lax
from minijax.lax.elementwise import where
from minijax.lax.incomplete_gamma import fraction
from minijax.lax.special import exp_of_square
from minijax.lax.widths import in_64_bits
from minijax.numpy.transcendental import real_floats
from minijax.operation import operation
from minijax_stage2.functions import full_like


@operation
def erf(x: Any) -> Any:
    """The error function of `x`.

    >>> f"{minijax.scipy.special.erf(1.0):.3f}"
    '0.843'
    """
    return lax.erf(*real_floats("erf", x))


@operation
def erfc(x: Any) -> Any:
    """`1 - erf(x)`, exact also where that is nearly 0.

    >>> f"{minijax.scipy.special.erfc(5.0):.3e}"
    '1.537e-12'
    """
    return lax.erfc(*real_floats("erfc", x))


@operation
def erfinv(x: Any) -> Any:
    """The number whose error function is `x`.

    >>> f"{minijax.scipy.special.erfinv(minijax.scipy.special.erf(0.5)):.3f}"
    '0.500'
    """
    return lax.erf_inv(*real_floats("erfinv", x))


# --8<-- [start:erfcx]
def _by_fraction(x: Any, is_far: Any) -> tuple[Any, Any]:
    """`sqrt(pi) * x**-1 * erfcx(x)`, by the continued fraction, and the part of it in the way.

    The fraction is `1 / (x**2 + 1/2 - part / 2)`.
    """
    square, half = lax.square(x), full_like(x, 0.5)
    part = fraction(half, square, is_far, first=1)
    return lax.div(1.0, lax.add(square, lax.sub(0.5, lax.mul(0.5, part)))), part


def _erfcx(x: Any) -> Any:
    is_far, is_very_far = lax.gt(x, 1.0), lax.gt(x, 1e8)
    near = where(is_far, 1.0, x)
    product = lax.mul(exp_of_square(near, 1.0), lax.erfc(near))
    middle = where(lax.bitwise_and(is_far, lax.bitwise_not(is_very_far)), x, 2.0)
    value, _ = _by_fraction(middle, is_far)
    tail = where(is_very_far, lax.div(1.0, x), lax.mul(middle, value))
    return where(is_far, lax.div(tail, math.sqrt(math.pi)), product)


def _erfcx_slope(x: Any) -> Any:
    """`2 * x * erfcx(x) - 2 / sqrt(pi)`; far out, where little is left of that, by the fraction."""
    is_far, is_very_far = lax.gt(x, 1.0), lax.gt(x, 1e8)
    near = where(is_far, 1.0, x)
    difference = lax.sub(lax.mul(lax.mul(near, 2.0), _erfcx(near)), 2 / math.sqrt(math.pi))
    middle = where(lax.bitwise_and(is_far, lax.bitwise_not(is_very_far)), x, 2.0)
    value, part = _by_fraction(middle, is_far)
    tail = lax.mul(value, lax.sub(part, 1.0))
    tail = where(is_very_far, lax.div(lax.div(-1.0, x), x), tail)
    return where(is_far, lax.div(tail, math.sqrt(math.pi)), difference)


_erfcx_slope_of = unary(
    "erfcx_slope",
    "",
    hlo=in_64_bits(_erfcx_slope),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, lax.mul(2.0, lax.add(_erfcx_of(x), lax.mul(x, out)))),
)
_erfcx_of: Unary = unary(
    "erfcx",
    "",
    hlo=in_64_bits(_erfcx),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _erfcx_slope_of(x)),
)
# --8<-- [end:erfcx]


@operation
def erfcx(x: Any) -> Any:
    """`exp(x**2) * erfc(x)`, also where one is too large and the other too small for a number.

    >>> f"{minijax.scipy.special.erfcx(1.0):.3f}", f"{minijax.scipy.special.erfcx(1e10):.3e}"
    ('0.428', '5.642e-11')
    """
    return _erfcx_of(*strong_floats("erfcx", x))


__all__ = [
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
]
