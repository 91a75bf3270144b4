"""The von Mises distribution of angles, with concentration `kappa`."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.vonmises.logpdf(0.5, 2.0):.3f}"
    '-0.907'
    """
    logs = kappa * (jnp.cos(x) - 1) - jnp.log(2 * math.pi * lax.bessel_i0e(kappa))
    return jnp.where(kappa > 0, logs, math.nan)


@exp_of(logpdf)
def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.vonmises.pdf(0.5, 2.0):.3f}"
    '0.404'
    """


__all__ = ["logpdf", "pdf"]
