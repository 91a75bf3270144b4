"""The exponential distribution.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

import math
from typing import Any

from minijax import numpy as jnp
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.expon.logpdf(1.0):.3f}"
    '-1.000'
    """
    return jnp.where(x < loc, -math.inf, -((x - loc) / scale + jnp.log(scale)))


@exp_of(logpdf)
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.expon.pdf(1.0):.3f}"
    '0.368'
    """


@of_reals
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.expon.cdf(1.0):.3f}"
    '0.632'
    """
    return jnp.where(x < loc, 0, -jnp.expm1((loc - x) / scale))


@of_reals
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.expon.logcdf(1.0):.3f}"
    '-0.459'
    """
    return jnp.log1p(-sf(x, loc, scale))


@of_reals
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.expon.logsf(1.0):.3f}"
    '-1.000'
    """
    return jnp.where(x < loc, 0, (loc - x) / scale)


@exp_of(logsf)
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.expon.sf(1.0):.3f}"
    '0.368'
    """


@of_reals
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The number that is not exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.expon.ppf(0.25):.3f}"
    '0.288'
    """
    return jnp.where((q >= 0) & (q <= 1), loc - scale * jnp.log1p(-q), math.nan)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
