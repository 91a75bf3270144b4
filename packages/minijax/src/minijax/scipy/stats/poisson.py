"""Poisson's distribution with mean `mu`."""

from __future__ import annotations

import math
from typing import Any

from minijax import numpy as jnp
from minijax.numpy.transcendental import inexact_arrays
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.special import gammaincc, gammaln, xlogy
from minijax.scipy.stats.distribution_functions import exp_of, of_reals
from minijax_stage2 import typeof


@of_reals
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`.

    >>> f"{minijax.scipy.stats.poisson.logpmf(2, 3.0):.3f}"
    '-1.496'
    """
    x = k - loc
    logs = xlogy(x, mu) - gammaln(x + 1) - mu
    return jnp.where((x < 0) | (jnp.round(k) != k), -math.inf, logs)


@exp_of(logpmf)
def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.poisson.pmf(2, 3.0):.3f}"
    '0.224'
    """


@of_reals
def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of numbers up to `k`.

    >>> f"{minijax.scipy.stats.poisson.cdf(2, 3.0):.3f}"
    '0.423'
    """
    x = k - loc
    return jnp.where(x < 0, 0, gammaincc(jnp.floor(1 + x), mu))


def _entropy_of_terms(mu: Any, most: int, last: Any) -> Any:
    """The sum over all numbers below `last`, at most `most`."""
    k = jnp.arange(most, dtype=typeof(mu).dtype)
    k = jnp.reshape(k, (-1, *[1] * typeof(mu).ndim))
    logs = logpmf(k, mu)  # the derivative of `entr` where `pmf` is 0 is infinite
    return jnp.sum(jnp.where(k < last, -jnp.exp(logs) * logs, 0), axis=0)


@operation
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The entropy: a sum over the likely numbers, or a series if these are too many.

    It is NaN where `mu` is negative.

    >>> f"{minijax.scipy.stats.poisson.entropy(3.0):.3f}"
    '1.931'
    """
    mu, loc = inexact_arrays(mu, loc)
    shape = jnp.broadcast_shapes(typeof(mu).shape, typeof(loc).shape)
    # Where a formula does not count it gets a number for which it has a derivative.
    small = jnp.where((mu > 0) & (mu < 10), mu, 1)
    few = _entropy_of_terms(small, 35, jnp.ceil(small + 20))
    medium = jnp.where((mu > 0) & (mu < 100), mu, 1)
    more = _entropy_of_terms(medium, 250, jnp.ceil(medium + 10 * jnp.sqrt(medium) + 20))
    large = jnp.where(mu == 0, 1, mu)
    many = 0.5 * jnp.log(2 * math.pi * math.e * large) - 1 / (12 * large)
    out = jnp.where(mu < 10, few, jnp.where(mu < 100, more, many))
    out = jnp.where(mu < 0, math.nan, jnp.where(mu == 0, 0, out))
    return jnp.broadcast_to(out, shape)


__all__ = ["cdf", "entropy", "logpmf", "pmf"]
