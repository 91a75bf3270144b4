"""The geometric distribution: the number of trials with probability `p` until the first success."""

import math
from typing import Any

from minijax import numpy as jnp
from minijax.scipy.special import xlog1py
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of `k`.

    >>> f"{minijax.scipy.stats.geom.logpmf(3, 0.4):.3f}"
    '-1.938'
    """
    x = k - loc
    return jnp.where(x <= 0, -math.inf, xlog1py(x - 1, -p) + jnp.log(p))


@exp_of(logpmf)
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.geom.pmf(3, 0.4):.3f}"
    '0.144'
    """


__all__ = ["logpmf", "pmf"]
