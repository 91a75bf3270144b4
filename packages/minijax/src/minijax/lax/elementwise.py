"""Functions that compute each element of the result from one element of each operand."""

from typing import Any

import minijax_stage2 as stage2
from minijax.declare import binary, unary
from minijax.operation import operation
from minijax_stage2 import bind1, promote, typeof
from minijax_stage2.primitives import div_p, pow_p

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
def square(x: Any) -> Any:
    """`x * x`."""
    return mul(x, x)


@operation
def where(condition: Any, x: Any, y: Any) -> Any:
    """Element by element `x` where `condition` holds, else `y`."""
    return stage2.where(condition, x, y)


# --8<-- [start:binary]
max = binary(
    "max",
    "The larger of `x` and `y`; not a number where one of them is not.",
    hlo="maximum",
    kinds="biuf",
    jvp=(
        lambda t, out, x, y: mul(t, _share(x, y, out)),
        lambda t, out, x, y: mul(t, _share(y, x, out)),
    ),
)
min = binary(
    "min",
    "The smaller of `x` and `y`; not a number where one of them is not.",
    hlo="minimum",
    kinds="biuf",
    jvp=(
        lambda t, out, x, y: mul(t, _share(x, y, out)),
        lambda t, out, x, y: mul(t, _share(y, x, out)),
    ),
)
# --8<-- [end:binary]

bitwise_and = binary("and", "`x & y`, bit by bit.", hlo="and", kinds="biu")
bitwise_or = binary("or", "`x | y`, bit by bit.", hlo="or", kinds="biu")


# --8<-- [start:unary]
tan = unary(
    "tan",
    "The tangent of `x`.",
    hlo="tan",
    jvp=lambda t, out, x: mul(t, add(1, square(out))),
)
tanh = unary(
    "tanh",
    "The hyperbolic tangent of `x`.",
    hlo="tanh",
    jvp=lambda t, out, x: mul(t, sub(1, square(out))),
)
logistic = unary(
    "logistic",
    "`1 / (1 + exp(-x))`.",
    hlo="logistic",
    jvp=lambda t, out, x: mul(t, mul(out, sub(1, out))),
)
expm1 = unary(
    "expm1",
    "`exp(x) - 1`, exact also near 0.",
    hlo="exponential_minus_one",
    jvp=lambda t, out, x: mul(t, add(out, 1)),
)
log1p = unary(
    "log1p",
    "`log(1 + x)`, exact also near 0.",
    hlo="log_plus_one",
    jvp=lambda t, out, x: div(t, add(x, 1)),
)
sqrt = unary(
    "sqrt", "The square root of `x`.", hlo="sqrt", jvp=lambda t, out, x: div(t, mul(out, 2))
)
rsqrt = unary(
    "rsqrt", "`1 / sqrt(x)`.", hlo="rsqrt", jvp=lambda t, out, x: mul(t, div(mul(out, -0.5), x))
)
abs = unary(
    "abs",
    "The absolute value of a real `x`; its derivative at 0 is 1.",
    hlo="abs",
    kinds="if",
    jvp=lambda t, out, x: where(ge(x, 0), t, neg(t)),
)
sign = unary("sign", "-1, 0 or 1: the sign of a real `x`.", hlo="sign", kinds="if")
floor = unary("floor", "The largest whole number up to `x`.", hlo="floor", kinds="f")
ceil = unary("ceil", "The smallest whole number from `x` on.", hlo="ceil", kinds="f")
bitwise_not = unary("not", "`~x`, bit by bit.", hlo="not", kinds="biu")
# --8<-- [end:unary]


@operation
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Element by element `on_true` where `pred` holds, else `on_false`.

    Raises:
        TypeError: the two differ in dtype or shape, or `pred` is not boolean.
    """
    return stage2.select_n(pred, on_false, on_true)


def _share(x: Any, other: Any, chosen: Any) -> Any:
    """How much of a tangent goes through operand `x`: all where it is chosen, half in a tie."""
    weight = where(eq(x, chosen), where(eq(x, other), 0.5, 1.0), 0.0)
    return stage2.astype(weight, typeof(chosen).dtype)
