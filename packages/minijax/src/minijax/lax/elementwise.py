"""Functions that compute each element of the result from one element of each operand."""

import functools
from collections.abc import Callable
from typing import Any

import minijax_stage2 as stage2
from minijax.arrays import all_on_device
from minijax.declare import Binary, binary, unary
from minijax_stage2 import typeof


def _of_stage_2(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its operands brought to the device."""

    @functools.wraps(function)
    def on_arrays(*operands: Any) -> Any:
        return function(*all_on_device(*operands))

    return on_arrays


neg = _of_stage_2(stage2.neg)
sin = _of_stage_2(stage2.sin)
cos = _of_stage_2(stage2.cos)
exp = _of_stage_2(stage2.exp)
log = _of_stage_2(stage2.log)
reciprocal = _of_stage_2(stage2.reciprocal)

add = _of_stage_2(stage2.add)
mul = _of_stage_2(stage2.mul)

eq = _of_stage_2(stage2.eq)
ne = _of_stage_2(stage2.ne)
lt = _of_stage_2(stage2.lt)
le = _of_stage_2(stage2.le)
gt = _of_stage_2(stage2.gt)
ge = _of_stage_2(stage2.ge)


# --8<-- [start:binary]
sub = binary(
    "sub",
    "`x - y`.",
    hlo="subtract",
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: neg(t)),
    transpose=(lambda ct, x, y: ct, lambda ct, x, y: neg(ct)),
    jointly=True,
)
div: Binary = binary(
    "div",
    "`x / y`, a real number for integers too.",
    hlo="divide",
    kinds="fc",
    jvp=(lambda t, out, x, y: div(t, y), lambda t, out, x, y: neg(mul(div(t, y), out))),
    transpose=(lambda ct, x, y: div(ct, y), None),
)
pow: Binary = binary(
    "pow",
    "`x` to the power `y`, both of one dtype; of a negative real number only for whole `y`.",
    hlo="power",
    jvp=(
        lambda t, out, x, y: mul(t, mul(y, pow(x, _or_one(y, sub(y, 1))))),
        lambda t, out, x, y: mul(t, mul(out, log(_or_one(x, x)))),
    ),
)
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


def square(x: Any) -> Any:
    """`x * x`."""
    return mul(x, x)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Element by element `on_true` where `pred` holds, else `on_false`.

    Raises:
        TypeError: the two differ in dtype or shape, or `pred` is not boolean.
    """
    pred, on_true, on_false = all_on_device(pred, on_true, on_false)
    return stage2.select_n(pred, on_false, on_true)


def _or_one(x: Any, otherwise: Any) -> Any:
    """1 where `x` is 0: a formula keeps away from values whose product with 0 is not 0."""
    return where(eq(x, 0), 1, otherwise)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Element by element `x` where `condition` holds, else `y`."""
    return stage2.where(*all_on_device(condition, x, y))


def _share(x: Any, other: Any, chosen: Any) -> Any:
    """How much of a tangent goes through operand `x`: all where it is chosen, half in a tie."""
    weight = where(eq(x, chosen), where(eq(x, other), 0.5, 1.0), 0.0)
    return stage2.astype(weight, typeof(chosen).dtype)
