"""The Gumbel distribution of the largest of many numbers.

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

    >>> f"{minijax.scipy.stats.gumbel_r.logpdf(0.5):.3f}"
    '-1.107'
    """
    z = (x - loc) / scale
    return jnp.where(scale > 0, -(z + jnp.exp(-z)) - jnp.log(scale), math.nan)


@exp_of(logpdf)
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.gumbel_r.pdf(0.5):.3f}"
    '0.331'
    """


@of_reals
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.gumbel_r.logcdf(0.5):.3f}"
    '-0.607'
    """
    z = (x - loc) / scale
    return jnp.where(scale > 0, -jnp.exp(-z), math.nan)


@exp_of(logcdf)
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.gumbel_r.cdf(0.5):.3f}"
    '0.545'
    """


@of_reals
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.gumbel_r.sf(0.5):.3f}"
    '0.455'
    """
    z = (x - loc) / scale
    return jnp.where(scale > 0, 1 - jnp.exp(-jnp.exp(-z)), math.nan)


@of_reals
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.gumbel_r.logsf(0.5):.3f}"
    '-0.788'
    """
    z = (x - loc) / scale
    return jnp.where(scale > 0, nn.log1mexp(jnp.exp(-z)), math.nan)


@of_reals
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is not exceeded with probability `p`.

    >>> f"{minijax.scipy.stats.gumbel_r.ppf(0.25):.3f}"
    '-0.327'
    """
    return jnp.where((p > 0) & (p < 1), loc - scale * jnp.log(-jnp.log(p)), math.nan)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
