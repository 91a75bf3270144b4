"""Modified Bessel functions of order 0 and 1, exponentially scaled."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from minijax.lax.elementwise.abs_and_sign import abs, sign
from minijax.lax.elementwise.arithmetic import add, div, mul, sub
from minijax.lax.elementwise.comparisons import gt, le
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import sqrt
from minijax.lax.elementwise.widening import in_32_bits_at_least
from minijax.primitives.declare import (
    Unary,
    unary,
)
from minijax_stage2 import typeof

# Chebyshev series of Cephes, highest degree first: of exp(-x) I0(x) in x / 2 - 2, for x up to 8,
# and of exp(-x) sqrt(x) I0(x) in 32 / x - 2, for x from 8 on.
_I0E_NEAR = (
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16,
    1.71539128555513303061e-15, -1.16853328779934516808e-14, 7.67618549860493561688e-14,
    -4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11,
    9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7,
    1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5,
    -5.75419501008210370398e-5, 1.88502885095841655729e-4, -5.76375574538582365885e-4,
    1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2,
    1.71620901522208775349e-1, -3.04682672343198398683e-1, 6.76795274409476084995e-1,
)  # fmt: skip


_I0E_FAR = (
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17,
    3.46122286769746109310e-17, -2.82762398051658348494e-16, -3.42548561967721913462e-16,
    1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15,
    -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11,
    -3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10,
    3.39623202570838634515e-9, 2.26666899049817806459e-8, 2.04891858946906374183e-7,
    2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)  # fmt: skip


def _chebyshev(coefficients: Sequence[float], x: Any) -> Any:
    """The sum of `c[k] T[k](x / 2)`, the first one halved, by Clenshaw's recurrence."""
    if typeof(x).dtype == np.float32:  # to which smaller terms add nothing
        coefficients = [c for c in coefficients if np.abs(c) > 1e-9]
    before_last: Any = 0.0
    last: Any = 0.0
    current: Any = coefficients[0]
    for c in coefficients[1:]:
        before_last, last, current = last, current, add(sub(mul(x, current), last), c)
    return mul(0.5, sub(current, before_last))


def _i0e(x: Any) -> Any:
    x = abs(x)
    near = _chebyshev(_I0E_NEAR, sub(mul(0.5, x), 2.0))
    far = div(_chebyshev(_I0E_FAR, sub(div(32.0, x), 2.0)), sqrt(x))
    return where(le(x, 8.0), near, far)


def _i1e_tangent(t: Any, out: Any, x: Any) -> Any:
    is_away = gt(abs(x), float(ml_dtypes.finfo(typeof(x).dtype).eps))
    safe = where(is_away, x, 1.0)
    slope = sub(bessel_i0e(safe), mul(out, add(sign(safe), div(1.0, safe))))
    return mul(t, where(is_away, slope, 0.5))


bessel_i0e = unary(
    "bessel_i0e",
    """The modified Bessel function of order 0, times `exp(-abs(x))`.

    >>> f"{lax.bessel_i0e(1.0):.3f}", f"{lax.exp(-1.0) * 1.2660659:.3f}"
    ('0.466', '0.466')
    """,
    hlo=in_32_bits_at_least(_i0e),
    kinds="f",
    jvp=lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out))),
)


bessel_i1e: Unary = unary(
    "bessel_i1e",
    """The modified Bessel function of order 1, times `exp(-abs(x))`.

    >>> f"{lax.bessel_i1e(1.0):.3f}", f"{lax.exp(-1.0) * 0.5651591:.3f}"
    ('0.208', '0.208')
    """,
    hlo="chlo.bessel_i1e",
    kinds="f",
    jvp=_i1e_tangent,
)


__all__ = ["bessel_i0e", "bessel_i1e"]
