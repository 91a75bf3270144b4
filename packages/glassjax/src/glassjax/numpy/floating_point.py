"""Floats rounded and taken apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dtypes import finfo
from glassjax.errors.tracebacks import hiding_frames
from glassjax.numpy.cases import where
from glassjax.numpy.dtypes import cast_into, default_float, to_common_dtype
from glassjax.runtime.array import Array, ArrayLike, require_no_out
from glassjax.runtime.operation import operation
from glassjax.settings import number_types
from glassjax.settings.number_types import is_key_type, promote, require_one_rank, weak_if_all_are
from glassjax_stage2 import typeof
from glassjax_stage2.functions import one_int
from glassjax_stage2.promotion import to_inexact
from glassjax_stage2.shaped_array import NO_NUMBER, is_inexact, kind_of


def _is_whole(caller: str, x: Any) -> bool:
    """Return True if `x` are integers or booleans, which rounding does not change.

    Raises:
        TypeError: they are not numbers.
    """
    aval = typeof(x)
    if kind_of(aval.dtype) == NO_NUMBER:
        raise TypeError(f"{caller}: expected numbers, found {aval}")
    return not is_inexact(aval.dtype)


def _require_real(caller: str, *operands: Any, error: type[Exception] = TypeError) -> None:
    for x in operands:
        if typeof(x).dtype.kind == "c":
            raise error(f"{caller}: expected real numbers, found {typeof(x)}")


@operation
def floor(x: ArrayLike) -> Array:
    """The largest whole number up to `x`.

    >>> jnp.floor(jnp.array([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """
    return x if _is_whole("floor", x) else lax.floor(x)  # type: ignore[return-value]


@operation
def ceil(x: ArrayLike) -> Array:
    """The smallest whole number from `x` on.

    >>> jnp.ceil(jnp.array([-1.5, 1.5])), jnp.ceil(jnp.array([1, 2])).dtype
    (Array([-1.,  2.], dtype=float32), dtype('int32'))
    """
    return x if _is_whole("ceil", x) else lax.ceil(x)  # type: ignore[return-value]


@operation
def trunc(x: ArrayLike) -> Array:
    """The whole number next to `x` in the direction of 0.

    >>> jnp.trunc(jnp.array([-1.5, 1.5]))
    Array([-1.,  1.], dtype=float32)
    """
    return x if _is_whole("trunc", x) else where(stage2.lt(x, 0), lax.ceil(x), lax.floor(x))  # type: ignore[return-value]


@operation(static="decimals")
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """`a` rounded to `decimals` decimals, halves to even.

    Arguments:
        a: the numbers; for complex ones both parts are rounded.
        decimals: the number of digits to keep after the point, an int; negative: before it.
        out: must be None.

    Raises:
        NotImplementedError: `a` are integers and `decimals` is negative.

    >>> jnp.around(jnp.array([0.5, 1.5, 2.25]))
    Array([0., 2., 2.], dtype=float32)
    """
    require_no_out("round", out)
    decimals = one_int("round: decimals", decimals)
    if _is_whole("round", a):
        if decimals < 0:
            raise NotImplementedError(
                f"round: {typeof(a)} are integers, which are not rounded to {decimals} decimals; "
                "convert them to floats"
            )
        return stage2.astype(a, int) if typeof(a).dtype == np.bool_ and decimals else a  # type: ignore[return-value]
    if typeof(a).dtype.kind == "c":
        return lax.complex(round(lax.real(a), decimals), round(lax.imag(a), decimals))
    if decimals == 0:
        return lax.round(a, lax.RoundingMethod.TO_NEAREST_EVEN)
    factor = 10.0**decimals
    whole = lax.round(a * factor, lax.RoundingMethod.TO_NEAREST_EVEN)
    return whole / factor


around = round


@operation
def rint(x: ArrayLike) -> Array:
    """The integer nearest to `x`, as a float; halves round to even.

    >>> jnp.rint(jnp.array([0.5, 1.5, 2.25]))
    Array([0., 2., 2.], dtype=float32)
    """
    return stage2.astype(x, default_float()) if _is_whole("rint", x) else round(x)


@operation
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """`x` with NaN and infinities replaced by numbers.

    Arguments:
        x: the array.
        copy: ignored: Arrays are immutable.
        nan: the replacement of NaN.
        posinf: the replacement of infinity; by default the largest number of the dtype.
        neginf: the replacement of minus infinity; by default the smallest number.

    >>> jnp.nan_to_num(jnp.array([jnp.nan, jnp.inf, 1.0]), posinf=9.0)
    Array([0., 9., 1.], dtype=float32)
    """
    aval = typeof(x).strip_weak_type()
    if is_key_type(aval.dtype) or _is_whole("nan_to_num", x):
        return x  # type: ignore[return-value]
    if aval.dtype.kind == "c":
        parts = (nan_to_num(part(x), copy, nan, posinf, neginf) for part in (lax.real, lax.imag))
        return lax.complex(*parts)
    limits = finfo(aval.dtype)
    posinf = float(limits.max) if posinf is None else posinf
    neginf = float(limits.min) if neginf is None else neginf
    x = lax.convert_element_type(x, aval.dtype)
    out = where(isnan(x), cast_into("nan_to_num", nan, aval), x)
    out = where(stage2.eq(out, math.inf), cast_into("nan_to_num", posinf, aval), out)
    return where(stage2.eq(out, -math.inf), cast_into("nan_to_num", neginf, aval), out)


@operation
def isnan(x: ArrayLike) -> Array:
    """Test for NaN, element by element.

    >>> jnp.isnan(jnp.array([1.0, -jnp.inf, jnp.nan]))
    Array([False, False,  True], dtype=bool)
    """
    return lax.ne(x, x)


@operation
def isfinite(x: ArrayLike) -> Array:
    """Test if `x` is neither infinite nor NaN, element by element.

    >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    if typeof(x).dtype.kind == "c":
        return isfinite(lax.real(x)) & isfinite(lax.imag(x))
    return lax.eq(x, x) if _is_whole("isfinite", x) else lax.is_finite(x)


@operation
def isinf(x: ArrayLike) -> Array:
    """Test for infinity, element by element; a complex number is infinite if one of its parts is.

    >>> jnp.isinf(jnp.array([1.0, -jnp.inf, jnp.nan]))
    Array([False,  True, False], dtype=bool)
    """
    if typeof(x).dtype.kind == "c":
        return isinf(lax.real(x)) | isinf(lax.imag(x))
    return lax.ne(x, x) if _is_whole("isinf", x) else lax.abs(x) == math.inf


@hiding_frames
def isposinf(x: Any, out: None = None) -> Array:
    """Test a real `x` for infinity, element by element. `out` must be None.

    >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf]))
    Array([ True, False], dtype=bool)
    """
    return _is_infinity("isposinf", x, math.inf, out)


@hiding_frames
def isneginf(x: Any, out: None = None) -> Array:
    """Test a real `x` for minus infinity, element by element. `out` must be None.

    >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf]))
    Array([False,  True], dtype=bool)
    """
    return _is_infinity("isneginf", x, -math.inf, out)


@operation(static=("caller", "infinity"))
def _is_infinity(caller: str, x: Any, infinity: float, out: None) -> Any:
    require_no_out(caller, out)
    if typeof(x).dtype.kind == "c":
        raise ValueError(f"{caller}: complex numbers have no sign, found {typeof(x)}")
    return lax.ne(x, x) if _is_whole("_is_infinity", x) else stage2.eq(x, infinity)


@operation
def signbit(x: ArrayLike) -> Array:
    """Test the sign bit of `x`, which is set for negative numbers and minus zero.

    Raises:
        ValueError: `x` is complex.

    >>> jnp.signbit(jnp.array([-0.0, 0.0, -jnp.inf]))
    Array([ True, False,  True], dtype=bool)
    """
    _require_real("signbit", x, error=ValueError)
    if _is_whole("signbit", x):
        return stage2.lt(x, 0) if number_types.letter_of(typeof(x).dtype) == "i" else lax.ne(x, x)
    bits = lax.bitcast_convert_type(x, _integer_of(typeof(x).dtype))
    return bits < 0


def _integer_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The integers with as many bits as this dtype."""
    return np.dtype(f"int{8 * dtype.itemsize}")


@operation
def copysign(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The absolute value of `x1` with the sign of `x2`.

    Raises:
        TypeError: an operand is complex.

    >>> jnp.copysign(jnp.array([1.0, -2.0]), jnp.array([-0.0, 3.0]))
    Array([-1.,  2.], dtype=float32)
    """
    _require_real("copysign", x1, x2)
    size, sign = promote(x1, x2, inexact=True)
    magnitude = lax.abs(size)
    out = where(signbit(sign), -magnitude, magnitude)
    return weak_if_all_are(out, size, sign)


@operation
def heaviside(x1: ArrayLike, x2: ArrayLike) -> Array:
    """0 where `x1` is negative, `x2` where it is 0, 1 where it is positive; NaN where it is NaN.

    >>> jnp.heaviside(jnp.array([-2.0, 0.0, 2.0]), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    _require_real("heaviside", x1, x2)
    x, at_zero = to_common_dtype(x1, x2, inexact=True)
    step = where(stage2.eq(x, 0), at_zero, 0.5 * (lax.sign(x) + 1))
    return weak_if_all_are(step, x1)


@operation
def nextafter(x: ArrayLike, y: ArrayLike) -> Array:
    """The next representable number after `x` towards `y`.

    >>> jnp.nextafter(1.0, 2.0).item() > 1.0
    True
    """
    return lax.nextafter(*promote(x, y, inexact=True))


@operation
def spacing(x: ArrayLike) -> Array:
    """The distance from `x` to the next number of its dtype away from 0, with the sign of `x`.

    For float16 it is positive, as in numpy.

    >>> jnp.spacing(jnp.float32(1)) == jnp.finfo(jnp.float32).eps
    Array(True, dtype=bool)
    """
    _require_real("spacing", x, error=ValueError)
    x = to_inexact(x)
    size = _spacing_of_size(x)
    spacing = size if typeof(x).dtype == np.float16 else copysign(size, x)
    return where(isfinite(x), spacing, math.nan)


def _spacing_of_size(x: Any) -> Any:
    """A power of two made from its bits, since XLA flushes subnormal numbers to zero."""
    limits, dtype = finfo(typeof(x).dtype), typeof(x).dtype
    bits = lax.bitcast_convert_type(lax.abs(lax.stop_gradient(x)), _integer_of(dtype))
    biased = lax.shift_right_logical(*stage2.promote(bits, limits.nmant))
    normal = lax.shift_left(*stage2.promote(biased - limits.nmant, limits.nmant))
    place = lax.clamp(*stage2.promote(1, biased, limits.nmant + 1)) - 1
    subnormal = lax.shift_left(stage2.functions.full_like(bits, 1), place)
    return lax.bitcast_convert_type(where(biased > limits.nmant, normal, subnormal), dtype)


@hiding_frames
def modf(x: ArrayLike, out: None = None) -> tuple[Array, Array]:
    """The fractional and integral parts of `x`. `out` must be None.

    >>> jnp.modf(jnp.array([2.5, -1.25]))
    (Array([ 0.5 , -0.25], dtype=float32), Array([ 2., -1.], dtype=float32))
    """
    require_no_out("modf", out)
    return _modf(x)


@operation
def _modf(x: Any) -> tuple[Any, Any]:
    _require_real("modf", x)
    x = to_inexact(x)
    whole = trunc(x)
    return x - whole, whole


@operation
def frexp(x: ArrayLike) -> tuple[Array, Array]:
    """Mantissa and exponent: `x` is `mantissa * 2**exponent`, and `0.5 <= abs(mantissa) < 1`.

    >>> jnp.frexp(jnp.array([6.0, 0.5]))
    (Array([0.75, 0.5 ], dtype=float32), Array([3, 0], dtype=int32))
    """
    _require_real("frexp", x)
    x = to_inexact(x)
    exponent = _exponent(lax.stop_gradient(x))
    is_special = stage2.eq(x, 0) | ~isfinite(x)
    mantissa = where(is_special, x, _times_power(x, -exponent))
    return mantissa, where(is_special, 0, exponent)


def _exponent(x: Any) -> Any:
    """The exponent of each float, read from its bits."""
    dtype = typeof(x).dtype
    limits = finfo(dtype)
    is_tiny = lax.abs(x) < limits.tiny
    x = where(is_tiny, x * stage2.astype(2.0**limits.nmant, dtype), x)
    bits = lax.bitcast_convert_type(x, _integer_of(dtype))
    mask = 2**limits.nexp - 1
    biased = lax.shift_right_logical(*stage2.promote(bits, limits.nmant)) & mask
    exponent = stage2.astype(biased, np.int32) + (2 - 2 ** (limits.nexp - 1))
    return where(is_tiny, exponent - limits.nmant, exponent)


@operation
def ldexp(x1: ArrayLike, x2: ArrayLike) -> Array:
    """`x1 * 2**x2`, for integers `x2`.

    Raises:
        ValueError: `x2` are not integers, or `x1` is complex.

    >>> jnp.ldexp(jnp.array([0.75, 0.5]), jnp.array([3, 0]))
    Array([6. , 0.5], dtype=float32)
    """
    require_one_rank(x1, x2)
    _require_real("ldexp", x1, error=ValueError)
    if not _is_whole("ldexp", x2):
        raise ValueError(f"ldexp: x2 must be integers, found {typeof(x2)}")
    return _times_power(to_inexact(x1), stage2.astype(x2, np.int32))


def _times_power(x: Any, exponent: Any) -> Any:
    """`x * 2**exponent` in three steps, so that no intermediate result overflows or underflows."""
    dtype = typeof(x).dtype
    widest = 2 ** (finfo(dtype).nexp - 1) - 2
    for _ in range(3):
        step = lax.clamp(*stage2.promote(-widest, exponent, widest))
        x = x * _power_of_two(step, dtype)
        exponent = exponent - step
    return x


def _power_of_two(exponent: Any, dtype: np.dtype[Any]) -> Any:
    """A power of two made from its bits, exact where `exp2` need not be."""
    limits = finfo(dtype)
    biased = exponent + (2 ** (limits.nexp - 1) - 1)
    biased = stage2.astype(biased, _integer_of(dtype))
    bits = lax.shift_left(*stage2.promote(biased, limits.nmant))
    return lax.bitcast_convert_type(bits, dtype)
