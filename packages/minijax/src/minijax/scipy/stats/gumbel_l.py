"""The Gumbel distribution of the smallest of many numbers.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.gumbel_l.logpdf(0.5):.3f}"
    '-1.149'
    """
    z = (x - loc) / scale
    return jnp.where(scale > 0, z - jnp.exp(z) - jnp.log(scale), math.nan)


@exp_of(logpdf)
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.gumbel_l.pdf(0.5):.3f}"
    '0.317'
    """


@of_reals
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.gumbel_l.logcdf(0.5):.3f}"
    '-0.214'
    """
    z = (x - loc) / scale
    return jnp.where(scale > 0, jnp.log(-jnp.expm1(-jnp.exp(z))), math.nan)


@exp_of(logcdf)
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.gumbel_l.cdf(0.5):.3f}"
    '0.808'
    """


@of_reals
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.gumbel_l.logsf(0.5):.3f}"
    '-1.649'
    """
    z = (x - loc) / scale
    return jnp.where(scale > 0, -jnp.exp(z), math.nan)


@exp_of(logsf)
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.gumbel_l.sf(0.5):.3f}"
    '0.192'
    """


@of_reals
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is not exceeded with probability `p`.

    >>> f"{minijax.scipy.stats.gumbel_l.ppf(0.25):.3f}"
    '-1.246'
    """
    return jnp.where((p > 0) & (p < 1), loc + scale * jnp.log(-jnp.log1p(-p)), math.nan)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
