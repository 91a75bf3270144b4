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
from minijax.primitives.declare import Rule, lower_by_primitives
from minijax_stage2 import typeof

Formula = Callable[..., Any]


def in_32_bits_at_least(formula: Formula) -> Rule:
    """The lowering rule of a formula that is evaluated in float32 for 16-bit operands."""

    def widened(*operands: Any) -> Any:
        dtype = typeof(operands[0]).dtype
        if dtype.itemsize >= 4:
            return formula(*operands)
        wide = [stage2.astype(x, np.float32) for x in operands]
        return stage2.astype(formula(*wide), dtype)

    return lower_by_primitives(widened)


def in_64_bits(formula: Formula) -> Rule:
    """The lowering rule of a formula that is evaluated in float64.

    If a formula loses a few digits, as a difference of logarithms does, float64 has them to spare:
    the float32 result is the exact one, rounded.
    """

    def widened(*operands: Any) -> Any:
        dtype = typeof(operands[0]).dtype
        if dtype.itemsize >= 8:  # or complex
            return formula(*operands)
        return stage2.astype(formula(*map(to_64_bits, operands)), dtype)

    return lower_by_primitives(widened)


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
