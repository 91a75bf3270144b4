"""Exponentials, logarithms, trigonometric functions, and how accurate they are."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import ml_dtypes

import glassjax_stage2 as stage2
from glassjax.lax import elementwise
from glassjax.lax.elementwise import abs, one_minus_square, square, where
from glassjax.lax.shapes import full_like
from glassjax.primitives import declare, sparsity_rules
from glassjax.primitives.sharding_rules import by_elements
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.lowering import own_lowering_rules
from glassjax.runtime.operation import Operation, operation, require_kind
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.primitives import cos_p, sin_p
from glassjax_stage2.source import name_of
from glassjax_stage2.vmap_rules import elementwise as elementwise_vmap
from glassjax_stage3 import lowering_rules
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type
from glassjax_stage4 import stop_gradient

# `accuracy`: the error that users allow an elementary function of `lax`.


class AccuracyMode(enum.Enum):
    """The most exact implementation of a function, or the default one, where XLA has several.

    >>> lax.exp(0.0, accuracy=lax.AccuracyMode.HIGHEST)
    Array(1., dtype=float32, weak_type=True)
    """

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True)
class Tolerance:
    """The largest error of a function: absolute, relative, or in units in the last place.

    Raises:
        ValueError: one of them is negative.

    >>> lax.exp(0.0, accuracy=lax.Tolerance(rtol=1e-6))
    Array(1., dtype=float32, weak_type=True)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if min(self.atol, self.rtol, self.ulps) < 0:
            raise ValueError(f"Tolerance: expected numbers that are not negative, found {self}")


Accuracy = AccuracyMode | Tolerance


class Elementary(Protocol):
    """A function of one array that takes `accuracy`."""

    def __call__(self, x: ArrayLike, *, accuracy: Accuracy | None = None) -> Array: ...


def with_accuracy(
    hlo: str | declare.Rule, jvp: declare.Formula, kinds: str = "fc"
) -> Callable[[Callable[..., Any]], Elementary]:
    """Decorator: give an operation of one array, an elementwise primitive, the argument `accuracy`.

    A call that sets it applies another primitive of the same name, which has that parameter: the
    rules of the stages take none. It is declared when it is first used.

    Arguments:
        hlo: the operation of StableHLO, which says how accurate it is, or a lowering rule.
        jvp: the formula `(t, out, x, accuracy)` of its tangent.
        kinds: the kinds of dtypes that the primitive accepts.
    """
    is_said = isinstance(hlo, str) and hlo != "logistic" and not hlo.startswith("chlo.")

    def decorate(function: Callable[..., Any]) -> Elementary:
        operation: Any = function
        plain = operation.__wrapped__
        name = name_of(function)

        @functools.cache
        def accurate_primitive() -> Primitive:
            primitive = Primitive(name)
            plain_lower = declare.lower_by_primitives(plain)

            def accurate_type(x: ShapedArray, accuracy: Accuracy) -> list[ShapedArray]:
                require_kind(name, kinds, x)
                return [x]

            def accurate_lower(
                b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, accuracy: Accuracy
            ) -> Any:
                (out,) = out_avals
                if not is_said or accuracy is AccuracyMode.DEFAULT or out.dtype.kind == "c":
                    return plain_lower(b, out_avals, x)
                return b.emit(f"stablehlo.{hlo} {x.name} {_hlo(accuracy)} : {mlir_type(out)}", out)

            declare.declare(
                primitive,
                abstract_eval=accurate_type,
                lower=accurate_lower,
                vmap=elementwise_vmap(primitive),
                sharding=by_elements(primitive),
                sparsity=sparsity_rules.by_elements,
                jvp=(jvp,),
            )
            return primitive

        def accurate(x: ArrayLike, *, accuracy: Accuracy | None = None) -> Array:
            if accuracy is None:
                return plain(x)
            if not isinstance(accuracy, Accuracy):
                raise NotImplementedError(
                    f"{name}: accuracy must be an AccuracyMode, a Tolerance or None, found "
                    f"{shown(accuracy)}"
                )
            return bind1(accurate_primitive(), x, accuracy=accuracy)

        names = "__module__", "__name__", "__qualname__", "__doc__"
        wrapped = functools.update_wrapper(accurate, plain, names)
        del wrapped.__wrapped__  # `inspect.signature` would follow it to another signature
        return Operation(wrapped, "accuracy")

    return decorate


def _hlo(accuracy: Accuracy) -> str:
    """The attribute of an operation of StableHLO."""
    if isinstance(accuracy, AccuracyMode):
        given, mode = "", accuracy.name
    else:
        given = f"atol = {accuracy.atol:e}, rtol = {accuracy.rtol:e}, ulps = {accuracy.ulps}, "
        mode = "TOLERANCE"
    mode = f"#stablehlo.result_accuracy_mode<{mode}>"
    return f"{{result_accuracy = #stablehlo.result_accuracy<{given}mode = {mode}>}}"


def elementary(
    name: str, doc: str, *, hlo: str | declare.Rule, jvp: declare.Formula, kinds: str = "fc"
) -> Elementary:
    """Declare a primitive as `unary` does; its function takes `accuracy`."""
    plain = declare.unary(name, doc, hlo=hlo, kinds=kinds, jvp=jvp)
    return with_accuracy(hlo, lambda t, out, x, accuracy: jvp(t, out, x), kinds)(plain)


# Roots, exponentials, logarithms, trigonometric and hyperbolic functions.


def _sin_jvp(t: Any, out: Any, x: Any, accuracy: Accuracy) -> Any:
    return t * cos(x, accuracy=accuracy)


@with_accuracy("sine", _sin_jvp)
@operation(kinds="fc")
def sin(x: ArrayLike) -> Array:
    """The sine of `x`.

    >>> jnp.sin(0.0), glassjax.grad(jnp.sin)(0.0)
    (Array(0., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))
    """
    return stage2.sin(x)


@with_accuracy("cosine", lambda t, out, x, accuracy: -(t * sin(x, accuracy=accuracy)))
@operation(kinds="fc")
def cos(x: ArrayLike) -> Array:
    """The cosine of `x`.

    >>> jnp.cos(0.0), glassjax.grad(jnp.cos)(0.0)
    (Array(1., dtype=float32, weak_type=True), Array(-0., dtype=float32, weak_type=True))
    """
    return stage2.cos(x)


@with_accuracy("exponential", lambda t, out, x, accuracy: t * out)
@operation(kinds="fc")
def exp(x: ArrayLike) -> Array:
    """The exponential of `x`.

    >>> jnp.exp(jnp.array([-1e3, 0.0, 1e3]))
    Array([ 0.,  1., inf], dtype=float32)
    """
    return stage2.exp(x)


@with_accuracy("log", lambda t, out, x, accuracy: t / x)
@operation(kinds="fc")
def log(x: ArrayLike) -> Array:
    """The natural logarithm of `x`.

    >>> jnp.log(jnp.array([-1.0, 0.0, 1.0]))
    Array([ nan, -inf,   0.], dtype=float32)
    """
    return stage2.log(x)


# --8<-- [start:unary]
tan = elementary(
    "tan",
    """The tangent of `x`.

    >>> f"{jnp.tan(0.0):.3f}", f"{jnp.tan(jnp.pi / 4):.3f}"
    ('0.000', '1.000')
    """,
    hlo="tan",
    jvp=lambda t, out, x: t * (1 + square(out)),
)
tanh = elementary(
    "tanh",
    """The hyperbolic tangent of `x`.

    >>> jnp.tanh(jnp.array([-1e3, 0.0, 1e3])), f"{jnp.tanh(1.0):.3f}"
    (Array([-1.,  0.,  1.], dtype=float32), '0.762')
    """,
    hlo="tanh",
    jvp=lambda t, out, x: t * one_minus_square(out),
)
logistic = elementary(
    "logistic",
    """`1 / (1 + exp(-x))`.

    >>> nn.sigmoid(jnp.array([-1e3, 0.0, 1e3])), f"{nn.sigmoid(1.0):.3f}"
    (Array([0. , 0.5, 1. ], dtype=float32), '0.731')
    """,
    hlo="logistic",
    jvp=lambda t, out, x: t * (out * (1 - out)),
)
# --8<-- [end:unary]
expm1 = elementary(
    "expm1",
    """`exp(x) - 1`, exact also near 0.

    >>> jnp.expm1(1e-10), jnp.exp(1e-10) - 1
    (Array(1.e-10, dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
    """,
    hlo="exponential_minus_one",
    # Not `out + 1`, which cancels where `out` is nearly -1.
    jvp=lambda t, out, x: t * exp(x),
)
log2 = elementary(
    "log2",
    """The logarithm of `x` to base 2.

    >>> lax.log2(jnp.array([0.5, 8.0]))
    Array([-1.,  3.], dtype=float32)
    """,
    hlo=declare.lower_by_primitives(lambda x: log(x) / math.log(2)),
    jvp=lambda t, out, x: t / (x * log(full_like(x, 2, shape=()))),
)
log1p = elementary(
    "log1p",
    """`log(1 + x)`, exact also near 0.

    >>> jnp.log1p(1e-10), jnp.log(1 + jnp.float32(1e-10))
    (Array(1.e-10, dtype=float32, weak_type=True), Array(0., dtype=float32))
    """,
    hlo="log_plus_one",
    jvp=lambda t, out, x: t / (x + 1),
)
sqrt = elementary(
    "sqrt",
    """The square root of `x`.

    >>> jnp.sqrt(jnp.array([4.0, -1.0])), jnp.sqrt(-1.0 + 0.0j)
    (Array([ 2., nan], dtype=float32), Array(0.+1.j, dtype=complex64, weak_type=True))
    """,
    hlo="sqrt",
    jvp=lambda t, out, x: t * (0.5 / out),
)
rsqrt = elementary(
    "rsqrt",
    """`1 / sqrt(x)`.

    >>> lax.rsqrt(jnp.array([4.0, 0.25]))
    Array([0.5, 2. ], dtype=float32)
    """,
    hlo="rsqrt",
    jvp=lambda t, out, x: t * (-0.5 * (out / x)),
)
cbrt = elementary(
    "cbrt",
    """The cube root of a real `x`.

    >>> f"{jnp.cbrt(-27.0):.3f}"
    '-3.000'
    """,
    hlo="cbrt",
    kinds="f",
    jvp=lambda t, out, x: t * (1 / 3 * elementwise.integer_pow(out, -2)),
)

exp2 = elementary(
    "exp2",
    """2 to the power `x`.

    >>> jnp.exp2(jnp.array([3.0, -1.0]))
    Array([8. , 0.5], dtype=float32)
    """,
    hlo=declare.lower_by_primitives(lambda x: exp(x * math.log(2))),
    jvp=lambda t, out, x: log(typeof(x).dtype.type(2)) * (t * out),
)


def _slope_of_asinh(x: Any) -> Any:
    """`1 / sqrt(x**2 + 1)`, without overflow in the square.

    The common scale of numerator and denominator cancels, so it is treated as a constant.
    """
    size = abs(x)
    limit = ml_dtypes.finfo(typeof(size).dtype).maxexp
    least = limit // 2 - 2  # the exponent from which on squares overflow
    low, high = (typeof(size).dtype.type(2.0**n) for n in (0, limit - least))
    scale = stop_gradient(elementwise.clamp(low, size * 2.0**-least, high))
    inverse = elementwise.integer_pow(scale, -1)
    return inverse * rsqrt(square(x * inverse) + square(inverse))


asin = declare.unary(
    "asin",
    """The angle whose sine is `x`.

    >>> f"{jnp.asin(1.0):.3f}", jnp.asin(2.0).item()
    ('1.571', nan)
    """,
    hlo="chlo.asin",
    jvp=lambda t, out, x: t * rsqrt(one_minus_square(x)),
)
acos = declare.unary(
    "acos",
    """The angle whose cosine is `x`.

    >>> f"{jnp.acos(-1.0):.3f}", f"{jnp.acos(0.0):.3f}"
    ('3.142', '1.571')
    """,
    hlo="chlo.acos",
    jvp=lambda t, out, x: t * -rsqrt(one_minus_square(x)),
)
atan = declare.unary(
    "atan",
    """The angle whose tangent is `x`.

    >>> f"{jnp.atan(1.0):.3f}", f"{jnp.atan(jnp.inf):.3f}"
    ('0.785', '1.571')
    """,
    hlo="chlo.atan",
    jvp=lambda t, out, x: t / (1 + square(x)),
)
atan2 = declare.binary(
    "atan2",
    """The angle of the point `(y, x)`, where `x` is the first operand: from -pi to pi.

    >>> f"{lax.atan2(1.0, -1.0):.3f}", f"{lax.atan2(-1.0, -1.0):.3f}"
    ('2.356', '-2.356')
    """,
    hlo="atan2",
    kinds="fc",
    jvp=(
        lambda t, out, x, y: t * (y / (square(x) + square(y))),
        lambda t, out, x, y: t * (-x / (square(x) + square(y))),
    ),
)

sinh = declare.unary(
    "sinh",
    """The hyperbolic sine of `x`.

    >>> f"{jnp.sinh(0.0):.3f}", f"{jnp.sinh(1.0):.3f}"
    ('0.000', '1.175')
    """,
    hlo="chlo.sinh",
    jvp=lambda t, out, x: t * cosh(x),
)
cosh: declare.Unary = declare.unary(
    "cosh",
    """The hyperbolic cosine of `x`.

    >>> f"{jnp.cosh(0.0):.3f}", f"{jnp.cosh(1.0):.3f}"
    ('1.000', '1.543')
    """,
    hlo="chlo.cosh",
    jvp=lambda t, out, x: t * sinh(x),
)
asinh = declare.unary(
    "asinh",
    """The number whose hyperbolic sine is `x`.

    >>> f"{jnp.asinh(jnp.sinh(2.0)):.3f}"
    '2.000'
    """,
    hlo="chlo.asinh",
    jvp=lambda t, out, x: t * _slope_of_asinh(x),
)
acosh = declare.unary(
    "acosh",
    """The number from 0 on whose hyperbolic cosine is `x`.

    >>> f"{jnp.acosh(1.0):.3f}", f"{jnp.acosh(jnp.cosh(2.0)):.3f}"
    ('0.000', '2.000')
    """,
    hlo="chlo.acosh",
    jvp=lambda t, out, x: t * (rsqrt(x - 1) * rsqrt(x + 1)),
)
atanh = declare.unary(
    "atanh",
    """The number whose hyperbolic tangent is `x`.

    >>> f"{jnp.atanh(jnp.tanh(0.5)):.3f}", jnp.atanh(1.0).item()
    ('0.500', inf)
    """,
    hlo="chlo.atanh",
    jvp=lambda t, out, x: t / one_minus_square(x),
)


def _exact_on_imaginary_axis(rule: declare.Rule, value: Callable[[Any, Any], Any]) -> declare.Rule:
    """A lowering rule with another value where the real part is 0: 0 times infinity is NaN."""

    def corrected(z: Any, out: Any) -> Any:
        x, y = elementwise.real(z), elementwise.imag(z)
        return where(x == 0, value(x, y), out)

    lower_corrected = declare.lower_by_primitives(corrected)

    def imaginary_axis_lower(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, **params: Any
    ) -> list[Value]:
        out = rule(b, out_avals, x, **params)
        return out if x.aval.dtype.kind != "c" else lower_corrected(b, out_avals, x, *out)

    return imaginary_axis_lower


own_lowering_rules[sin_p] = _exact_on_imaginary_axis(
    lowering_rules[sin_p], lambda x, y: elementwise.complex(x, sinh(y))
)
own_lowering_rules[cos_p] = _exact_on_imaginary_axis(
    lowering_rules[cos_p], lambda x, y: elementwise.complex(cosh(y), x)
)
