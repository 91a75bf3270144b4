"""The geometric distribution: how many coins of probability `p` it takes to show 1."""

import math
from typing import Any

from minijax import numpy as jnp
from minijax.numpy.math.operands import real_arrays
from minijax.runtime.operation import operation
from minijax.scipy.special import xlog1py
from minijax.settings.promotion import require_meeting
from minijax.settings.public_names import set_all


@operation
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of `k`.

    >>> f"{minijax.scipy.stats.geom.logpmf(3, 0.4):.3f}"
    '-1.938'
    """
    k, p, loc = real_arrays("geom.logpmf", k, p, loc)
    x = k - loc
    return jnp.where(x <= 0, -math.inf, xlog1py(x - 1, -p) + jnp.log(p))


@operation
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of `k`.

    >>> f"{minijax.scipy.stats.geom.pmf(3, 0.4):.3f}"
    '0.144'
    """
    require_meeting(k, p, loc)
    return jnp.exp(logpmf(k, p, loc))


set_all(globals())
