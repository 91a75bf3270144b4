"""The Cauchy distribution.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math
from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, log_of, of_reals


@of_reals
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.cauchy.logpdf(1.0):.3f}"
    '-1.838'
    """
    distance = (x - loc) / scale
    return -(jnp.log(math.pi * scale) + jnp.log1p(distance * distance))


@exp_of(logpdf)
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.cauchy.pdf(1.0):.3f}"
    '0.159'
    """


@of_reals
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.cauchy.cdf(1.0):.3f}"
    '0.750'
    """
    return 0.5 + 1 / math.pi * jnp.arctan((x - loc) / scale)


@log_of(cdf)
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.cauchy.logcdf(1.0):.3f}"
    '-0.288'
    """


@of_reals
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.cauchy.sf(1.0):.3f}"
    '0.250'
    """
    return cdf(-x, -loc, scale)


@of_reals
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.cauchy.logsf(1.0):.3f}"
    '-1.386'
    """
    return logcdf(-x, -loc, scale)


@of_reals
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is not exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.cauchy.ppf(0.25):.3f}"
    '-1.000'
    """
    return jnp.where((q < 0) | (q > 1), math.nan, _quantile(q) * scale + loc)


@of_reals
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.cauchy.isf(0.25):.3f}"
    '1.000'
    """
    return jnp.where((q < 0) | (q > 1), math.nan, loc - _quantile(q) * scale)


def _quantile(q: Any) -> Any:
    """The quantile of the standard distribution, infinite at 0 and 1 despite rounding."""
    q = jnp.where(q == 0, q + lax.stop_gradient(q * q), q)  # which makes 0 of -0
    tail = 1 / jnp.tan(math.pi * jnp.where(q <= 0.5, q, 1 - q))
    middle = jnp.tan(math.pi * (q - 0.5))
    return jnp.where(jnp.abs(q - 0.5) < 0.25, middle, jnp.where(q <= 0.5, -tail, tail))


__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
