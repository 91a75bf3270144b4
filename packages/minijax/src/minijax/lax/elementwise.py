"""Arithmetic and comparisons, element by element."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.declare import binary, declare, lower_by_types, require_kind, unary
from minijax.operation import operation
from minijax_stage2 import Primitive, ShapedArray, bind1, promote, typeof
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


def _magnitude(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def _abs_tangent(t: Any, out: Any, x: Any) -> Any:
    if typeof(x).dtype.kind != "c":
        return where(ge(x, 0), t, neg(t))
    from minijax.lax.complex_numbers import conj, real

    return real(mul(t, div(conj(x), where(eq(out, 0), 1, out))))


abs = unary(
    "abs",
    "The absolute value of `x`; its derivative at a real 0 is 1, at a complex 0 it is 0.",
    hlo=lower_by_types("abs"),
    kinds="ifc",
    result=_magnitude,
    jvp=_abs_tangent,
)


def _lower_sign(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    (out,) = out_avals
    if out.dtype.kind != "u":
        return b.emit(f"stablehlo.sign {x.name} : {mlir_type(out)}", out)
    one = b.constant(1, out)
    return b.emit(f"stablehlo.minimum {x.name}, {one.name} : {mlir_type(out)}", out)


sign = unary(
    "sign",
    "-1, 0 or 1, the sign of a real `x`; of a complex one `x / abs(x)`, or 0.",
    hlo=_lower_sign,
    kinds="iufc",
)
floor = unary("floor", "The largest whole number up to `x`.", hlo="floor", kinds="f")
ceil = unary("ceil", "The smallest whole number from `x` on.", hlo="ceil", kinds="f")

rem = binary(
    "rem",
    "What the quotient `x / y`, rounded towards zero, leaves of `x`; it has the sign of `x`.",
    hlo="remainder",
    kinds="iuf",
    jvp=(
        lambda t, out, x, y: t,
        lambda t, out, x, y: neg(mul(t, mul(sign(div(x, y)), floor(abs(div(x, y)))))),
    ),
)

__all__ = [
    "abs",
    "add",
    "ceil",
    "cos",
    "div",
    "eq",
    "exp",
    "floor",
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
    "rem",
    "sign",
    "sin",
    "square",
    "sub",
]
