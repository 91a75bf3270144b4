"""Poisson's distribution with mean `mu`."""

import math
from typing import Any

from minijax import numpy as jnp
from minijax.numpy.math.operands import inexact_arrays
from minijax.runtime.operation import operation
from minijax.scipy.special import entr, gammaincc, gammaln, xlogy
from minijax.scipy.stats.distribution_functions import exp_of, of_reals
from minijax_stage2 import typeof


@of_reals
def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of `k`.

    >>> f"{minijax.scipy.stats.poisson.logpmf(2, 3.0):.3f}"
    '-1.496'
    """
    x = k - loc
    logs = xlogy(x, mu) - gammaln(x + 1) - mu
    return jnp.where((x < 0) | (jnp.round(k) != k), -math.inf, logs)


@exp_of(logpmf)
def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.poisson.pmf(2, 3.0):.3f}"
    '0.224'
    """


@of_reals
def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of numbers up to `k`.

    >>> f"{minijax.scipy.stats.poisson.cdf(2, 3.0):.3f}"
    '0.423'
    """
    x = k - loc
    return jnp.where(x < 0, 0, gammaincc(jnp.floor(1 + x), mu))


def _entropy_of_terms(mu: Any, most: int, last: Any) -> Any:
    """The sum over all numbers below `last`, which is at most `most`."""
    k = jnp.arange(most, dtype=typeof(mu).dtype)
    k = jnp.reshape(k, (-1, *[1] * typeof(mu).ndim))
    return jnp.sum(entr(jnp.where(k < last, pmf(k, mu), 0)), axis=0)


@operation
def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy, a sum over the likely numbers, or a series where these are too many.

    >>> f"{minijax.scipy.stats.poisson.entropy(3.0):.3f}"
    '1.931'
    """
    mu, loc = inexact_arrays(mu, loc)
    shape = jnp.broadcast_shapes(typeof(mu).shape, typeof(loc).shape)
    few = _entropy_of_terms(mu, 35, jnp.ceil(mu + 20))
    more = _entropy_of_terms(mu, 250, jnp.ceil(mu + 10 * jnp.sqrt(mu) + 20))
    many = 0.5 * jnp.log(2 * math.pi * math.e * mu) - 1 / (12 * mu)
    out = jnp.where(mu < 10, few, jnp.where(mu < 100, more, many))
    return jnp.broadcast_to(jnp.where(mu == 0, 0, out), shape)


__all__ = ["cdf", "entropy", "logpmf", "pmf"]
