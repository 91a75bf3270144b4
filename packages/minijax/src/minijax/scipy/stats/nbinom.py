"""The negative binomial distribution: the number of failures before `n` successes."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import gammaln, xlogy
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`, with success probability `p`.

    >>> f"{minijax.scipy.stats.nbinom.logpmf(2, 3, 0.4):.3f}"
    '-1.979'
    """
    y = k - loc
    ways = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    return jnp.where(k < loc, -math.inf, ways + (xlogy(n, p) + xlogy(y, 1 - p)))


@exp_of(logpmf)
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.nbinom.pmf(2, 3, 0.4):.3f}"
    '0.138'
    """


__all__ = ["logpmf", "pmf"]
