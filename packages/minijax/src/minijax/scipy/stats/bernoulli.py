"""The Bernoulli distribution: 1 with probability `p`, else 0."""

from __future__ import annotations

import math
from typing import Any

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import xlog1py, xlogy
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


def _is_probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


@of_reals
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`.

    >>> f"{minijax.scipy.stats.bernoulli.logpmf(1, 0.3):.3f}"
    '-1.204'
    """
    x = k - loc
    return jnp.where((x < 0) | (x > 1), -math.inf, xlogy(x, p) + xlog1py(1 - x, -p))


@exp_of(logpmf)
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.bernoulli.pmf(1, 0.3):.3f}"
    '0.300'
    """


@of_reals
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """The probability of numbers up to `k`.

    >>> f"{minijax.scipy.stats.bernoulli.cdf(1, 0.3):.3f}"
    '1.000'
    """
    is_bad = jnp.isnan(k) | ~_is_probability(p)
    return jnp.where(is_bad, math.nan, jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1)))


@of_reals
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """The smallest number that is not exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.bernoulli.ppf(0.25, 0.3):.3f}"
    '0.000'
    """
    out = jnp.where(q <= 1 - p, jnp.zeros_like(q), 1)
    return jnp.where(_is_probability(p) & _is_probability(q), out, math.nan)


__all__ = ["cdf", "logpmf", "pmf", "ppf"]
