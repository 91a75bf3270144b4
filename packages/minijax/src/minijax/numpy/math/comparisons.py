"""Comparisons, logic, and tests of whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.numpy.creation import asarray, zeros_like
from minijax.numpy.math.arithmetic import abs
from minijax.numpy.math.floating_point import isfinite, isnan
from minijax.numpy.reductions import all
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.evaluation import evaluated_by_library, made_of_operations
from minijax.runtime.operation import operation
from minijax.settings.key_types import is_key_type
from minijax.settings.promotion import promote, require_meeting
from minijax_stage2 import typeof
from minijax_stage2.promotion import broadcast_shapes
from minijax_stage2.shaped_array import python_scalars

equal = lax.eq
not_equal = lax.ne


def _ordered(compare: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """A comparison in numpy's order of complex numbers: by real parts first."""
    require_meeting(x, y)
    if "c" not in (typeof(x).dtype.kind, typeof(y).dtype.kind):
        return compare(x, y)
    x, y = promote(x, y)
    is_tie = lax.eq(lax.real(x), lax.real(y))
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
    return x if typeof(x).dtype == np.bool_ else lax.ne(x, 0)


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

    >>> jnp.isclose(jnp.array([1.0, 1.1, jnp.nan]), jnp.array([1.0 + 1e-7, 1.0, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    if is_key_type(typeof(a).dtype) and typeof(a).dtype == typeof(b).dtype:
        return lax.eq(a, b)
    a, b = promote(a, b, inexact=True)
    is_near = lax.le(abs(lax.sub(a, b)), lax.add(atol, lax.mul(rtol, abs(b))))
    is_close = lax.bitwise_or(lax.eq(a, b), lax.bitwise_and(is_near, isfinite(b)))
    if equal_nan:
        is_close = lax.bitwise_or(is_close, lax.bitwise_and(isnan(a), isnan(b)))
    return is_close


@operation(static="equal_nan")
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Return True if `isclose` holds everywhere.

    >>> jnp.allclose(jnp.array([0.1 + 0.2, 1.0]), jnp.array([0.3, 1.0]))
    Array(True, dtype=bool)
    """
    require_meeting(a, b)
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
        is_equal = lax.bitwise_or(is_equal, lax.bitwise_and(*promote(isnan(a1), isnan(a2))))
    return all(is_equal)


@operation
def iscomplex(x: ArrayLike) -> Array:
    """Test if the imaginary part of `x` is not 0, element by element.

    >>> jnp.iscomplex(jnp.array([1.0 + 0.0j, 1.0j]))
    Array([False,  True], dtype=bool)
    """
    return lax.ne(lax.imag(x) if typeof(x).dtype.kind == "c" else zeros_like(x), 0)


@operation
def isreal(x: ArrayLike) -> Array:
    """Test if the imaginary part of `x` is 0, element by element.

    >>> jnp.isreal(jnp.array([1.0 + 0.0j, 1.0j]))
    Array([ True, False], dtype=bool)
    """
    return lax.bitwise_not(iscomplex(x))


def iscomplexobj(x: Any) -> bool:
    """Return True if the dtype of `x` is complex, whatever its numbers are.

    >>> jnp.iscomplexobj(jnp.array([1.0 + 0.0j])), jnp.iscomplexobj(jnp.ones(2))
    (True, False)
    """
    if x is None:
        return False
    if isinstance(getattr(x, "dtype", None), np.dtype):  # which types of numbers have, too
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


__all__ = [
    "allclose", "array_equal", "array_equiv", "equal", "greater", "greater_equal", "isclose",
    "iscomplex", "iscomplexobj", "isreal", "isrealobj", "isscalar", "iterable", "less",
    "less_equal", "logical_not", "not_equal",
]  # fmt: skip
