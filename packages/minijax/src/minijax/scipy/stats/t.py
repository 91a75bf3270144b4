"""Student's t distribution with `df` degrees of freedom.

In each function `loc` shifts the distribution and `scale` stretches it.
"""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.t.logpdf(1.0, 4.0):.3f}"
    '-1.539'
    """
    distance = (x - loc) / scale
    half = df / 2
    log_normaliser = jnp.log(scale * scale * math.pi * df) / 2
    log_normaliser = lax.lgamma(half) + log_normaliser - lax.lgamma(half + 0.5)
    return -(log_normaliser + (half + 0.5) * jnp.log1p(distance * distance / df))


@exp_of(logpdf)
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.t.pdf(1.0, 4.0):.3f}"
    '0.215'
    """


__all__ = ["logpdf", "pdf"]
