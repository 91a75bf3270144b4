"""The Laplace distribution: exponential on both sides.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.laplace.logpdf(1.0):.3f}"
    '-1.693'
    """
    return -(jnp.abs(x - loc) / scale + jnp.log(2 * scale))


@exp_of(logpdf)
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.laplace.pdf(1.0):.3f}"
    '0.184'
    """


@of_reals
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.laplace.cdf(1.0):.3f}"
    '0.816'
    """
    distance = (x - loc) / scale
    is_below = distance <= 0
    # Of the tail alone, for the other one is infinite far out, and its derivative, too.
    tail = 0.5 * jnp.exp(jnp.where(is_below, distance, -distance))
    return jnp.where(is_below, tail, 1 - tail)


__all__ = ["cdf", "logpdf", "pdf"]
