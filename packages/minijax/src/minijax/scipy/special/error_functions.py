"""The error function."""

from __future__ import annotations

import math
from typing import Any

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.lax.special.error_functions import exp_of_square
from minijax.lax.special.polynomials import polynomial
from minijax.numpy.math.operands import real_floats, strong_floats
from minijax.primitives.declare import Unary, unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation


@operation
def erf(x: ArrayLike) -> Array:
    """The error function of `x`.

    >>> f"{minijax.scipy.special.erf(1.0):.3f}"
    '0.843'
    """
    return lax.erf(*real_floats("erf", x))


@operation
def erfc(x: ArrayLike) -> Array:
    """`1 - erf(x)`, accurate even where that is nearly 0.

    >>> f"{minijax.scipy.special.erfc(5.0):.3e}"
    '1.537e-12'
    """
    return lax.erfc(*real_floats("erfc", x))


@operation
def erfinv(x: ArrayLike) -> Array:
    """The number whose error function is `x`.

    >>> f"{minijax.scipy.special.erfinv(minijax.scipy.special.erf(0.5)):.3f}"
    '0.500'
    """
    return lax.erf_inv(*real_floats("erfinv", x))


# erfcx(x) * (2 * x + 1) from 1/2 on, in 7 / (x + 3) - 1, highest degree first.
_VALUE = (
    1.7273984377393314e-11, -7.839796597428872e-12, -2.0194772612135376e-10,
    1.6242483762069316e-10, 1.336870386119782e-09, -1.7665958819602618e-09, -7.211389633963752e-09,
    1.448219496903576e-08, 3.8721429616343525e-08, -1.0511438493965513e-07, -2.410820745924068e-07,
    7.238739104902653e-07, 1.9136503491626945e-06, -4.577269092079202e-06, -1.8863222935535367e-05,
    1.7479106593904733e-05, 0.00019788759716667242, 0.00024740376448686123, -0.001392061249454098,
    -0.008073603938175784, -0.02280179959886874, -0.04180651066502489, -0.0466545853467421,
    -0.003496013513368038, 0.12216847723549219, 1.2329951186255526,
)  # fmt: skip
# Minus its slope * (x + 1)**2, likewise.
_SLOPE = (
    -1.1757547485083518e-11, -7.566186347797371e-11, 2.0591023672070005e-10, 7.876754824745773e-10,
    -1.9291555111922804e-09, -4.209866607439699e-09, 1.3427759326223213e-08,
    1.5658337202174124e-08, -8.11383845293618e-08, -4.5941582264855266e-08, 4.690592604209732e-07,
    1.3621469389926802e-07, -2.7598805008963138e-06, -9.865376376395777e-07,
    1.6835260799556332e-05, 1.4721963446774055e-05, -9.924770366263751e-05,
    -0.00020857456113329017, 0.0003781045233359512, 0.0021934506270083667, 0.0028020489708460313,
    -0.005165742593417587, -0.027518286612198375, -0.05050604770012541, -0.026953169270668067,
    0.10295514153201475, 0.34605620908994794, 0.8095876523755363,
)  # fmt: skip


def _place(x: Any) -> Any:
    return lax.sub(lax.div(7.0, lax.add(x, 3.0)), 1.0)


def _erfcx(x: Any) -> Any:
    """For large `x` the Chebyshev series of Shepherd and Laframboise (Math. Comp. 36, 1981)."""
    is_far = lax.gt(x, 0.5)
    near, far = where(is_far, 0.5, x), where(is_far, x, 0.5)
    product = lax.mul(exp_of_square(near, 1.0), lax.erfc(near))
    tail = lax.div(polynomial(_VALUE, _place(far)), lax.add(lax.mul(2.0, far), 1.0))
    return where(is_far, tail, product)


def _erfcx_slope(x: Any) -> Any:
    """`2 * x * erfcx(x) - 2 / sqrt(pi)`; by a series for large `x`, where that cancels."""
    is_far = lax.gt(x, 0.5)
    near, far = where(is_far, 0.5, x), where(is_far, x, 0.5)
    difference = lax.sub(lax.mul(lax.mul(near, 2.0), _erfcx(near)), 2 / math.sqrt(math.pi))
    inverse = lax.div(1.0, lax.add(far, 1.0))
    tail = lax.mul(lax.mul(polynomial(_SLOPE, _place(far)), inverse), lax.neg(inverse))
    return where(is_far, tail, difference)


_erfcx_slope_of = unary(
    "erfcx_slope",
    "",
    hlo=in_64_bits(_erfcx_slope),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, lax.mul(2.0, lax.add(_erfcx_of(x), lax.mul(x, out)))),
)
_erfcx_of: Unary = unary(
    "erfcx",
    "",
    hlo=in_64_bits(_erfcx),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _erfcx_slope_of(x)),
)


@operation
def erfcx(x: ArrayLike) -> Array:
    """`exp(x**2) * erfc(x)`, even where the first factor overflows or the second underflows.

    >>> f"{minijax.scipy.special.erfcx(1.0):.3f}", f"{minijax.scipy.special.erfcx(1e10):.3e}"
    ('0.428', '5.642e-11')
    """
    return _erfcx_of(*strong_floats("erfcx", x))


__all__ = ["erf", "erfc", "erfcx", "erfinv"]
