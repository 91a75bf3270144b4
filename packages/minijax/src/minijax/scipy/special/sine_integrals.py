"""Sine and cosine integrals.

Near 0 they are power series (https://dlmf.nist.gov/6.6); elsewhere waves whose amplitudes are
Chebyshev series (Clenshaw, Chebyshev series for mathematical functions, 1962), written in powers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.lax.special.polynomials import polynomial
from minijax.numpy.math.operands import strong_floats
from minijax.primitives.declare import unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation

# f(x) * x from 4 on, in 64 / (x**2 + 16) - 1, highest degree first.
_F = (
    2.546344575525734e-07, -2.3313902400363535e-07, -1.821496011303083e-06, 1.605402982240343e-06,
    5.9578190184959345e-06, -5.045379268866871e-06, -1.1741124199046975e-05, 9.521281025042883e-06,
    1.551794266254385e-05, -1.2000794097326917e-05, -1.44882929202573e-05, 1.0625891277058739e-05,
    9.82512034718429e-06, -6.793182846001089e-06, -4.880579040546493e-06, 3.14489680649286e-06,
    1.8056771674810734e-06, -1.0964545540283575e-06, -4.329324600185008e-07, 1.775532978400108e-07,
    1.8888421384469817e-07, -3.394778770255392e-07, 9.726257501317788e-08, -1.6117695420127453e-06,
    -1.6650534469528336e-06, -1.330337881255021e-05, -2.9640105363212635e-05,
    -0.00014349117094824635, -0.0004196948437558114, -0.001909308746177727, -0.0064942337606289065,
    -0.039546715483186834, 0.9653300868964378,
)  # fmt: skip
# g(x) * x**2, likewise.
_G = (
    8.181547719256631e-06, -7.1333133494201825e-06, -6.736548075537232e-05, 5.68626769323721e-05,
    0.00025542116646028694, -0.0002083220429760774, -0.000590047901281633, 0.0004637760666199817,
    0.0009268982480288045, -0.0006998404238816185, -0.0010468088207314951, 0.000756274809736584,
    0.0008765667524936682, -0.0006031312320885273, -0.0005532535042905157, 0.00036045610706479566,
    0.0002651240928837803, -0.00016248072148574816, -9.623249855796443e-05, 5.4877497276397106e-05,
    2.6571187510316787e-05, -1.4214285505720697e-05, -4.828060481308619e-06,
    1.7288546508375164e-06, 2.101356612738045e-06, -2.6531994748640844e-06, 3.5207185548914473e-06,
    -7.837121209119437e-06, 9.744452131816983e-06, -3.749853868161989e-05, 1.1565714281867291e-05,
    -0.0002883178411735829, -0.00031069499617770004, -0.0036611702949871615, -0.008301232896802754,
    -0.0985761322482133, 0.9060100136716552,
)  # fmt: skip
_TERMS = 20  # of the power series, that are seen below 4


def _power_series(x: Any, first: int) -> Any:
    """The sum of (-1)**k * x**n / (n * n!) for every second n, from `first` on."""
    orders = range(first + 2 * _TERMS - 2, first - 2, -2)
    signs = [(-1) ** (n // 2) for n in orders]
    coefficients = [sign / (n * math.factorial(n)) for n, sign in zip(orders, signs, strict=True)]
    square = lax.square(x)
    return lax.mul(x if first == 1 else square, polynomial(coefficients, square))


def _auxiliary(x: Any) -> tuple[Any, Any]:
    """The functions f and g of https://dlmf.nist.gov/6.2#iii, from 4 on."""
    inverse = lax.div(1.0, x)
    place = lax.sub(lax.div(64.0, lax.add(lax.square(x), 16.0)), 1.0)
    f, g = polynomial(_F, place), polynomial(_G, place)
    return lax.mul(f, inverse), lax.mul(g, lax.square(inverse))


def _si(x: Any) -> Any:
    size = lax.abs(x)
    is_near = lax.lt(size, 4.0)
    near, far = where(is_near, size, 0.0), where(is_near, 4.0, size)
    f, g = _auxiliary(far)
    waves = lax.add(lax.mul(f, lax.cos(far)), lax.mul(g, lax.sin(far)))
    upper = where(lax.eq(size, math.inf), math.pi / 2, lax.sub(math.pi / 2, waves))
    return lax.mul(lax.sign(x), where(is_near, _power_series(near, 1), upper))


def _ci(x: Any) -> Any:
    size = lax.abs(x)
    is_near = lax.lt(size, 4.0)
    near, far = where(is_near, size, 1.0), where(is_near, 4.0, size)
    logs = lax.add(lax.log(near), np.euler_gamma)
    lower = lax.add(logs, _power_series(near, 2))
    lower = where(lax.eq(x, 0.0), -math.inf, lower)
    f, g = _auxiliary(far)
    upper = lax.sub(lax.mul(f, lax.sin(far)), lax.mul(g, lax.cos(far)))
    upper = where(lax.eq(x, math.inf), 0.0, where(lax.eq(x, -math.inf), math.nan, upper))
    return where(is_near, lower, upper)


def _sinc(x: Any) -> Any:
    ratio = lax.div(lax.sin(x), where(lax.eq(x, 0.0), 1.0, x))
    return where(lax.eq(x, 0.0), 1.0, where(lax.eq(lax.abs(x), math.inf), 0.0, ratio))


_si_of = unary(
    "sine_integral",
    "",
    hlo=in_64_bits(_si),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _sinc(x)),
)
_ci_of = unary(
    "cosine_integral",
    "",
    hlo=in_64_bits(_ci),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, lax.div(lax.cos(x), x)),
)


@operation
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of `sin(t) / t` over t up to `x`, and minus that of `cos(t) / t` from there.

    >>> [f"{x:.3f}" for x in minijax.scipy.special.sici(1.0)]
    ['0.946', '0.337']
    """
    (x,) = strong_floats("sici", x)
    return _si_of(x), _ci_of(x)


__all__ = ["sici"]
