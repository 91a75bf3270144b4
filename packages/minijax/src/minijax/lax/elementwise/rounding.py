"""Rounding to integers, and to formats of floats."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax.elementwise.abs_and_sign import abs, sign
from minijax.lax.elementwise.arithmetic import div, mul, neg
from minijax.primitives.declare import binary, declare, require_kind, unary
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.public_names import set_all
from minijax_stage2 import Primitive, ShapedArray, bind1
from minijax_stage2.functions import ints
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type


class RoundingMethod(enum.IntEnum):
    """Rounding of a number halfway between two integers.

    >>> lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN), lax.round(2.5)
    (Array(2., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


round_p = Primitive("round")


@operation(static="rounding_method")
def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """The integer nearest to `x`, a real number.

    Arguments:
        x: the array to round.
        rounding_method: how to round halves.

    >>> lax.round(jnp.array([-2.5, 0.5, 2.5]))
    Array([-3.,  1.,  3.], dtype=float32)
    """
    return bind1(round_p, x, rounding_method=RoundingMethod(rounding_method))


def _type_of_round(x: ShapedArray, *, rounding_method: RoundingMethod) -> list[ShapedArray]:
    require_kind("round", "f", x)
    return [x]


def _lower_round(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *,
    rounding_method: RoundingMethod,
) -> list[Value]:
    (out,) = out_avals
    goes_away = rounding_method is RoundingMethod.AWAY_FROM_ZERO
    operation = "round_nearest_afz" if goes_away else "round_nearest_even"
    return b.emit(f"stablehlo.{operation} {x.name} : {mlir_type(out)}", out)


declare(
    round_p,
    abstract_eval=_type_of_round,
    lower=_lower_round,
    vmap=elementwise(round_p),
    sharding=by_elements(round_p),
)


reduce_precision_p = Primitive("reduce_precision")


@operation(static=("exponent_bits", "mantissa_bits"))
def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Array:
    """`operand` rounded to a float with these numbers of bits, in its own dtype.

    Raises:
        TypeError: `operand` is not real.
        ValueError: `exponent_bits` is less than 1, or `mantissa_bits` negative.

    >>> lax.reduce_precision(jnp.float32(1 + 2**-10), exponent_bits=8, mantissa_bits=7)
    Array(1., dtype=float32)
    """
    (exponent_bits,) = ints("reduce_precision: exponent_bits", exponent_bits)
    (mantissa_bits,) = ints("reduce_precision: mantissa_bits", mantissa_bits)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            "reduce_precision: exponent_bits must be positive and mantissa_bits not negative, "
            f"found {exponent_bits} and {mantissa_bits}"
        )
    params = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
    return bind1(reduce_precision_p, operand, **params)


def _type_of_reduced(
    x: ShapedArray, *, exponent_bits: int, mantissa_bits: int
) -> list[ShapedArray]:
    require_kind("reduce_precision", "f", x)
    return [x]


def _lower_reduced(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *,
    exponent_bits: int,
    mantissa_bits: int,
) -> list[Value]:
    (out,) = out_avals
    layout = f"format = e{exponent_bits}m{mantissa_bits}"
    return b.emit(f"stablehlo.reduce_precision {x.name}, {layout} : {mlir_type(out)}", out)


declare(
    reduce_precision_p,
    abstract_eval=_type_of_reduced,
    lower=_lower_reduced,
    vmap=elementwise(reduce_precision_p),
    sharding=by_elements(reduce_precision_p),
    jvp=(lambda t, out, x, **layout: reduce_precision(t, **layout),),
    transpose=(lambda ct, x, **layout: reduce_precision(ct, **layout),),
)

is_finite = unary(
    "is_finite",
    """Test if a real `x` is neither infinite nor NaN, element by element.

    >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """,
    hlo="is_finite",
    kinds="f",
    result=lambda dtype: np.dtype(np.bool_),
)
_next = binary(
    "nextafter",
    "",
    hlo="chlo.next_after",
    kinds="f",
    jvp=(lambda t, out, x, y: t, None),
)


@operation
def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The next representable number after `x1` towards `x2`.

    >>> lax.nextafter(jnp.float32(1), jnp.float32(2)) - 1 == jnp.finfo(jnp.float32).eps
    Array(True, dtype=bool)
    """
    return _next(x1, x2)


floor = unary(
    "floor",
    """The largest whole number up to `x`.

    >>> lax.floor(jnp.array([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """,
    hlo="floor",
    kinds="f",
)
ceil = unary(
    "ceil",
    """The smallest whole number from `x` on.

    >>> lax.ceil(jnp.array([-1.5, 1.5]))
    Array([-1.,  2.], dtype=float32)
    """,
    hlo="ceil",
    kinds="f",
)

rem = binary(
    "rem",
    """The remainder of `x / y` rounded towards zero; it has the sign of `x`.

    >>> lax.rem(jnp.array([7, -7]), 3)
    Array([ 1, -1], dtype=int32)
    """,
    hlo="remainder",
    kinds="iuf",
    jvp=(
        lambda t, out, x, y: t,
        lambda t, out, x, y: neg(mul(t, mul(sign(div(x, y)), floor(abs(div(x, y)))))),
    ),
)

set_all(globals())
