"""The chi-square distribution with `df` degrees of freedom.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import gammainc, gammaincc
from minijax.scipy.stats.distribution_functions import exp_of, log_of, of_reals


@of_reals
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.chi2.logpdf(2.0, 3.0):.3f}"
    '-1.572'
    """
    y = (x - loc) / scale
    kernel = (df / 2 - 1) * jnp.log(y) - y / 2
    log_normaliser = lax.lgamma(df / 2) + math.log(2) * df / 2
    return jnp.where(x < loc, -math.inf, kernel - log_normaliser - jnp.log(scale))


@exp_of(logpdf)
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.chi2.pdf(2.0, 3.0):.3f}"
    '0.208'
    """


@of_reals
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.chi2.cdf(2.0, 3.0):.3f}"
    '0.428'
    """
    return gammainc(df / 2, lax.clamp(0.0, (x - loc) / (scale * 2), math.inf))


@log_of(cdf)
def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.chi2.logcdf(2.0, 3.0):.3f}"
    '-0.850'
    """


@of_reals
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.chi2.sf(2.0, 3.0):.3f}"
    '0.572'
    """
    return gammaincc(df / 2, lax.clamp(0.0, (x - loc) / (scale * 2), math.inf))


@log_of(sf)
def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.chi2.logsf(2.0, 3.0):.3f}"
    '-0.558'
    """


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
