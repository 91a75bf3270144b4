"""Functions of the bits of numbers."""

from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise.arithmetic import add, mul
from minijax.primitives.declare import binary, lower_by_primitives, unary
from minijax.settings.public_names import set_all
from minijax_stage2 import typeof

bitwise_and = binary(
    "and",
    """`x & y`, bit by bit.

    >>> lax.bitwise_and(jnp.array([0b1100, 0b1111]), 0b1010)
    Array([ 8, 10], dtype=int32)
    """,
    hlo="and",
    kinds="biu",
)
bitwise_or = binary(
    "or",
    """`x | y`, bit by bit.

    >>> lax.bitwise_or(jnp.array([0b1100, 0b0001]), 0b1010)
    Array([14, 11], dtype=int32)
    """,
    hlo="or",
    kinds="biu",
)
bitwise_xor = binary(
    "xor",
    """`x ^ y`, bit by bit.

    >>> lax.bitwise_xor(jnp.array([0b1100, 0b0001]), 0b1010)
    Array([ 6, 11], dtype=int32)
    """,
    hlo="xor",
    kinds="biu",
)
bitwise_not = unary(
    "not",
    """`~x`, bit by bit.

    >>> lax.bitwise_not(jnp.array([0, 1])), lax.bitwise_not(jnp.array([True, False]))
    (Array([-1, -2], dtype=int32), Array([False,  True], dtype=bool))
    """,
    hlo="not",
    kinds="biu",
)

shift_left = binary(
    "shift_left",
    """The bits of `x` moved up by `y` places.

    >>> lax.shift_left(jnp.array([1, 3]), 4)
    Array([16, 48], dtype=int32)
    """,
    hlo="shift_left",
    kinds="iu",
)
shift_right_arithmetic = binary(
    "shift_right_arithmetic",
    """The bits of `x` moved down by `y` places; those that come in are copies of the highest.

    >>> lax.shift_right_arithmetic(jnp.array([-16, 16]), 2)
    Array([-4,  4], dtype=int32)
    """,
    hlo="shift_right_arithmetic",
    kinds="iu",
)
shift_right_logical = binary(
    "shift_right_logical",
    """The bits of `x` moved down by `y` places; those that come in are 0.

    >>> lax.shift_right_logical(jnp.array([-16, 16], jnp.int8), jnp.int8(2))
    Array([60,  4], dtype=int8)
    """,
    hlo="shift_right_logical",
    kinds="iu",
)
population_count = unary(
    "population_count",
    """The number of bits of `x` that are set.

    >>> lax.population_count(jnp.array([0b0, 0b1011, 0b1111]))
    Array([0, 3, 4], dtype=int32)
    """,
    hlo="popcnt",
    kinds="iu",
)
clz = unary(
    "clz", """The number of zero bits of `x` before the highest that is set.

    >>> lax.clz(jnp.array([1, 2, 255], jnp.uint8))
    Array([7, 6, 0], dtype=uint8)
    """, hlo="count_leading_zeros",
    kinds="iu",
)  # fmt: skip


def _mulhi(x: Any, y: Any) -> Any:
    dtype = typeof(x).dtype
    bits = dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{dtype.kind}8")
        product = mul(stage2.astype(x, wide), stage2.astype(y, wide))
        shift = shift_right_arithmetic if dtype.kind == "i" else shift_right_logical
        return stage2.astype(shift(product, bits), dtype)
    # The digits of base 2**32; the high ones have the sign.
    high_shift = shift_right_arithmetic if dtype.kind == "i" else shift_right_logical
    (low, high), (other_low, other_high) = (
        (bitwise_and(n, dtype.type(2**32 - 1)), high_shift(n, dtype.type(32))) for n in (x, y)
    )
    carry = shift_right_logical(mul(low, other_low), dtype.type(32))
    first = add(mul(high, other_low), carry)
    second = add(mul(low, other_high), bitwise_and(first, dtype.type(2**32 - 1)))
    carries = add(high_shift(first, dtype.type(32)), high_shift(second, dtype.type(32)))
    return add(mul(high, other_high), carries)


mulhi = binary(
    "mulhi",
    """The upper half of the digits of `x * y`: for integers of `n` bits the product over `2**n`.

    >>> lax.mulhi(jnp.int32([2**30, -(2**30)]), jnp.int32([12, 12]))
    Array([ 3, -3], dtype=int32)
    """,
    hlo=lower_by_primitives(_mulhi),
    kinds="iu",
)


set_all(globals())
