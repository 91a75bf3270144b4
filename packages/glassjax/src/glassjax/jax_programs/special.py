"""JAX's programs of functions of `glassjax.nn` and `glassjax.scipy`."""

import math
from typing import Any

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.lax import elementwise
from glassjax.numpy.transcendental import real_floats


def gelu(x: Any) -> Any:
    """The product of `x` and the normal distribution function, as a copy."""
    return elementwise.copy(0.5 * x * lax.erfc(-x * math.sqrt(0.5)))


# The coefficients of the series of Didonato and Morris (1992, ACM TOMS 708), from the constant on.
_SERIES = (
    0.0833333333333333, -0.00277777777760991, 0.00079365066682539, -0.00059520293135187,
    0.000837308034031215, -0.00165322962780713,
)  # fmt: skip


def betaln(a: Any, b: Any) -> Any:
    """By logarithms of gamma functions, or where an operand is large by a series of their parts."""
    a, b = real_floats("betaln", a, b)
    small = jnp.where(jnp.less_equal(a, b), a, b)
    large = jnp.where(jnp.less_equal(a, b), b, a)
    by_parts = lax.lgamma(small) + (lax.lgamma(large) - lax.lgamma(small + large))

    smaller, ratio = lax.lgamma(small), small / large
    factor, share = ratio / (1 + ratio), ratio / (1 + ratio)
    shifted, power = large + (small - 0.5), share * share
    sums = [1 + (share + power)]
    for _ in _SERIES[2:]:
        sums.append(1 + (share + power * sums[-1]))
    inverse = (1 / large) ** 2
    total = _SERIES[-1] * sums.pop()
    for coefficient in reversed(_SERIES[1:-1]):
        total = total * inverse + coefficient * sums.pop()
    total = (total * inverse + _SERIES[0]) * (factor / large)
    u, v = shifted * lax.log1p(small / large), small * (lax.log(large) - 1)
    by_series = smaller + jnp.where(u <= v, total - v - u, total - u - v)
    return jnp.where(large < 8, by_parts, by_series)
