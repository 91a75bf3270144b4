"""Cauchy's distribution.

In each function `loc` moves the distribution and `scale` stretches it.
"""

import math
from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.numpy.math.operands import real_arrays
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_meeting
from minijax.settings.public_names import set_all


@operation
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.cauchy.logpdf(1.0):.3f}"
    '-1.838'
    """
    x, loc, scale = real_arrays("cauchy.logpdf", x, loc, scale)
    distance = (x - loc) / scale
    return -(jnp.log(math.pi * scale) + jnp.log1p(distance * distance))


@operation
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.cauchy.pdf(1.0):.3f}"
    '0.159'
    """
    require_meeting(x, loc, scale)
    return jnp.exp(logpdf(x, loc, scale))


@operation
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.cauchy.cdf(1.0):.3f}"
    '0.750'
    """
    x, loc, scale = real_arrays("cauchy.cdf", x, loc, scale)
    return 0.5 + 1 / math.pi * jnp.arctan((x - loc) / scale)


@operation
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.cauchy.logcdf(1.0):.3f}"
    '-0.288'
    """
    require_meeting(x, loc, scale)
    return jnp.log(cdf(x, loc, scale))


@operation
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.cauchy.sf(1.0):.3f}"
    '0.250'
    """
    x, loc, scale = real_arrays("cauchy.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


@operation
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.cauchy.logsf(1.0):.3f}"
    '-1.386'
    """
    x, loc, scale = real_arrays("cauchy.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


@operation
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The number that is not exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.cauchy.ppf(0.25):.3f}"
    '-1.000'
    """
    q, loc, scale = real_arrays("cauchy.ppf", q, loc, scale)
    return jnp.where((q < 0) | (q > 1), math.nan, _quantile(q) * scale + loc)


@operation
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The number that is exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.cauchy.isf(0.25):.3f}"
    '1.000'
    """
    q, loc, scale = real_arrays("cauchy.isf", q, loc, scale)
    return jnp.where((q < 0) | (q > 1), math.nan, loc - _quantile(q) * scale)


def _quantile(q: Any) -> Any:
    """The quantile of the standard distribution, infinite at 0 and 1 despite rounding."""
    q = jnp.where(q == 0, q + lax.stop_gradient(q * q), q)  # which makes 0 of -0
    tail = 1 / jnp.tan(math.pi * jnp.where(q <= 0.5, q, 1 - q))
    middle = jnp.tan(math.pi * (q - 0.5))
    return jnp.where(jnp.abs(q - 0.5) < 0.25, middle, jnp.where(q <= 0.5, -tail, tail))


set_all(globals())
