"""Formulas evaluated in a wider dtype than that of their operands."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise.abs_and_sign import abs
from minijax.lax.elementwise.arithmetic import mul, neg
from minijax.lax.elementwise.bits import bitwise_and
from minijax.lax.elementwise.comparisons import lt
from minijax.lax.elementwise.conversion import bitcast_convert_type
from minijax.lax.elementwise.selection import where
from minijax.primitives.declare import Rule, Unary, lower_by_primitives, unary
from minijax_stage2 import typeof

Formula = Callable[..., Any]


def call_in_32_bits_at_least(function: Formula, *operands: Any) -> Any:
    """Call a function with float32 for 16-bit operands: its derivatives have 32 bits, too."""
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

    No rounding within a formula is seen in a narrow dtype, and nothing but the operand is kept for
    reverse mode. Beyond the last formula, that one is differentiated.
    """
    formula, *rest = formulas

    def tangent(t: Any, out: Any, x: Any) -> Any:
        if rest:
            return mul(t, slope(x))
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
    size = mul(stage2.astype(bitwise_and(bits, 0x7FFFFFFF), np.float64), 2.0**-149)
    subnormal = where(lt(bits, 0), neg(size), size)
    is_small = lt(abs(single), np.finfo(np.float32).tiny.item())
    return where(is_small, subnormal, stage2.astype(single, np.float64))
