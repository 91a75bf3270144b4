"""The von Mises distribution of angles, with concentration `kappa`."""

import math
from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.scipy.stats.distribution_functions import exp_of, of_reals


@of_reals
def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.vonmises.logpdf(0.5, 2.0):.3f}"
    '-0.907'
    """
    logs = kappa * (jnp.cos(x) - 1) - jnp.log(2 * math.pi * lax.bessel_i0e(kappa))
    return jnp.where(kappa > 0, logs, math.nan)


@exp_of(logpdf)
def pdf(x: Any, kappa: Any) -> Any:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.vonmises.pdf(0.5, 2.0):.3f}"
    '0.404'
    """


__all__ = ["logpdf", "pdf"]
