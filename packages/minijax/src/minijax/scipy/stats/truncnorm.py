"""The normal distribution, truncated to `a` to `b` standard deviations.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math
from typing import Any

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import log_ndtr, logsumexp, ndtr
from minijax.scipy.stats.distribution_functions import exp_of, of_reals
from minijax.scipy.stats.norm import logpdf as logpdf_of_normal
from minijax_stage2 import typeof


def _log_difference(x: Any, y: Any) -> Any:
    """`log(exp(x) - exp(y))`."""
    signs = jnp.stack([jnp.ones_like(x), -jnp.ones_like(y)])
    return logsumexp(jnp.stack([x, y]), b=signs, axis=0)


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability of numbers between `a` and `b`, taken in the left tail."""
    a, b = jnp.broadcast_arrays(a, b)
    is_right = a > 0
    is_central = ~((b <= 0) | is_right)
    left, right = jnp.where(is_right, -b, a), jnp.where(is_right, -a, b)
    tail = _log_difference(log_ndtr(right), log_ndtr(left))
    return jnp.where(is_central, jnp.log1p(-ndtr(a) - ndtr(-b)), tail)


@of_reals
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.truncnorm.logpdf(0.5, -1.0, 2.0):.3f}"
    '-0.844'
    """
    out = logpdf_of_normal(x, loc, scale) - _log_mass(a, b)
    distance = (x - loc) / scale
    out = jnp.where((distance < a) | (distance > b), -math.inf, out)
    return jnp.where(a >= b, math.nan, out)


@exp_of(logpdf)
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.truncnorm.pdf(0.5, -1.0, 2.0):.3f}"
    '0.430'
    """


@of_reals
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.truncnorm.logcdf(0.5, -1.0, 2.0):.3f}"
    '-0.429'
    """
    x, a, b = jnp.broadcast_arrays(x, a, b)
    x = (x - loc) / scale
    a, b = (jnp.broadcast_to(end, typeof(x).shape) for end in (a, b))
    whole = _log_mass(a, b)
    below, above = _log_mass(a, x) - whole, _log_mass(x, b) - whole
    # Near 1 the probability of what lies above is the more exact one.
    conditions = [x >= b, x <= a, below > -0.1, x > a]
    out = jnp.select(conditions, [0, -math.inf, jnp.log1p(-jnp.exp(above)), below])
    return jnp.where(a >= b, math.nan, out)


@exp_of(logcdf)
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.truncnorm.cdf(0.5, -1.0, 2.0):.3f}"
    '0.651'
    """


@of_reals
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.truncnorm.logsf(0.5, -1.0, 2.0):.3f}"
    '-1.052'
    """
    return logcdf(-x, -b, -a, -loc, scale)


@exp_of(logsf)
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.truncnorm.sf(0.5, -1.0, 2.0):.3f}"
    '0.349'
    """


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
