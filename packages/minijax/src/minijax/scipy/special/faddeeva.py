"""`wofz`, the scaled error function of complex numbers, and `dawsn`, its part on the real line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.lax.special.polynomials import polynomial
from minijax.numpy.math.operands import inexact_arrays, strong, strong_floats
from minijax.primitives.declare import Unary, lower_by_primitives, unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof

_COUNT = 12
_STEP = math.sqrt(math.pi / _COUNT)
_EVEN = [_STEP * k for k in range(1, _COUNT)]
_ODD = [_STEP * (k + 0.5) for k in range(_COUNT)]


def _multiplied_by_i(z: Any) -> Any:
    return lax.complex(lax.neg(lax.imag(z)), lax.real(z))


def _exp_of_negative_square(z: Any) -> Any:
    """`exp(-z**2)`, whose size comes from a product, which does not cancel as a difference does."""
    x, y = lax.real(z), lax.imag(z)
    size = lax.exp(lax.mul(lax.sub(y, x), lax.add(y, x)))
    angle = lax.mul(-2.0, lax.mul(x, y))
    is_real = lax.eq(angle, 0.0)
    imag = where(is_real, 0.0, lax.mul(size, lax.sin(angle)))
    return lax.complex(where(is_real, size, lax.mul(size, lax.cos(angle))), imag)


def _in_first_quadrant(z: Any) -> Any:
    """The midpoint and the trapezoidal rule, with the residue of a pole near the real line.

    M. Al Azah and S. Chandler-Wilde, "Computation of the complex error function using modified
    trapezoidal rules", SIAM J. Numer. Anal. 59, 2021. The error is a few units in the last place.
    """
    x, y = lax.real(z), lax.imag(z)
    square = lax.mul(z, z)

    def summed(nodes: list[float]) -> Any:
        total = lax.full_like(z, 0.0)
        for node in nodes:
            total = lax.add(total, lax.div(math.exp(-(node**2)), lax.sub(square, node**2)))
        return lax.mul(_multiplied_by_i(z), lax.mul(2 * _STEP / math.pi, total))

    place = lax.div(x, _STEP)
    place = lax.sub(place, lax.floor(place))
    is_far = lax.ge(y, lax.max(x, math.pi / _STEP))
    is_between = lax.bitwise_and(
        lax.lt(y, x), lax.bitwise_and(lax.ge(place, 0.25), lax.le(place, 0.75))
    )
    is_odd = lax.bitwise_or(is_far, lax.bitwise_not(is_between))
    # The residue: exp(-z**2) over 1 plus or minus exp(-2 pi i z / step).
    turned = lax.mul(z, -2 * math.pi / _STEP)
    turned = lax.exp(where(is_far, lax.full_like(z, 0.0), _multiplied_by_i(turned)))
    divisor = lax.add(1.0, where(is_odd, turned, lax.neg(turned)))
    residue = lax.div(lax.mul(2.0, _exp_of_negative_square(z)), divisor)
    at_zero = lax.div(lax.complex(lax.full_like(x, 0.0), lax.full_like(x, _STEP / math.pi)), z)
    even = lax.add(at_zero, summed(_EVEN))
    return lax.add(where(is_odd, summed(_ODD), even), where(is_far, lax.full_like(z, 0.0), residue))


def _wofz(z: Any) -> Any:
    """The first quadrant, and the others by reflection."""
    x, y = lax.real(z), lax.imag(z)
    size_x, size_y = lax.abs(x), lax.abs(y)
    is_large = lax.bitwise_or(lax.gt(size_x, 1e8), lax.gt(size_y, 1e8))
    inner = lax.complex(where(is_large, 1.0, size_x), where(is_large, 1.0, size_y))
    near = _in_first_quadrant(inner)
    # i / (sqrt(pi) * z), by the larger part, so that nothing overflows.
    is_wide = lax.gt(size_x, size_y)
    larger = where(is_large, where(is_wide, size_x, size_y), 1.0)
    ratio = lax.div(where(is_large, where(is_wide, size_y, size_x), 0.0), larger)
    ratio = where(lax.eq(ratio, ratio), ratio, 1.0)
    whole = lax.div(lax.div(1 / math.sqrt(math.pi), larger), lax.add(1.0, lax.square(ratio)))
    other = lax.mul(whole, ratio)
    far = lax.complex(where(is_wide, other, whole), where(is_wide, whole, other))
    w = where(is_large, far, near)
    w = where(lax.lt(x, 0.0), lax.conj(w), w)
    below = lax.complex(lax.neg(x), lax.neg(y))
    reflected = lax.sub(lax.mul(2.0, _exp_of_negative_square(below)), lax.conj(w))
    is_number = lax.bitwise_and(lax.eq(x, x), lax.eq(y, y))
    w = where(lax.lt(y, 0.0), reflected, w)
    # On the imaginary line it is real, and its real part even on the real one.
    w = lax.complex(lax.real(w), where(lax.eq(x, 0.0), 0.0, lax.imag(w)))
    return where(is_number, w, lax.full_like(w, complex(math.nan, math.nan)))


def _wofz_in_128_bits(z: Any) -> Any:
    dtype = typeof(z).dtype
    return stage2.astype(_wofz(stage2.astype(z, np.complex128)), dtype)


def _slope_of_wofz(t: Any, out: Any, z: Any) -> Any:
    constant = lax.full_like(out, 2j / math.sqrt(math.pi))
    return lax.mul(t, lax.sub(constant, lax.mul(2.0, lax.mul(z, out))))


_wofz_of: Unary = unary(
    "wofz", "", hlo=lower_by_primitives(_wofz_in_128_bits), kinds="c", jvp=_slope_of_wofz
)


@operation
def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function, `exp(-z**2) * erfc(-1j * z)`; a complex number even for a real `z`.

    Source: Al Azah and Chandler-Wilde, 2021.

    >>> print(wofz(jnp.array([0.0, 1j])).round(4))
    [1.    +0.j 0.4276+0.j]
    """
    (z,) = strong(inexact_arrays(z))
    dtype = np.result_type(typeof(z).dtype, np.complex64)
    return _wofz_of(lax.convert_element_type(z, dtype))


_NEAR = 7.0  # beyond, the asymptotic series is exact
_BELL_STEP = 0.2
_BELL = [(n, math.exp(-((n * _BELL_STEP) ** 2)) / n) for n in range(1, 68, 2)]
_FAR_TERMS = [math.prod(range(1, 2 * k, 2)) / 2**k for k in reversed(range(24))]


def _dawsn(x: Any) -> Any:
    """Rybicki's sum (Computers in Physics 3, 1989), of hyperbolic sines, none of which cancel."""
    is_near = lax.lt(lax.abs(x), _NEAR)
    near, far = where(is_near, x, 0.0), where(is_near, _NEAR, x)
    total: Any = 0.0
    for n, weight in _BELL:
        angle = lax.mul(2 * n * _BELL_STEP, near)
        total = lax.add(total, lax.mul(weight, lax.sinh(angle)))
    sum_of_sines = lax.mul(
        lax.mul(2 / math.sqrt(math.pi), total), lax.exp(lax.neg(lax.square(near)))
    )
    inverse = lax.div(1.0, far)
    tail = lax.mul(lax.mul(0.5, inverse), polynomial(_FAR_TERMS, lax.square(inverse)))
    return where(lax.eq(x, x), where(is_near, sum_of_sines, tail), math.nan)


_dawsn_of: Unary = unary(
    "dawsn",
    "",
    hlo=in_64_bits(_dawsn),
    kinds="f",
    # For large x the difference is of its asymptotic series, -1 / (2 x**2) first.
    jvp=lambda t, out, x: lax.mul(t, _dawsn_slope_of(x)),
)


def _dawsn_slope(x: Any) -> Any:
    is_near = lax.lt(lax.abs(x), _NEAR)
    near, far = where(is_near, x, 0.0), where(is_near, _NEAR, x)
    difference = lax.sub(1.0, lax.mul(lax.mul(2.0, near), _dawsn(near)))
    inverse = lax.square(lax.div(1.0, far))
    tail = lax.neg(lax.mul(inverse, polynomial(_FAR_TERMS[:-1], inverse)))
    return where(lax.eq(x, x), where(is_near, difference, tail), math.nan)


_dawsn_slope_of: Unary = unary(
    "dawsn_slope",
    "",
    hlo=in_64_bits(_dawsn_slope),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, lax.mul(-2.0, lax.add(_dawsn_of(x), lax.mul(x, out)))),
)


@operation
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral: `exp(-x**2)` times the integral of `exp(t**2)` from 0 to `x`.

    Raises:
        ValueError: `x` is complex.

    >>> f"{minijax.scipy.special.dawsn(1.0):.4f}"
    '0.5381'
    """
    return _dawsn_of(*strong_floats("dawsn", x))


__all__ = ["dawsn", "wofz"]
