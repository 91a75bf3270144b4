"""The geometric distribution: the number of trials with probability `p` until the first success."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.special import xlog1py
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`.

    >>> f"{minijax.scipy.stats.geom.logpmf(3, 0.4):.3f}"
    '-1.938'
    """
    x = k - loc
    return jnp.where(x <= 0, -math.inf, xlog1py(x - 1, -p) + jnp.log(p))


@exp_of(logpmf)
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.geom.pmf(3, 0.4):.3f}"
    '0.144'
    """


__all__ = ["logpmf", "pmf"]
