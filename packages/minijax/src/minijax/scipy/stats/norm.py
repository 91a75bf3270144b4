"""The normal distribution.

In each function `loc` is the mean and `scale` the standard deviation.
"""

from __future__ import annotations

import math
from typing import Any

from minijax.dtypes import promote_types
from minijax.lax import promoting as lax
from minijax.numpy.dtypes import default_float
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.special import log_ndtr, ndtr, ndtri
from minijax.scipy.stats.distribution_functions import exp_of
from minijax.settings.number_types import promote
from minijax_stage2 import typeof


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    """Standardize `x`: its distance from the mean in standard deviations."""
    x, loc, scale = promote(x, loc, scale, inexact=True)
    return lax.div(lax.sub(x, loc), scale)


@operation
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.norm.logpdf(1.0):.3f}"
    '-1.419'
    """
    x, loc, scale = promote(x, loc, scale, inexact=True)
    variance = lax.square(scale)
    log_normaliser = lax.log(lax.mul(2 * math.pi, variance))
    quadratic = lax.div(lax.square(lax.sub(x, loc)), variance)
    return lax.div(lax.add(log_normaliser, quadratic), -2.0)


@exp_of(logpdf)
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.norm.pdf(1.0):.3f}"
    '0.242'
    """


@operation
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.norm.cdf(1.0):.3f}"
    '0.841'
    """
    return ndtr(_standard(x, loc, scale))


@operation
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate even where that is nearly 0.

    >>> f"{minijax.scipy.stats.norm.logcdf(1.0):.3f}"
    '-0.173'
    """
    return log_ndtr(_standard(x, loc, scale))


@operation
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.norm.sf(1.0):.3f}"
    '0.159'
    """
    return ndtr(lax.neg(_standard(x, loc, scale)))


@operation
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`, accurate even where that is nearly 0.

    >>> f"{minijax.scipy.stats.norm.logsf(1.0):.3f}"
    '-1.841'
    """
    return log_ndtr(lax.neg(_standard(x, loc, scale)))


@operation
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is not exceeded with probability `q`, of the default dtype at least.

    >>> f"{minijax.scipy.stats.norm.ppf(0.25):.3f}"
    '-0.674'
    """
    q, loc, scale = promote(q, loc, scale, inexact=True)
    out = lax.add(lax.mul(ndtri(q), scale), loc)
    return lax.convert_element_type(out, promote_types(typeof(out).dtype, default_float()))


@operation
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number that is exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.norm.isf(0.25):.3f}"
    '0.674'
    """
    q, loc, scale = promote(q, loc, scale, inexact=True)
    return ppf(lax.sub(1.0, q), loc, scale)


__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
