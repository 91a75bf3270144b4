"""Arithmetic, element by element."""

from __future__ import annotations

from collections.abc import Sequence

import minijax_stage2 as stage2
from minijax.primitives.declare import declare, lower_by_primitives, require_kind
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote, require_meeting, weak_if_all_are
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.primitives import div_p, pow_p
from minijax_stage2.shaped_array import dialect
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type


@operation
def neg(x: ArrayLike) -> Array:
    """`-x`.

    >>> lax.neg(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """
    return stage2.neg(x)


@operation
def reciprocal(x: ArrayLike) -> Array:
    """`1 / x`.

    >>> jnp.reciprocal(jnp.array([4.0, 0.0]))
    Array([0.25,  inf], dtype=float32)
    """
    return stage2.reciprocal(x)


@operation
def add(x: ArrayLike, y: ArrayLike) -> Array:
    """`x + y`.

    >>> lax.add(jnp.array([[1], [2]]), jnp.array([[10, 20]]))
    Array([[11, 21],
           [12, 22]], dtype=int32)
    """
    require_meeting(x, y)
    return stage2.add(x, y)


@operation
def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """`x - y`.

    >>> lax.sub(jnp.array([5, 7]), 2)
    Array([3, 5], dtype=int32)
    """
    require_meeting(x, y)
    return stage2.sub(x, y)


@operation(static="out_dtype")
def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """`x * y`; of the dtype `out_dtype`, if given, to which both are converted first.

    >>> lax.mul(jnp.array([1.0, 2.0]), 2.5)
    Array([2.5, 5. ], dtype=float32)
    """
    require_meeting(x, y)
    if out_dtype is not None:
        dtype = dialect().dtype_of("mul", out_dtype)
        x, y = stage2.astype(x, dtype), stage2.astype(y, dtype)
    return stage2.mul(x, y)


@operation
def div(x: ArrayLike, y: ArrayLike) -> Array:
    """`x / y`; a quotient of integers is rounded towards zero.

    >>> lax.div(jnp.array([7, -7]), 2), lax.div(7.0, 2.0)
    (Array([ 3, -3], dtype=int32), Array(3.5, dtype=float32, weak_type=True))
    """
    return bind1(div_p, *promote(x, y))


@operation
def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """`x` to the power `y`; a negative real number only to a whole power.

    >>> lax.pow(jnp.array([2.0, 9.0]), jnp.array([3.0, 0.5]))
    Array([8., 3.], dtype=float32)
    """
    if typeof(y).dtype.kind in "iu":  # any number may have a whole power
        return weak_if_all_are(bind1(pow_p, *stage2.promote(x, y)), y)
    require_meeting(x, y)
    return bind1(pow_p, *stage2.promote(x, y))


integer_pow_p = Primitive("integer_pow")


@operation(static="y")
def integer_pow(x: ArrayLike, y: int) -> Array:
    """`x` to the power of the int `y`, by repeated multiplication.

    Raises:
        TypeError: `x` is an integer, and `y` is negative.

    >>> lax.integer_pow(jnp.array([2.0, 4.0]), -2)
    Array([0.25  , 0.0625], dtype=float32)
    """
    if y in (0, 1):
        require_kind("integer_pow", "iufc", typeof(x))
    if y == 0:
        return stage2.functions.full_like(x, 1)
    return x if y == 1 else bind1(integer_pow_p, x, y=y)  # type: ignore[return-value]


def _type_of_integer_pow(x: ShapedArray, *, y: int) -> list[ShapedArray]:
    require_kind("integer_pow", "iufc", x)
    if y < 0 and x.dtype.kind in "iu":
        raise TypeError(
            f"integer_pow: {x} are integers, which have no power {y}; convert them to floats"
        )
    return [x]


def _lower_integer_pow(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, y: int
) -> list[Value]:
    (out,) = out_avals

    def emit(operation: str, first: Value, second: Value) -> Value:
        text = f"stablehlo.{operation} {first.name}, {second.name} : {mlir_type(out)}"
        return b.emit(text, out)[0]

    power: Value | None = None
    exponent = -y if y < 0 else y
    while exponent:
        if exponent & 1:
            power = x if power is None else emit("multiply", power, x)
        exponent >>= 1
        if exponent:
            x = emit("multiply", x, x)
    if power is None:
        return [b.constant(1, out)]
    return [emit("divide", b.constant(1, out), power) if y < 0 else power]


declare(
    integer_pow_p,
    abstract_eval=_type_of_integer_pow,
    lower=_lower_integer_pow,
    vmap=elementwise(integer_pow_p),
    sharding=by_elements(integer_pow_p),
    jvp=(lambda t, out, x, *, y: mul(t, mul(y, integer_pow(x, y - 1))),),
)


@operation
def square(x: ArrayLike) -> Array:
    """`x * x`.

    >>> lax.square(jnp.array([-2, 3]))
    Array([4, 9], dtype=int32)
    """
    return integer_pow(x, 2)


one_minus_square_p = Primitive("one_minus_square")


@operation
def one_minus_square(x: ArrayLike) -> Array:
    """`1 - x**2`, as `(1 + x) * (1 - x)`, which loses no digits where `x` is nearly 1.

    >>> lax.one_minus_square(3.0)
    Array(-8., dtype=float32, weak_type=True)
    """
    return bind1(one_minus_square_p, x)


def _type_of_one_minus_square(x: ShapedArray) -> list[ShapedArray]:
    require_kind("one_minus_square", "iufc", x)
    return [x]


declare(
    one_minus_square_p,
    abstract_eval=_type_of_one_minus_square,
    lower=lower_by_primitives(lambda x: stage2.mul(stage2.add(1, x), stage2.sub(1, x))),
    vmap=elementwise(one_minus_square_p),
    sharding=by_elements(one_minus_square_p),
    jvp=(lambda t, out, x: mul(t, mul(-2, x)),),
)

__all__ = [
    "add", "div", "integer_pow", "mul", "neg", "one_minus_square", "pow", "reciprocal", "square",
    "sub",
]  # fmt: skip
