"""Functions of the bits of integers, by numpy's names."""

from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax import lax
from minijax.numpy.arithmetic import abs, numeric
from minijax.operation import operation
from minijax_stage2 import promote, typeof

bitwise_and = lax.bitwise_and
bitwise_or = lax.bitwise_or
bitwise_xor = lax.bitwise_xor
bitwise_not = bitwise_invert = invert = lax.bitwise_not


@operation
def left_shift(x: Any, y: Any) -> Any:
    """The bits of `x` moved up by `y` places."""
    return lax.shift_left(*map(numeric, promote(x, y)))


@operation
def right_shift(x1: Any, x2: Any) -> Any:
    """The bits of `x1` moved down by `x2` places; what is negative stays so."""
    x1, x2 = map(numeric, promote(x1, x2))
    is_unsigned = typeof(x1).dtype.kind == "u"
    return (lax.shift_right_logical if is_unsigned else lax.shift_right_arithmetic)(x1, x2)


bitwise_left_shift = left_shift
bitwise_right_shift = right_shift


@operation
def bitwise_count(x: Any) -> Any:
    """How many bits of the absolute value of `x` are set, as uint8."""
    return stage2.astype(lax.population_count(abs(numeric(x))), np.uint8)


__all__ = [
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
