"""The logistic distribution.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import expit, logit
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.logistic.logpdf(1.0):.3f}"
    '-1.627'
    """
    half = (x - loc) / scale / 2
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


@exp_of(logpdf)
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.logistic.pdf(1.0):.3f}"
    '0.197'
    """


@of_reals
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.logistic.cdf(1.0):.3f}"
    '0.731'
    """
    return expit((x - loc) / scale)


@of_reals
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.logistic.sf(1.0):.3f}"
    '0.269'
    """
    return expit(-((x - loc) / scale))


@of_reals
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is not exceeded with probability `x`.

    >>> f"{minijax.scipy.stats.logistic.ppf(0.25):.3f}"
    '-1.099'
    """
    return logit(x) * scale + loc


@of_reals
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is exceeded with probability `x`.

    >>> f"{minijax.scipy.stats.logistic.isf(0.25):.3f}"
    '1.099'
    """
    return -logit(x) * scale + loc


__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]
