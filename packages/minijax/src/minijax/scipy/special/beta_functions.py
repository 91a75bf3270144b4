"""The beta function, and its logarithm."""

import math
from typing import Any

from minijax.declare import binary
from minijax.lax import promoting as lax
from minijax.lax.elementwise import where
from minijax.lax.widths import in_64_bits
from minijax.numpy.transcendental import real_floats
from minijax.operation import operation
from minijax.scipy.special.gamma_functions import gammasgn

_LARGE = 10.0  # from here on the terms below are enough
# Stirling's series, of what the logarithm of the gamma function is beyond its leading terms.
_STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
)  # fmt: skip


# --8<-- [start:betaln]
def _beyond_stirling(x: Any) -> Any:
    inverse = lax.div(1.0, x)
    square, series = lax.square(inverse), 0.0
    for coefficient in reversed(_STIRLING):
        series = lax.add(coefficient, lax.mul(square, series))
    return lax.mul(inverse, series)


def _betaln(a: Any, b: Any) -> Any:
    """By DiDonato and Morris (ACM TOMS 708, 1992): no large logarithms are subtracted."""
    small, large = lax.min(a, b), lax.max(a, b)
    is_ordinary = lax.bitwise_or(lax.lt(large, _LARGE), lax.le(small, 0.0))
    logs = lax.sub(lax.add(lax.lgamma(a), lax.lgamma(b)), lax.lgamma(lax.add(a, b)))
    least, most = where(is_ordinary, 1.0, small), where(is_ordinary, _LARGE, large)
    total, ratio = lax.add(least, most), lax.div(least, most)
    is_tiny = lax.lt(ratio, 1e-17)  # and infinity times zero is near
    growth = lax.log1p(ratio)
    beyond = lax.sub(_beyond_stirling(most), _beyond_stirling(total))
    power = where(is_tiny, least, lax.mul(lax.sub(total, 0.5), growth))
    one = lax.sub(lax.sub(beyond, power), lax.mul(least, lax.sub(lax.log(most), 1.0)))
    one = lax.add(lax.lgamma(least), one)
    share = lax.log(lax.div(ratio, lax.add(1.0, ratio)))
    both = lax.sub(0.5 * math.log(2 * math.pi), lax.mul(0.5, lax.log(most)))
    both = lax.add(both, lax.add(beyond, _beyond_stirling(where(lax.lt(least, 1.0), 1.0, least))))
    both = lax.add(both, lax.mul(lax.sub(least, 0.5), share))
    both = lax.sub(both, where(is_tiny, least, lax.mul(most, growth)))
    return where(is_ordinary, logs, where(lax.lt(least, _LARGE), one, both))


_betaln_of = binary(
    "betaln",
    "",
    hlo=in_64_bits(_betaln),
    kinds="f",
    jvp=(
        lambda t, out, a, b: lax.mul(t, lax.sub(lax.digamma(a), lax.digamma(lax.add(a, b)))),
        lambda t, out, a, b: lax.mul(t, lax.sub(lax.digamma(b), lax.digamma(lax.add(a, b)))),
    ),
)
# --8<-- [end:betaln]


@operation
def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function.

    >>> f"{minijax.scipy.special.betaln(2.0, 3.0):.3f}", f"{jnp.log(1 / 12):.3f}"
    ('-2.485', '-2.485')
    """
    return _betaln_of(*real_floats("betaln", a, b))


@operation
def beta(a: Any, b: Any) -> Any:
    """The beta function.

    >>> f"{minijax.scipy.special.beta(2.0, 3.0):.4f}", f"{1 / 12:.4f}"
    ('0.0833', '0.0833')
    """
    a, b = real_floats("beta", a, b)
    sign = lax.mul(lax.mul(gammasgn(a), gammasgn(b)), gammasgn(lax.add(a, b)))
    return lax.mul(sign, lax.exp(betaln(a, b)))


__all__ = ["beta", "betaln"]
