"""Functions of each element, by numpy's names."""

from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax import lax
from minijax.numpy.reductions import all
from minijax.operation import operation
from minijax_stage2 import promote, typeof
from minijax_stage2.promotion import to_inexact

add = lax.add
subtract = lax.sub
multiply = lax.mul
divide = operation(stage2.div)
true_divide = divide
negative = lax.neg
reciprocal = lax.reciprocal
square = lax.square

sin = lax.sin
cos = lax.cos
tan = lax.tan
tanh = lax.tanh
exp = lax.exp
expm1 = lax.expm1
log = lax.log
log1p = lax.log1p
sqrt = lax.sqrt

maximum = lax.max
minimum = lax.min

equal = lax.eq
not_equal = lax.ne
less = lax.lt
less_equal = lax.le
greater = lax.gt
greater_equal = lax.ge

bitwise_and = lax.bitwise_and
bitwise_or = lax.bitwise_or
bitwise_not = lax.bitwise_not


def power(x1: Any, x2: Any) -> Any:
    """`x1` to the power `x2`.

    Raises:
        TypeError: `x1` is an integer and `x2` a negative Python int; make one of them a float.
    """
    if isinstance(x2, int) and not isinstance(x2, bool):
        return _whole_power(x1, x2)
    return lax.pow(x1, x2)


@operation(static="exponent")
def _whole_power(x: Any, exponent: int) -> Any:
    if exponent < 0 and typeof(x).dtype.kind in "biu":
        raise TypeError(f"power: the integer {typeof(x)} to the negative power {exponent}")
    return stage2.power(x, exponent)  # exact, also for negative x


@operation
def abs(x: Any) -> Any:
    """The absolute value of a real `x`."""
    return x if typeof(x).dtype.kind in "bu" else lax.abs(x)


absolute = abs
sign = lax.sign


@operation
def floor(x: Any) -> Any:
    """The largest whole number up to `x`."""
    return x if typeof(x).dtype.kind in "biu" else lax.floor(x)


@operation
def ceil(x: Any) -> Any:
    """The smallest whole number from `x` on."""
    return x if typeof(x).dtype.kind in "biu" else lax.ceil(x)


@operation
def clip(arr: Any, min: Any = None, max: Any = None) -> Any:
    """`arr` with the elements below `min` raised to it, and those above `max` lowered to it."""
    if min is not None:
        arr = lax.max(arr, min)
    return arr if max is None else lax.min(arr, max)


@operation
def isnan(x: Any) -> Any:
    """Where `x` is not a number."""
    return lax.ne(x, x)


@operation
def isfinite(x: Any) -> Any:
    """Where `x` is neither infinite nor NaN."""
    return lax.lt(abs(x), np.inf)


@operation
def isinf(x: Any) -> Any:
    """Where `x` is infinite."""
    return lax.eq(abs(x), np.inf)


@operation
def logical_and(x: Any, y: Any) -> Any:
    """Where both `x` and `y` hold; numbers hold unless they are zero."""
    return lax.bitwise_and(_truth(x), _truth(y))


@operation
def logical_or(x: Any, y: Any) -> Any:
    """Where `x` or `y` holds; numbers hold unless they are zero."""
    return lax.bitwise_or(_truth(x), _truth(y))


@operation
def logical_not(x: Any) -> Any:
    """Where `x` does not hold; numbers hold unless they are zero."""
    return lax.bitwise_not(_truth(x))


def _truth(x: Any) -> Any:
    return x if typeof(x).dtype == np.bool_ else lax.ne(x, 0)


@operation(static="equal_nan")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Where `a` and `b` differ by at most `atol + rtol * abs(b)`; infinities must be equal.

    Integers are compared as floats. NaNs are close to each other with `equal_nan`.
    """
    a, b = map(to_inexact, promote(a, b))
    is_near = lax.le(abs(lax.sub(a, b)), lax.add(atol, lax.mul(rtol, abs(b))))
    is_close = lax.bitwise_or(lax.eq(a, b), lax.bitwise_and(is_near, isfinite(b)))
    if equal_nan:
        is_close = lax.bitwise_or(is_close, lax.bitwise_and(isnan(a), isnan(b)))
    return is_close


@operation(static="equal_nan")
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Whether `isclose` holds everywhere."""
    return all(isclose(a, b, rtol, atol, equal_nan))


__all__ = [
    "abs",
    "absolute",
    "add",
    "allclose",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "ceil",
    "clip",
    "cos",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "greater",
    "greater_equal",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "power",
    "reciprocal",
    "sign",
    "sin",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
]
