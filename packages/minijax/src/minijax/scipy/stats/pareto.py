"""The Pareto distribution, whose density falls as the power `b + 1`.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.pareto.logpdf(2.0, 3.0):.3f}"
    '-1.674'
    """
    logs = -(jnp.log(scale / b) + (b + 1) * jnp.log((x - loc) / scale))
    return jnp.where(x < loc + scale, -math.inf, logs)


@exp_of(logpdf)
def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.pareto.pdf(2.0, 3.0):.3f}"
    '0.188'
    """


@of_reals
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.pareto.cdf(2.0, 3.0):.3f}"
    '0.875'
    """
    return jnp.where(x < loc + scale, 0, 1 - lax.pow((x - loc) / scale, -b))


@of_reals
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.pareto.logcdf(2.0, 3.0):.3f}"
    '-0.134'
    """
    return jnp.where(x < loc + scale, -math.inf, jnp.log1p(-lax.pow((x - loc) / scale, -b)))


@of_reals
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.pareto.logsf(2.0, 3.0):.3f}"
    '-2.079'
    """
    return jnp.where(x < loc + scale, 0, -(b * jnp.log((x - loc) / scale)))


@exp_of(logsf)
def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.pareto.sf(2.0, 3.0):.3f}"
    '0.125'
    """


@of_reals
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is not exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.pareto.ppf(0.25, 3.0):.3f}"
    '1.101'
    """
    return jnp.where((q >= 0) & (q <= 1), loc + scale * lax.pow(1 - q, -(1 / b)), math.nan)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
