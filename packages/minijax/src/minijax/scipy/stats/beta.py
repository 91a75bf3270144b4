"""The beta distribution with the exponents `a - 1` and `b - 1`.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import betainc, betaln, xlog1py, xlogy
from minijax.scipy.stats.distribution_functions import exp_of, log_of, of_reals


@of_reals
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.beta.logpdf(0.25, 2.0, 3.0):.3f}"
    '0.523'
    """
    y = (x - loc) / scale
    logs = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - jnp.log(scale)
    out = jnp.where((x > loc + scale) | (x < loc), -math.inf, logs)
    return jnp.where((a <= 0) | (b <= 0) | (scale <= 0), math.nan, out)


@exp_of(logpdf)
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.beta.pdf(0.25, 2.0, 3.0):.3f}"
    '1.688'
    """


@of_reals
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.beta.cdf(0.25, 2.0, 3.0):.3f}"
    '0.262'
    """
    return betainc(a, b, lax.clamp(0.0, (x - loc) / scale, 1.0))


@log_of(cdf)
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.beta.logcdf(0.25, 2.0, 3.0):.3f}"
    '-1.340'
    """


@of_reals
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.beta.sf(0.25, 2.0, 3.0):.3f}"
    '0.738'
    """
    return betainc(b, a, 1 - lax.clamp(0.0, (x - loc) / scale, 1.0))


@log_of(sf)
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.beta.logsf(0.25, 2.0, 3.0):.3f}"
    '-0.303'
    """


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
