"""The beta-binomial distribution: `n` trials with a beta-distributed probability."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import betaln
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`.

    >>> f"{minijax.scipy.stats.betabinom.logpmf(2, 5, 2.0, 3.0):.3f}"
    '-1.435'
    """
    y = jnp.floor(k) - loc
    ways = -(jnp.log1p(n) + betaln(n - y + 1, y + 1))
    out = ways + (betaln(y + a, n - y + b) - betaln(a, b))
    out = jnp.where((y == 0) & (n == 0), 0, out)
    out = jnp.where((y < -loc) | (y > n) | (y + a <= 0), -math.inf, out)
    return jnp.where((n < 0) | (a <= 0) | (b <= 0), math.nan, out)


@exp_of(logpmf)
def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.betabinom.pmf(2, 5, 2.0, 3.0):.3f}"
    '0.238'
    """


__all__ = ["logpmf", "pmf"]
