"""Functions of the bits of numbers."""

from minijax.primitives.declare import binary, unary
from minijax.settings.public_names import set_all

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


set_all(globals())
