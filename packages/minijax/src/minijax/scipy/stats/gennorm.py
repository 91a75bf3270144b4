"""The generalized normal distribution, whose density falls as `exp(-abs(x) ** beta)`."""

from __future__ import annotations

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.gennorm.logpdf(1.0, 3.0):.3f}"
    '-1.580'
    """
    return jnp.log(0.5 * beta) - lax.lgamma(1 / beta) - jnp.abs(x) ** beta


@exp_of(logpdf)
def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.gennorm.pdf(1.0, 3.0):.3f}"
    '0.206'
    """


@of_reals
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.gennorm.cdf(1.0, 3.0):.3f}"
    '0.952'
    """
    return 0.5 * (1 + lax.sign(x) * lax.igamma(1 / beta, jnp.abs(x) ** beta))


__all__ = ["cdf", "logpdf", "pdf"]
