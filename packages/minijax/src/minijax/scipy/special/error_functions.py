"""The error function."""

import math
from typing import Any

import minijax_stage2 as stage2
from minijax import lax
from minijax.declare import unary
from minijax.lax.elementwise import where
from minijax.lax.incomplete_gamma import fraction
from minijax.lax.special import exp_of_square
from minijax.lax.widths import in_32_bits_at_least
from minijax.numpy.transcendental import real_floats
from minijax.operation import operation


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


def _erfcx(x: Any) -> Any:
    is_far, is_very_far = lax.gt(x, 1.5), lax.gt(x, 1e6)
    near = where(is_far, 1.0, x)
    product = lax.mul(exp_of_square(near, 1.0), lax.erfc(near))
    middle = where(lax.bitwise_and(is_far, lax.bitwise_not(is_very_far)), x, 2.0)
    half = stage2.functions.full_like(x, 0.5)
    tail = lax.mul(middle, fraction(half, lax.square(middle), is_far))
    tail = where(is_very_far, lax.div(1.0, x), tail)
    return where(is_far, lax.div(tail, math.sqrt(math.pi)), product)


_erfcx_of = unary(
    "erfcx",
    "",
    hlo=in_32_bits_at_least(_erfcx),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(
        t, lax.sub(lax.mul(lax.mul(x, 2.0), out), 2 / math.sqrt(math.pi))
    ),
)


@operation
def erfcx(x: Any) -> Any:
    """`exp(x**2) * erfc(x)`, also where one is too large and the other too small for a number.

    >>> f"{minijax.scipy.special.erfcx(1.0):.3f}", f"{minijax.scipy.special.erfcx(1e10):.3e}"
    ('0.428', '5.642e-11')
    """
    return _erfcx_of(*real_floats("erfcx", x))


__all__ = [
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
]
