"""Arithmetic and comparisons, element by element."""

from collections.abc import Sequence
from typing import Any

import minijax_stage2 as stage2
from minijax.declare import declare, require_kind
from minijax.operation import operation
from minijax_stage2 import Primitive, ShapedArray, bind1, promote
from minijax_stage2.primitives import div_p, pow_p
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type

neg = operation(stage2.neg)
sin = operation(stage2.sin)
cos = operation(stage2.cos)
exp = operation(stage2.exp)
log = operation(stage2.log)
reciprocal = operation(stage2.reciprocal)

add = operation(stage2.add)
sub = operation(stage2.sub)
mul = operation(stage2.mul)


@operation
def div(x: Any, y: Any) -> Any:
    """`x / y`; a quotient of integers is rounded towards zero."""
    return bind1(div_p, *promote(x, y))


@operation
def pow(x: Any, y: Any) -> Any:
    """`x` to the power `y`; a negative real number only to a whole power."""
    return bind1(pow_p, *promote(x, y))


eq = operation(stage2.eq)
ne = operation(stage2.ne)
lt = operation(stage2.lt)
le = operation(stage2.le)
gt = operation(stage2.gt)
ge = operation(stage2.ge)


@operation
def where(condition: Any, x: Any, y: Any) -> Any:
    """Element by element `x` where `condition` holds, else `y`."""
    return stage2.where(condition, x, y)


# --8<-- [start:integer_pow]
integer_pow_p = Primitive("integer_pow")


@operation(static="y")
def integer_pow(x: Any, y: int) -> Any:
    """`x` to the power of the int `y`, by repeated multiplication.

    Raises:
        TypeError: `x` is an integer, and `y` is negative.
    """
    if y == 0:
        return stage2.functions.full_like(x, 1)
    return x if y == 1 else bind1(integer_pow_p, x, y=y)


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
    jvp=(lambda t, out, x, *, y: mul(t, mul(y, integer_pow(x, y - 1))),),
)
# --8<-- [end:integer_pow]


@operation
def square(x: Any) -> Any:
    """`x * x`."""
    return integer_pow(x, 2)


__all__ = [
    "add",
    "cos",
    "div",
    "eq",
    "exp",
    "ge",
    "gt",
    "integer_pow",
    "le",
    "log",
    "lt",
    "mul",
    "ne",
    "neg",
    "pow",
    "reciprocal",
    "sin",
    "square",
    "sub",
]
