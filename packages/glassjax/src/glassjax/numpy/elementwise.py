"""Arithmetic, comparisons, logic and bits, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dtypes import finfo
from glassjax.numpy.cases import where
from glassjax.numpy.creation import asarray, zeros_like
from glassjax.numpy.dtypes import default_float
from glassjax.numpy.floating_point import isfinite, isnan
from glassjax.numpy.reductions import all
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library, made_of_operations
from glassjax.runtime.operation import operation, promoting
from glassjax.settings import number_types
from glassjax.settings.number_types import is_key_type, promote, require_promotable, weak_if_all_are
from glassjax_stage2 import ShapedArray, bind1, typeof
from glassjax_stage2.functions import canonical_axis, moveaxis
from glassjax_stage2.primitives import pow_p
from glassjax_stage2.promotion import broadcast_shapes, cast, to_inexact
from glassjax_stage2.shaped_array import is_inexact, python_scalars

# Elementwise arithmetic: sums and products, quotients and remainders, powers and roots.


@operation
def divide(x: ArrayLike, y: ArrayLike) -> Array:
    """`x / y`, a real number for integers too.

    >>> jnp.divide(jnp.array([7, 8]), 2)
    Array([3.5, 4. ], dtype=float32)
    """
    require_promotable(x, y)
    return stage2.div(x, y)


true_divide = divide

sqrt = promoting(lax.sqrt, inexact=True)
cbrt = promoting(lax.cbrt, inexact=True)


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
    return x if number_types.letter_of(typeof(x).dtype) in "bu" else lax.abs(x)  # type: ignore[return-value]


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
    if exponent < 0 and number_types.letter_of(typeof(x).dtype) in "iu":
        raise TypeError(f"power: the integer {typeof(x)} to the negative power {exponent}")
    return lax.integer_pow(x, exponent)


@operation
def _power(x1: Any, x2: Any) -> Any:
    out = bind1(pow_p, *map(numeric, promote(x1, x2)))
    if number_types.letter_of(typeof(out).dtype) in "iu":
        return lax.convert_element_type(out, typeof(out).dtype)
    return weak_if_all_are(out, x2) if number_types.letter_of(typeof(x2).dtype) in "iu" else out


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
    dtype = typeof(x).dtype
    is_integer = number_types.letter_of(dtype) in "iu"
    return where(stage2.eq(x, 0), np.ones((), dtype)[()], x) if is_integer else x


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
    if number_types.letter_of(typeof(rest).dtype) == "u":
        return rest
    is_uneven = rest != 0
    is_above = (stage2.lt(rest, 0) != stage2.lt(x2, 0)) & is_uneven
    return lax.select(is_above, rest + x2, rest)


mod = remainder


@operation
def floor_divide(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The quotient `x1 / x2`, rounded down; a float divided by zero is infinite or NaN.

    Raises:
        TypeError: an operand is complex.

    >>> jnp.floor_divide(jnp.array([7, -7]), 2)
    Array([ 3, -4], dtype=int32)
    """
    x1, x2 = _real_operands("floor_divide", x1, x2)
    kind = number_types.letter_of(typeof(x1).dtype)
    if kind not in "iu":
        return _divmod_of_floats(x1, x2)[0]
    quotient = lax.div(x1, x2)
    if kind == "u":
        return quotient
    is_above = (lax.sign(x1) != lax.sign(x2)) & (lax.rem(x1, x2) != 0)
    return where(is_above, quotient - 1, quotient)


def _divmod_of_floats(x1: Any, x2: Any) -> tuple[Any, Any]:
    rest = lax.rem(x1, x2)
    quotient = where(stage2.eq(x2, 0), x1, x1 - rest) / x2
    is_above = (rest != 0) & (lax.sign(x2) != lax.sign(rest))
    rest = lax.select(is_above, rest + x2, rest)
    return lax.round(lax.select(is_above, quotient - 1, quotient)), rest


@operation
def divmod(x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    """`floor_divide` and `remainder` of `x1` and `x2`.

    >>> jnp.divmod(jnp.array([7, -7]), 3)
    (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    require_promotable(x1, x2)
    x1, x2 = _real_operands("divmod", x1, x2)
    if typeof(x1).dtype.kind != "f":
        return floor_divide(x1, x2), remainder(x1, x2)
    return _divmod_of_floats(x1, x2)


@operation
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor of integers, by Euclid's algorithm.

    Raises:
        ValueError: an operand is not an integer.

    >>> jnp.gcd(jnp.array([12, 18]), 8)
    Array([4, 2], dtype=int32)
    """
    x1, x2 = _integers("gcd", x1, x2)

    def euclid_step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        larger, smaller = pair
        is_done = stage2.eq(smaller, 0)
        rest = lax.rem(larger, where(is_done, 1, smaller))
        return where(is_done, larger, smaller), where(is_done, 0, rest)

    return lax.while_loop(lambda pair: _is_any(pair[1] != 0), euclid_step, (abs(x1), abs(x2)))[0]


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
    multiple = abs(x1) * lax.div(abs(x2), where(divisor == 0, 1, divisor))
    return where(divisor == 0, 0, multiple)


def _is_any(x: Any) -> Any:
    return lax.reduce_or(x, tuple(range(typeof(x).ndim)))


def _integers(caller: str, x1: Any, x2: Any) -> list[Any]:
    x1, x2 = promote(x1, x2)
    if number_types.letter_of(typeof(x1).dtype) not in "iu":
        raise ValueError(f"{caller}: expected integers, found {typeof(x1)}")
    shape = stage2.promotion.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    return [stage2.broadcast_to(x1, shape), stage2.broadcast_to(x2, shape)]


# Comparisons, logic, and tests of whole arrays.


equal = promoting(lax.eq)
not_equal = promoting(lax.ne)


def _ordered(compare: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """A comparison in numpy's order of complex numbers: by real parts first."""
    x, y = promote(x, y)
    if typeof(x).dtype.kind != "c":
        return compare(x, y)
    is_tie = lax.real(x) == lax.real(y)
    by_imaginary = compare(lax.imag(x), lax.imag(y))
    return where(is_tie, by_imaginary, compare(lax.real(x), lax.real(y)))


@operation
def less(x: ArrayLike, y: ArrayLike) -> Array:
    """`x < y`, element by element; complex numbers by real parts first.

    >>> jnp.less(jnp.array([1, 2, 3]), 2)
    Array([ True, False, False], dtype=bool)
    """
    return _ordered(lax.lt, x, y)


@operation
def less_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """`x <= y`, element by element; complex numbers by real parts first.

    >>> jnp.less_equal(jnp.array([1, 2, 3]), 2)
    Array([ True,  True, False], dtype=bool)
    """
    return _ordered(lax.le, x, y)


@operation
def greater(x: ArrayLike, y: ArrayLike) -> Array:
    """`x > y`, element by element; complex numbers by real parts first.

    >>> jnp.greater(jnp.array([1, 2, 3]), 2)
    Array([False, False,  True], dtype=bool)
    """
    return _ordered(lax.gt, x, y)


@operation
def greater_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """`x >= y`, element by element; complex numbers by real parts first.

    >>> jnp.greater_equal(jnp.array([1, 2, 3]), 2)
    Array([False,  True,  True], dtype=bool)
    """
    return _ordered(lax.ge, x, y)


def truth(x: Any) -> Any:
    """Test `x` element by element; numbers are true unless they are zero."""
    return x if typeof(x).dtype == np.bool_ else stage2.ne(x, 0)


@operation
def logical_not(x: ArrayLike) -> Array:
    """Negate `x` element by element; numbers are true unless they are zero.

    >>> jnp.logical_not(jnp.array([0, 2]))
    Array([ True, False], dtype=bool)
    """
    return lax.bitwise_not(truth(x))


@operation(static="equal_nan")
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Test if `a` and `b` differ by at most `atol + rtol * abs(b)`; infinities must be equal.

    Integers are compared as floats. NaNs are close to each other with `equal_nan`.

    Arguments:
        a, b: the arrays, which broadcast.
        rtol: the relative tolerance.
        atol: the absolute tolerance.
        equal_nan: whether NaN is close to NaN.

    >>> jnp.isclose(jnp.array([1.0, 1.1, jnp.nan]), jnp.array([1.0 + 1e-7, 1.0, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    if is_key_type(typeof(a).dtype) and typeof(a).dtype == typeof(b).dtype:
        return lax.eq(a, b)
    a, b = promote(a, b, inexact=True)
    real = ShapedArray((), finfo(typeof(a).dtype).dtype)
    rtol, atol = cast(rtol, real), cast(atol, real)
    both_nan = lax.ne(a, a) & lax.ne(b, b)
    is_known = isfinite(b)
    is_near = abs(lax.sub(a, b)) <= atol + rtol * abs(b)
    is_close = lax.eq(a, b) | (is_known & is_near)
    return is_close | both_nan if equal_nan else is_close


@operation(like=isclose)
def allclose(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: Any) -> Any:
    """Return True if `isclose` holds everywhere.

    Arguments:
        a, b, rtol, atol, equal_nan: as in `isclose`.

    >>> jnp.allclose(jnp.array([0.1 + 0.2, 1.0]), jnp.array([0.3, 1.0]))
    Array(True, dtype=bool)
    """
    require_promotable(a, b)
    return all(isclose(a, b, rtol, atol, equal_nan))


@evaluated_by_library
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Return True if two arrays have one shape and the same elements.

    Arguments:
        a1: the first array, or lists of numbers.
        a2: the second one.
        equal_nan: whether NaN equals NaN.

    >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2])), jnp.array_equal(1, jnp.ones(3))
    (Array(True, dtype=bool), Array(False, dtype=bool))
    """
    a1, a2 = asarray(a1), asarray(a2)
    if typeof(a1).shape != typeof(a2).shape:
        return asarray(False)
    return _all_equal(a1, a2, equal_nan)


@made_of_operations
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return True if two arrays broadcast to a common shape in which they are equal.

    >>> jnp.array_equiv(jnp.array([[1, 2], [1, 2]]), jnp.array([1, 2]))
    Array(True, dtype=bool)
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        broadcast_shapes(typeof(a1).shape, typeof(a2).shape)
    except ValueError:
        return asarray(False)
    return _all_equal(a1, a2, False)


@operation(static="equal_nan")
def _all_equal(a1: Any, a2: Any, equal_nan: bool) -> Any:
    is_equal = lax.eq(*promote(a1, a2))
    if equal_nan:
        is_equal = is_equal | lax.bitwise_and(*promote(isnan(a1), isnan(a2)))
    return all(is_equal)


@operation
def iscomplex(x: ArrayLike) -> Array:
    """Test if the imaginary part of `x` is not 0, element by element.

    >>> jnp.iscomplex(jnp.array([1.0 + 0.0j, 1.0j]))
    Array([False,  True], dtype=bool)
    """
    return stage2.ne(lax.imag(x) if _is_complex(x) else zeros_like(x), 0)


@operation
def isreal(x: ArrayLike) -> Array:
    """Test if the imaginary part of `x` is 0, element by element.

    >>> jnp.isreal(jnp.array([1.0 + 0.0j, 1.0j]))
    Array([ True, False], dtype=bool)
    """
    return ~iscomplex(x)


def iscomplexobj(x: Any) -> bool:
    """Return True if the dtype of `x` is complex, whatever its numbers are.

    >>> jnp.iscomplexobj(jnp.array([1.0 + 0.0j])), jnp.iscomplexobj(jnp.ones(2))
    (True, False)
    """
    if x is None:
        return False
    if isinstance(getattr(x, "dtype", None), np.dtype):  # scalar types have a dtype, too
        return bool(x.dtype.kind == "c")
    return bool(typeof(asarray(x) if isinstance(x, list | tuple) else x).dtype.kind == "c")


def isrealobj(x: Any) -> bool:
    """Return True if the dtype of `x` is not complex.

    >>> jnp.isrealobj(jnp.array([1.0 + 0.0j])), jnp.isrealobj(jnp.ones(2))
    (False, True)
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Return True if `element` is a number, or an array without axes.

    >>> jnp.isscalar(3.0), jnp.isscalar(jnp.float32(3)), jnp.isscalar(jnp.ones(1))
    (True, True, False)
    """
    if isinstance(element, (*python_scalars, np.generic)):
        return True
    return hasattr(element, "dtype") and getattr(element, "ndim", None) == 0


def iterable(y: Any) -> bool:
    """Return True if `iter(y)` goes through elements, as arrays without axes do not let it.

    >>> jnp.iterable(jnp.ones(3)), jnp.iterable(jnp.float32(3))
    (True, False)
    """
    return np.iterable(y)


# The parts of complex numbers, under numpy's names; a real number is its own real part.


def _is_complex(x: Any) -> bool:
    return typeof(x).dtype.kind == "c"


@operation
def real(val: ArrayLike) -> Array:
    """The real part of `val`.

    >>> jnp.real(jnp.array([1.0 + 2.0j])), jnp.real(jnp.array([3.0]))
    (Array([1.], dtype=float32), Array([3.], dtype=float32))
    """
    return lax.real(val) if _is_complex(val) else val  # type: ignore[return-value]


@operation
def imag(val: ArrayLike) -> Array:
    """The imaginary part of `val`.

    >>> jnp.imag(jnp.array([1.0 + 2.0j])), jnp.imag(jnp.array([3.0]))
    (Array([2.], dtype=float32), Array([0.], dtype=float32))
    """
    return lax.imag(val) if _is_complex(val) else stage2.functions.full_like(val, 0)


@operation
def conjugate(x: ArrayLike) -> Array:
    """`x` with its imaginary part negated; a real `x` itself.

    >>> jnp.conj(jnp.array([1.0 + 2.0j]))
    Array([1.-2.j], dtype=complex64)
    """
    return lax.conj(x) if _is_complex(x) else x  # type: ignore[return-value]


conj = conjugate


@operation(static="deg")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of each complex number, from -pi to pi; for real numbers 0, or pi if negative.

    Arguments:
        z: the numbers.
        deg: whether to give degrees instead of radians.

    >>> jnp.angle(jnp.array([1.0j, -1.0]), deg=True)
    Array([ 90., 180.], dtype=float32)
    """
    if _is_complex(z):
        angles = lax.atan2(lax.imag(z), lax.real(z))
    else:
        dtype = typeof(z).dtype
        z = lax.convert_element_type(z, dtype if is_inexact(dtype) else default_float())
        # atan2 puts -0 at an angle of pi, as numpy does.
        angles = lax.atan2(stage2.functions.full_like(z, 0), z)
    return angles * (180 / math.pi) if deg else angles


# Maxima and minima that prefer numbers to NaN; clipping.


@operation
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The larger of `x1` and `x2`; where one is NaN, the other.

    >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.0)
    Array([1., 0.], dtype=float32)
    """
    x1, x2 = promote(x1, x2)
    return where(greater(x1, x2) | isnan(x2), x1, x2)


@operation
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The smaller of `x1` and `x2`; where one is NaN, the other.

    >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0.0)
    Array([0., 0.], dtype=float32)
    """
    x1, x2 = promote(x1, x2)
    return where(less(x1, x2) | isnan(x2), x1, x2)


@operation
def clip(
    arr: ArrayLike | None = None, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Array:
    """`arr` with the elements below `min` raised to it, and those above `max` lowered to it.

    Arguments:
        arr: the array.
        min: the lower bound, a number or an array that broadcasts with `arr`; None: no bound.
        max: the upper bound, in the same form. It wins where it is below `min`.

    Raises:
        ValueError: one of them is complex.

    >>> jnp.clip(jnp.array([-2, 0, 7]), 0, 5), jnp.clip(jnp.array([-2, 7]), max=5)
    (Array([0, 0, 5], dtype=int32), Array([-2,  5], dtype=int32))
    """
    for x in (arr, min, max):
        if x is not None and typeof(x).dtype.kind == "c":
            raise ValueError(f"clip: complex numbers have no order, found {typeof(x)}")
    for bound in (min, max):
        if bound is not None:
            require_promotable(arr, bound)
    out: Any = arr if min is None else lax.max(*stage2.promote(min, arr))
    return out if max is None else lax.min(*stage2.promote(max, out))


# Functions of the bits of integers, under numpy's names.


bitwise_not = bitwise_invert = invert = lax.bitwise_not


@operation
def left_shift(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits of `x` moved up by `y` places.

    >>> jnp.left_shift(jnp.array([1, 3]), 4)
    Array([16, 48], dtype=int32)
    """
    return lax.shift_left(*map(numeric, promote(x, y)))


@operation
def right_shift(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The bits of `x1` shifted right by `x2` places, preserving the sign.

    >>> jnp.right_shift(jnp.array([16, -16]), 2)
    Array([ 4, -4], dtype=int32)
    """
    x1, x2 = map(numeric, promote(x1, x2))
    is_unsigned = number_types.letter_of(typeof(x1).dtype) == "u"
    return (lax.shift_right_logical if is_unsigned else lax.shift_right_arithmetic)(x1, x2)


bitwise_left_shift = left_shift
bitwise_right_shift = right_shift


@operation
def bitwise_count(x: ArrayLike) -> Array:
    """The number of bits set in the absolute value of `x`, as uint8.

    >>> jnp.bitwise_count(jnp.array([0b1011, -1]))
    Array([3, 1], dtype=uint8)
    """
    return stage2.astype(lax.population_count(abs(numeric(x))), np.uint8)


@operation(static=("axis", "bitorder"))
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Bytes, each packed from eight elements of `a` along an axis; nonzero elements become 1.

    Arguments:
        a: booleans or integers, padded with zeros.
        axis: the axis; None: all elements, flattened.
        bitorder: whether the first of eight is the "big" or the "little" bit.

    Raises:
        TypeError: `a` is not an array of booleans or integers.
        ValueError: `bitorder` is another string.

    >>> jnp.packbits(jnp.array([1, 0, 1, 0, 0, 0, 0, 1]))
    Array([161], dtype=uint8)
    """
    if number_types.letter_of(typeof(a).dtype) not in "biu":
        raise TypeError(f"packbits: expected booleans or integers, found {typeof(a)}")
    values = _values_of_bits("packbits", bitorder)
    bits, along = _last_axis("packbits", stage2.ne(a, 0), axis)
    *lead, count = typeof(bits).shape
    size = -(-count // 8)
    filled = lax.pad(bits, np.False_, [(0, 0, 0)] * len(lead) + [(0, 8 * size - count, 0)])
    filled = lax.reshape(filled, (*lead, size, 8))
    terms = stage2.astype(filled, np.uint8) * values
    return moveaxis(lax.reduce_sum(terms, (len(lead) + 1,)), -1, along)


@operation(static=("axis", "count", "bitorder"))
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The bits of bytes along an axis, which grows eightfold.

    Arguments:
        a: an array of uint8.
        axis: the axis; None: all elements, flattened.
        count: the number of bits in the result: it is truncated, or padded with zeros. A negative
            number is the number of bits to cut off.
        bitorder: whether the "big" or the "little" bit comes first.

    Raises:
        TypeError: `a` is not an array of uint8.
        ValueError: `bitorder` is another string.

    >>> jnp.unpackbits(jnp.array([0b10100001], jnp.uint8))
    Array([1, 0, 1, 0, 0, 0, 0, 1], dtype=uint8)
    """
    if typeof(a).dtype != np.uint8:
        raise TypeError(f"unpackbits: expected an array of uint8, found {typeof(a)}")
    values = _values_of_bits("unpackbits", bitorder)
    rows, along = _last_axis("unpackbits", a, axis)
    *lead, size = typeof(rows).shape
    bits = lax.expand_dims(rows, (len(lead) + 1,)) & values
    bits = lax.reshape(stage2.astype(bits != 0, np.uint8), (*lead, 8 * size))
    if count is not None:
        kept = len(range(8 * size)[:count])
        bits = lax.slice_in_dim(bits, 0, kept, axis=-1)
        bits = lax.pad(bits, np.uint8(0), [(0, 0, 0)] * len(lead) + [(0, max(count - kept, 0), 0)])
    return moveaxis(bits, -1, along)


def _values_of_bits(caller: str, bitorder: str) -> np.ndarray[Any, Any]:
    """The values of the eight bits of a byte."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"{caller}: bitorder must be 'big' or 'little', found {bitorder!r}")
    values = np.left_shift(np.uint8(1), np.arange(8, dtype=np.uint8))
    return values[::-1].copy() if bitorder == "big" else values


def _last_axis(caller: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """The array with the axis last, and the axis's old position."""
    if axis is None:
        return stage2.reshape(a, (-1,)), 0
    along = canonical_axis(caller, axis, typeof(a).ndim)
    return moveaxis(a, along, -1), along
