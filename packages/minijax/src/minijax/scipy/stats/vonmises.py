"""Von Mises' distribution of angles, with concentration `kappa`."""

import math
from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.numpy.math.operands import real_arrays
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_meeting
from minijax.settings.public_names import set_all


@operation
def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.vonmises.logpdf(0.5, 2.0):.3f}"
    '-0.907'
    """
    x, kappa = real_arrays("vonmises.logpdf", x, kappa)
    logs = kappa * (jnp.cos(x) - 1) - jnp.log(2 * math.pi * lax.bessel_i0e(kappa))
    return jnp.where(kappa > 0, logs, math.nan)


@operation
def pdf(x: Any, kappa: Any) -> Any:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.vonmises.pdf(0.5, 2.0):.3f}"
    '0.404'
    """
    require_meeting(x, kappa)
    return jnp.exp(logpdf(x, kappa))


set_all(globals())
