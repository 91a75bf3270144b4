"""The Cauchy distribution, wrapped around the circle from 0 to 2 pi."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The logarithm of the density at `x`; `c` lies between 0 and 1.

    >>> f"{minijax.scipy.stats.wrapcauchy.logpdf(0.5, 0.3):.3f}"
    '-1.359'
    """
    logs = jnp.log(1 - c * c) - math.log(2 * math.pi) - jnp.log(1 + c * c - 2 * c * jnp.cos(x))
    inside = jnp.where((x >= 0) & (x <= 2 * math.pi), logs, -math.inf)
    return jnp.where((c > 0) & (c < 1), inside, math.nan)


@exp_of(logpdf)
def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.wrapcauchy.pdf(0.5, 0.3):.3f}"
    '0.257'
    """


__all__ = ["logpdf", "pdf"]
