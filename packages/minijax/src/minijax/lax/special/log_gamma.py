"""The logarithm of the gamma function, for floats of up to 32 bits.

It is evaluated in float64: near its zeros a small difference of large numbers remains. XLA's own
formula spends most of its time on logarithms and divisions, of which there are few here.
"""

import math
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise.abs_and_sign import abs
from minijax.lax.elementwise.arithmetic import add, div, mul, sub
from minijax.lax.elementwise.bits import bitwise_and, bitwise_or, shift_right_logical
from minijax.lax.elementwise.comparisons import eq, lt
from minijax.lax.elementwise.conversion import bitcast_convert_type
from minijax.lax.elementwise.rounding import RoundingMethod, round
from minijax.lax.elementwise.selection import where
from minijax.lax.special.polynomials import polynomial
from minijax.runtime.jit import jit

# Lanczos' sum for g = 7 (Godfrey's coefficients), over the product of (z + 1) to (z + 8).
LANCZOS_SHIFT = 7.5
_ABOVE = (
    0.9999999999998099, 60.45833333334203, 1599.0425347220457, 24165.510665029535,
    228235.2154997145, 1379496.2658786706, 5210869.017760831, 11246929.484659927,
    10619610.099075994,
)  # fmt: skip
_BELOW = (1.0, 36.0, 546.0, 4536.0, 22449.0, 67284.0, 118124.0, 109584.0, 40320.0)

# sin(pi * x) / x in x**2, up to a half: the Taylor series, highest degree first.
_SINE = tuple(
    (-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12, -1, -1)
)
# The area tangent: 2 * artanh(s) / s in s**2.
_LOGARITHM = tuple(2.0 / (2 * k + 1) for k in range(10, -1, -1))


@jit
def log_gamma(x: Any) -> Any:
    """`log(abs(gamma(x)))` of a float32 converted to float64."""
    is_left = lt(x, 0.5)
    z = sub(where(is_left, sub(1.0, x), x), 1.0)
    t = add(z, LANCZOS_SHIFT)
    power = sub(mul(add(z, 0.5), log_of_normal(t)), t)
    part = sub(x, round(x, RoundingMethod.TO_NEAREST_EVEN))
    sine = abs(mul(part, polynomial(_SINE, mul(part, part))))
    scaled = mul(div(*lanczos_sum(z)), math.sqrt(2 * math.pi))
    rest = log_of_normal(where(is_left, div(math.pi, mul(sine, scaled)), scaled))
    out = where(is_left, sub(rest, power), add(rest, power))
    out = where(bitwise_or(eq(x, 1.0), eq(x, 2.0)), 0.0, out)
    is_infinite = bitwise_or(bitwise_and(is_left, eq(part, 0.0)), eq(abs(x), math.inf))
    return where(is_infinite, math.inf, out)


@jit
def lanczos_sum(z: Any) -> tuple[Any, Any]:
    """Numerator and denominator of `gamma(z + 1) * exp(t) / t**(z + 0.5) / sqrt(2 * pi)`.

    Here `t` is `z + LANCZOS_SHIFT`.
    """
    size = where(lt(z, 1e10), z, 1e10)  # beyond which the sum is its first term
    return polynomial(_ABOVE, size), polynomial(_BELOW, size)


@jit
def log_of_normal(x: Any) -> Any:
    """The logarithm of a positive normal float64: `x = 2**exponent * rest`, rest near 1."""
    bits = bitcast_convert_type(x, np.int64)
    # The exponent that leaves a rest between the square roots of 1/2 and 2.
    shifted = add(bits, np.int64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD))
    exponent = sub(shift_right_logical(shifted, np.int64(52)), np.int64(1023))
    rest = bitcast_convert_type(sub(bits, mul(exponent, np.int64(1 << 52))), np.float64)
    s = div(sub(rest, 1.0), add(rest, 1.0))
    near_one = mul(s, polynomial(_LOGARITHM, mul(s, s)))
    return add(mul(stage2.astype(exponent, np.float64), math.log(2)), near_one)
