"""The logistic distribution.

In each function `loc` moves the distribution and `scale` stretches it.
"""

from typing import Any

from minijax import numpy as jnp
from minijax.numpy.math.operands import real_arrays
from minijax.runtime.operation import operation
from minijax.scipy.special import expit, logit
from minijax.settings.promotion import require_meeting
from minijax.settings.public_names import set_all


@operation
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.logistic.logpdf(1.0):.3f}"
    '-1.627'
    """
    x, loc, scale = real_arrays("logistic.logpdf", x, loc, scale)
    half = (x - loc) / scale / 2
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


@operation
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.logistic.pdf(1.0):.3f}"
    '0.197'
    """
    require_meeting(x, loc, scale)
    return jnp.exp(logpdf(x, loc, scale))


@operation
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.logistic.cdf(1.0):.3f}"
    '0.731'
    """
    x, loc, scale = real_arrays("logistic.cdf", x, loc, scale)
    return expit((x - loc) / scale)


@operation
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.logistic.sf(1.0):.3f}"
    '0.269'
    """
    x, loc, scale = real_arrays("logistic.sf", x, loc, scale)
    return expit(-((x - loc) / scale))


@operation
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The number that is not exceeded with probability `x`.

    >>> f"{minijax.scipy.stats.logistic.ppf(0.25):.3f}"
    '-1.099'
    """
    x, loc, scale = real_arrays("logistic.ppf", x, loc, scale)
    return logit(x) * scale + loc


@operation
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The number that is exceeded with probability `x`.

    >>> f"{minijax.scipy.stats.logistic.isf(0.25):.3f}"
    '1.099'
    """
    x, loc, scale = real_arrays("logistic.isf", x, loc, scale)
    return -logit(x) * scale + loc


set_all(globals())
