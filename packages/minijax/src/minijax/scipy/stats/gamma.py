"""The gamma distribution of shape `a`.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import gammainc, gammaincc, gammaln, xlogy
from minijax.scipy.stats.distribution_functions import exp_of, log_of, of_reals


@of_reals
def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.gamma.logpdf(2.0, 3.0):.3f}"
    '-1.307'
    """
    y = jnp.where(x >= loc, (x - loc) / scale, 1)
    logs = xlogy(a - 1, y) - y - (gammaln(a) + jnp.log(scale))
    return jnp.where(x >= loc, logs, -math.inf)


@exp_of(logpdf)
def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.gamma.pdf(2.0, 3.0):.3f}"
    '0.271'
    """


@of_reals
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.gamma.cdf(2.0, 3.0):.3f}"
    '0.323'
    """
    return gammainc(a, lax.clamp(0.0, (x - loc) / scale, math.inf))


@log_of(cdf)
def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.gamma.logcdf(2.0, 3.0):.3f}"
    '-1.129'
    """


@of_reals
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.gamma.sf(2.0, 3.0):.3f}"
    '0.677'
    """
    y = (x - loc) / scale
    return jnp.where(y < 0, 1, gammaincc(a, y))


@log_of(sf)
def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.gamma.logsf(2.0, 3.0):.3f}"
    '-0.391'
    """


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
