"""Roots, exponentials, logarithms, trigonometric and hyperbolic functions."""

import math

from minijax.declare import Unary, binary, lower_by_primitives, unary
from minijax.lax.elementwise import add, div, exp, integer_pow, mul, neg, square, sub

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
cbrt = unary(
    "cbrt",
    "The cube root of a real `x`.",
    hlo="cbrt",
    kinds="f",
    jvp=lambda t, out, x: mul(t, mul(1 / 3, integer_pow(out, -2))),
)
# --8<-- [end:unary]

exp2 = unary(
    "exp2",
    "2 to the power `x`.",
    hlo=lower_by_primitives(lambda x: exp(mul(x, math.log(2)))),
    jvp=lambda t, out, x: mul(t, mul(out, math.log(2))),
)

asin = unary(
    "asin",
    "The angle whose sine is `x`.",
    hlo="chlo.asin",
    jvp=lambda t, out, x: mul(t, rsqrt(sub(1, square(x)))),
)
acos = unary(
    "acos",
    "The angle whose cosine is `x`.",
    hlo="chlo.acos",
    jvp=lambda t, out, x: neg(mul(t, rsqrt(sub(1, square(x))))),
)
atan = unary(
    "atan",
    "The angle whose tangent is `x`.",
    hlo="chlo.atan",
    jvp=lambda t, out, x: div(t, add(1, square(x))),
)
atan2 = binary(
    "atan2",
    "The angle of the point `(y, x)`, where `x` is the first operand: from -pi to pi.",
    hlo="atan2",
    kinds="fc",
    jvp=(
        lambda t, out, x, y: mul(t, div(y, add(square(x), square(y)))),
        lambda t, out, x, y: mul(t, div(neg(x), add(square(x), square(y)))),
    ),
)

sinh = unary(
    "sinh",
    "The hyperbolic sine of `x`.",
    hlo="chlo.sinh",
    jvp=lambda t, out, x: mul(t, cosh(x)),
)
cosh: Unary = unary(
    "cosh",
    "The hyperbolic cosine of `x`.",
    hlo="chlo.cosh",
    jvp=lambda t, out, x: mul(t, sinh(x)),
)
asinh = unary(
    "asinh",
    "The number whose hyperbolic sine is `x`.",
    hlo="chlo.asinh",
    jvp=lambda t, out, x: mul(t, rsqrt(add(square(x), 1))),
)
acosh = unary(
    "acosh",
    "The number from 0 on whose hyperbolic cosine is `x`.",
    hlo="chlo.acosh",
    jvp=lambda t, out, x: mul(t, rsqrt(sub(square(x), 1))),
)
atanh = unary(
    "atanh",
    "The number whose hyperbolic tangent is `x`.",
    hlo="chlo.atanh",
    jvp=lambda t, out, x: div(t, mul(add(1, x), sub(1, x))),
)

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cosh",
    "exp2",
    "expm1",
    "log1p",
    "logistic",
    "rsqrt",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
