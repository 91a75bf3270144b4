"""The uniform distribution from `loc` to `loc + scale`."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.uniform.logpdf(0.5, 0.0, 4.0):.3f}"
    '-1.386'
    """
    inside = jnp.where(jnp.isnan(x), math.nan, -jnp.log(scale))
    return jnp.where((x > loc + scale) | (x < loc), -math.inf, inside)


@exp_of(logpdf)
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.uniform.pdf(0.5, 0.0, 4.0):.3f}"
    '0.250'
    """


@of_reals
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.uniform.cdf(0.5, 0.0, 4.0):.3f}"
    '0.125'
    """
    return jnp.minimum(jnp.maximum((x - loc) / scale, 0), 1)


@of_reals
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is not exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.uniform.ppf(0.25, 0.0, 4.0):.3f}"
    '1.000'
    """
    return jnp.where((q >= 0) & (q <= 1), loc + scale * q, math.nan)


__all__ = ["cdf", "logpdf", "pdf", "ppf"]
