"""The exponential distribution.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math

from minijax import nn
from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.expon.logpdf(1.0):.3f}"
    '-1.000'
    """
    return jnp.where(x < loc, -math.inf, -((x - loc) / scale + jnp.log(scale)))


@exp_of(logpdf)
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.expon.pdf(1.0):.3f}"
    '0.368'
    """


@of_reals
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.expon.cdf(1.0):.3f}"
    '0.632'
    """
    return jnp.where(x < loc, 0, -jnp.expm1((loc - x) / scale))


@of_reals
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.expon.logcdf(1.0):.3f}"
    '-0.459'
    """
    distance = jnp.where(x < loc, 1, (x - loc) / scale)  # where its derivative is finite
    return jnp.where(x < loc, -math.inf, nn.log1mexp(distance))


@of_reals
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.expon.logsf(1.0):.3f}"
    '-1.000'
    """
    return jnp.where(x < loc, 0, (loc - x) / scale)


@exp_of(logsf)
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.expon.sf(1.0):.3f}"
    '0.368'
    """


@of_reals
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is not exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.expon.ppf(0.25):.3f}"
    '0.288'
    """
    return jnp.where((q >= 0) & (q <= 1), loc - scale * jnp.log1p(-q), math.nan)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
