"""The binomial distribution: the number of successes in `n` trials with probability `p`."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import gammaln, xlog1py, xlogy
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`.

    >>> f"{minijax.scipy.stats.binom.logpmf(2, 5, 0.4):.3f}"
    '-1.062'
    """
    y = k - loc
    ways = gammaln(n + 1) - (gammaln(y + 1) + gammaln(n - y + 1))
    logs = xlogy(y, p) + xlog1py(n - y, -p)
    is_sure = ((y == 0) & (n == 0)) | (logs == 0)
    out = jnp.where(is_sure, 0, ways + logs)
    return jnp.where((k >= loc) & (k < loc + n + 1), out, -math.inf)


@exp_of(logpmf)
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.binom.pmf(2, 5, 0.4):.3f}"
    '0.346'
    """


__all__ = ["logpmf", "pmf"]
