"""From formulas to functions: wide dtypes, derivatives, polynomials with known coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax.conversion import bitcast_convert_type
from glassjax.lax.elementwise import abs, square, where
from glassjax.lax.transcendental import log
from glassjax.primitives import declare
from glassjax.primitives.declare import Rule, Unary, lower_by_primitives, unary
from glassjax_stage2 import typeof

# Formulas evaluated in a wider dtype than their operands have.


Formula = Callable[..., Any]


def call_in_32_bits_at_least(function: Formula, *operands: Any) -> Any:
    """Call a function with float32 for 16-bit operands; its derivatives then have 32 bits, too."""
    dtype = typeof(operands[0]).dtype
    if dtype.itemsize >= 4:
        return function(*operands)
    wide = [stage2.astype(x, np.float32) for x in operands]
    return stage2.astype(function(*wide), dtype)


def in_32_bits_at_least(formula: Formula) -> Rule:
    """The lowering rule of a formula that is evaluated in float32 for 16-bit operands."""
    return lower_by_primitives(lambda *xs: call_in_32_bits_at_least(formula, *xs))


def in_64_bits(formula: Formula, *, below: int = 8) -> Rule:
    """The lowering rule of a formula that is evaluated in float64, for floats of fewer bytes.

    If a formula loses a few digits, as a difference of logarithms does, float64 has them to spare:
    the float32 result is the exact one, rounded.
    """

    @declare.with_64_bits
    def widened(*operands: Any) -> Any:
        dtype = typeof(operands[0]).dtype
        if dtype.itemsize >= below:  # or complex
            return formula(*operands)
        return stage2.astype(formula(*map(to_64_bits, operands)), dtype)

    return lower_by_primitives(widened)


def with_derivatives(
    name: str,
    *formulas: Formula,
    widened: Callable[[Formula], Rule] = in_32_bits_at_least,
    kinds: str = "f",
) -> Unary:
    """An elementwise function and its derivatives, each a primitive that a formula computes.

    A formula rounds its result only, and reverse mode keeps only the operand. The last formula is
    differentiated if higher derivatives are asked for.
    """
    formula, *rest = formulas

    def tangent(t: Any, out: Any, x: Any) -> Any:
        if rest:
            return t * slope(x)
        return stage2.jvp(formula, (x,), (t,))[1]

    if rest:
        slope = with_derivatives(f"{name}_slope", *rest, widened=widened, kinds=kinds)
    return unary(name, "", hlo=widened(formula), kinds=kinds, jvp=tangent)


def to_64_bits(x: Any) -> Any:
    """A float as float64, even a subnormal float32, which XLA's conversion flushes to zero."""
    dtype = typeof(x).dtype
    if dtype.itemsize == 8:
        return x
    single = stage2.astype(x, np.float32)
    bits = bitcast_convert_type(single, np.int32)
    size = stage2.astype(bits & 0x7FFFFFFF, np.float64) * 2.0**-149
    subnormal = where(bits < 0, -size, size)
    is_small = abs(single) < np.finfo(np.float32).tiny.item()
    return where(is_small, subnormal, stage2.astype(single, np.float64))


# Polynomials with known coefficients, for approximations.


def horner(coefficients: Sequence[float], x: Any) -> Any:
    """The polynomial with these coefficients, highest degree first, by Horner's rule."""
    out: Any = coefficients[0]
    for c in coefficients[1:]:
        out = out * x + c
    return out


# `x - log(1 + x)`, the exponent of many densities.


_ARTANH_TERMS = 18


def artanh_series(r: Any) -> Any:
    """`(artanh(r) - r) / r**3`, for `r` up to a third."""
    return horner([1 / (2 * k + 3) for k in reversed(range(_ARTANH_TERMS))], square(r))


def minus_log1p(x: Any, one_more: Any) -> Any:
    """`x - log(one_more)` for `one_more = 1 + x`, which must be accurate near 0.

    Near 0 nothing cancels: the logarithm is `2 * artanh(x / (2 + x))`.
    """
    is_near = abs(x) < 0.5
    near = where(is_near, x, 0.0)
    r = near / (near + 2.0)
    by_series = near * r - 2.0 * (r * square(r) * artanh_series(r))
    return where(is_near, by_series, x - log(one_more))
