"""Elementwise arithmetic: sums and products, quotients and remainders, powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote, require_meeting, weak_if_all_are
from minijax_stage2 import typeof
from minijax_stage2.promotion import to_inexact


@operation
def divide(x: ArrayLike, y: ArrayLike) -> Array:
    """`x / y`, a real number for integers too.

    >>> jnp.divide(jnp.array([7, 8]), 2)
    Array([3.5, 4. ], dtype=float32)
    """
    require_meeting(x, y)
    return stage2.div(x, y)


true_divide = divide

sqrt = lax.sqrt
cbrt = lax.cbrt


def numeric(x: Any) -> Any:
    """`x` with booleans converted to integers."""
    return stage2.astype(x, np.int32) if typeof(x).dtype == np.bool_ else x


@operation
def square(x: ArrayLike) -> Array:
    """`x * x`.

    >>> jnp.square(jnp.array([-2, 3]))
    Array([4, 9], dtype=int32)
    """
    return lax.square(numeric(x))


@operation
def reciprocal(x: ArrayLike) -> Array:
    """`1 / x`, a real number for integers too.

    >>> jnp.reciprocal(jnp.array([4.0, 0.0]))
    Array([0.25,  inf], dtype=float32)
    """
    return lax.reciprocal(to_inexact(x))


@operation
def positive(x: ArrayLike) -> Array:
    """`x` itself.

    >>> jnp.positive(jnp.array([-1, 2]))
    Array([-1,  2], dtype=int32)
    """
    return stage2.broadcast_to(x, typeof(x).shape)


@operation
def abs(x: ArrayLike) -> Array:
    """The absolute value of `x`, real for complex numbers.

    >>> jnp.abs(jnp.array([-2, 3])), jnp.abs(3.0 + 4.0j)
    (Array([2, 3], dtype=int32), Array(5., dtype=float32, weak_type=True))
    """
    return x if typeof(x).dtype.kind in "bu" else lax.abs(x)  # type: ignore[return-value]


absolute = abs


@operation
def fabs(x: ArrayLike) -> Array:
    """The absolute value of a real `x`, as a float.

    Raises:
        TypeError: `x` is complex.

    >>> jnp.fabs(jnp.array([-2, 3]))
    Array([2., 3.], dtype=float32)
    """
    if typeof(x).dtype.kind == "c":
        raise TypeError(f"fabs: found {typeof(x)}, which is complex; use jnp.abs")
    return lax.abs(to_inexact(x))


@operation
def sign(x: ArrayLike) -> Array:
    """The sign of a real `x`, -1, 0 or 1; for a complex one `x / abs(x)`, or 0.

    >>> jnp.sign(jnp.array([-3.0, 0.0, 2.0]))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    return lax.sign(x)


def power(x1: ArrayLike, x2: ArrayLike) -> Array:
    """`x1` to the power `x2`.

    A Python int as exponent is exact: it multiplies repeatedly.

    Raises:
        TypeError: `x1` is an integer and `x2` a negative Python int; make one of them a float.

    >>> jnp.pow(jnp.array([2, 3]), 2)
    Array([4, 9], dtype=int32)
    """
    if isinstance(x2, int | np.integer) and not isinstance(x2, bool):
        return _whole_power(x1, int(x2))
    return _power(x1, x2)


@operation(static="exponent")
def _whole_power(x: Any, exponent: int) -> Any:
    x = numeric(x)
    if exponent < 0 and typeof(x).dtype.kind in "iu":
        raise TypeError(f"power: the integer {typeof(x)} to the negative power {exponent}")
    return lax.integer_pow(x, exponent)


@operation
def _power(x1: Any, x2: Any) -> Any:
    out = lax.pow(*map(numeric, promote(x1, x2)))
    if typeof(out).dtype.kind in "iu":
        return lax.convert_element_type(out, typeof(out).dtype)
    return weak_if_all_are(out, x2) if typeof(x2).dtype.kind in "iu" else out


pow = power


@operation
def float_power(x: ArrayLike, y: ArrayLike) -> Array:
    """`x` to the power `y`, computed as floats.

    >>> jnp.float_power(jnp.array([2, 3]), -1).dtype
    dtype('float32')
    """
    return lax.pow(*promote(x, y, inexact=True))


def _real_operands(caller: str, x1: Any, x2: Any) -> list[Any]:
    x1, x2 = map(numeric, promote(x1, x2))
    if typeof(x1).dtype.kind == "c":
        raise TypeError(f"{caller}: complex numbers have no remainder, found {typeof(x1)}")
    return [x1, x2]


@operation
def fmod(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The remainder of `x1 / x2` rounded towards zero; it has the sign of `x1`.

    Raises:
        TypeError: an operand is complex.

    >>> jnp.fmod(jnp.array([7, -7]), 3)
    Array([ 1, -1], dtype=int32)
    """
    x1, x2 = _real_operands("fmod", x1, x2)
    return lax.rem(x1, _divisor(x2))


def _divisor(x: Any) -> Any:
    """`x`; for integers with 0 replaced by 1, so that the remainder is 0."""
    return where(lax.eq(x, 0), 1, x) if typeof(x).dtype.kind in "iu" else x


@operation
def remainder(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The remainder of `x1 / x2` rounded down; it has the sign of `x2`.

    Raises:
        TypeError: an operand is complex.

    >>> jnp.mod(jnp.array([7, -7]), 3)
    Array([1, 2], dtype=int32)
    """
    x1, x2 = _real_operands("remainder", x1, x2)
    x2 = _divisor(x2)
    rest = lax.rem(x1, x2)
    if typeof(rest).dtype.kind == "u":
        return rest
    return _remainder(rest, x2, _has_sign_of_dividend_only(rest, x2))


def _remainder(rest: Any, x2: Any, is_above: Any) -> Any:
    return where(is_above, lax.add(rest, x2), rest)


mod = remainder


def _has_sign_of_dividend_only(rest: Any, x2: Any) -> Any:
    return lax.bitwise_and(lax.ne(lax.sign(rest), lax.sign(x2)), lax.ne(rest, 0))


@operation
def floor_divide(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The quotient `x1 / x2`, rounded down; a float divided by zero is infinite or NaN.

    Raises:
        TypeError: an operand is complex.

    >>> jnp.floor_divide(jnp.array([7, -7]), 2)
    Array([ 3, -4], dtype=int32)
    """
    x1, x2 = _real_operands("floor_divide", x1, x2)
    rest = lax.rem(x1, x2)
    if typeof(rest).dtype.kind == "u":
        return lax.div(x1, x2)
    if typeof(rest).dtype.kind == "i":
        is_above = lax.bitwise_and(lax.ne(lax.sign(x1), lax.sign(x2)), lax.ne(rest, 0))
        quotient = lax.div(x1, x2)
        return where(is_above, lax.sub(quotient, 1), quotient)
    return _quotient(x1, x2, rest, _has_sign_of_dividend_only(rest, x2))


def _quotient(x1: Any, x2: Any, rest: Any, is_above: Any) -> Any:
    """The quotient of floats, rounded down."""
    quotient = lax.div(where(lax.eq(x2, 0), x1, lax.sub(x1, rest)), x2)
    return lax.round(where(is_above, lax.sub(quotient, 1), quotient))


@operation
def divmod(x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    """`floor_divide` and `remainder` of `x1` and `x2`.

    >>> jnp.divmod(jnp.array([7, -7]), 3)
    (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    require_meeting(x1, x2)
    x1, x2 = _real_operands("divmod", x1, x2)
    if typeof(x1).dtype.kind != "f":
        return floor_divide(x1, x2), remainder(x1, x2)
    rest = lax.rem(x1, x2)
    is_above = _has_sign_of_dividend_only(rest, x2)
    return _quotient(x1, x2, rest, is_above), _remainder(rest, x2, is_above)


@operation
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor of integers, by Euclid's algorithm.

    Raises:
        ValueError: an operand is not an integer.

    >>> jnp.gcd(jnp.array([12, 18]), 8)
    Array([4, 2], dtype=int32)
    """
    x1, x2 = _integers("gcd", x1, x2)

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        larger, smaller = pair
        is_done = lax.eq(smaller, 0)
        rest = lax.rem(larger, where(is_done, 1, smaller))
        return where(is_done, larger, smaller), where(is_done, 0, rest)

    return lax.while_loop(lambda pair: _is_any(lax.ne(pair[1], 0)), step, (abs(x1), abs(x2)))[0]


@operation
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiple of integers.

    Raises:
        ValueError: an operand is not an integer.

    >>> jnp.lcm(jnp.array([4, 6]), 10)
    Array([20, 30], dtype=int32)
    """
    x1, x2 = _integers("lcm", x1, x2)
    divisor = gcd(x1, x2)
    multiple = lax.mul(abs(x1), lax.div(abs(x2), where(lax.eq(divisor, 0), 1, divisor)))
    return where(lax.eq(divisor, 0), 0, multiple)


def _is_any(x: Any) -> Any:
    return lax.reduce_or(x, tuple(range(typeof(x).ndim)))


def _integers(caller: str, x1: Any, x2: Any) -> list[Any]:
    x1, x2 = promote(x1, x2)
    if typeof(x1).dtype.kind not in "iu":
        raise ValueError(f"{caller}: expected integers, found {typeof(x1)}")
    shape = stage2.promotion.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    return [stage2.broadcast_to(x1, shape), stage2.broadcast_to(x2, shape)]


__all__ = [
    "abs", "absolute", "cbrt", "divide", "divmod", "fabs", "float_power", "floor_divide", "fmod",
    "gcd", "lcm", "mod", "positive", "pow", "power", "reciprocal", "remainder", "sign", "sqrt",
    "square", "true_divide",
]  # fmt: skip
