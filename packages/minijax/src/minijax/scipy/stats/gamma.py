"""The gamma distribution of shape `a`.

In each function `loc` moves the distribution and `scale` stretches it.
"""

import math
from typing import Any

from minijax import lax
from minijax import numpy as jnp
from minijax.floats import real_arrays
from minijax.operation import operation
from minijax.scipy.special import gammainc, gammaincc, gammaln, xlogy


@operation
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at `x`."""
    x, a, loc, scale = real_arrays("gamma.logpdf", x, a, loc, scale)
    y = jnp.where(x >= loc, (x - loc) / scale, 1)
    logs = xlogy(a - 1, y) - y - (gammaln(a) + jnp.log(scale))
    return jnp.where(x >= loc, logs, -math.inf)


@operation
def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at `x`."""
    return jnp.exp(logpdf(x, a, loc, scale))


@operation
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers up to `x`."""
    x, a, loc, scale = real_arrays("gamma.cdf", x, a, loc, scale)
    return gammainc(a, lax.clamp(0.0, (x - loc) / scale, math.inf))


@operation
def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `cdf`."""
    return jnp.log(cdf(x, a, loc, scale))


@operation
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers above `x`."""
    x, a, loc, scale = real_arrays("gamma.sf", x, a, loc, scale)
    y = (x - loc) / scale
    return jnp.where(y < 0, 1, gammaincc(a, y))


@operation
def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `sf`."""
    return jnp.log(sf(x, a, loc, scale))


__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]
