"""The generalised normal distribution, which falls as `exp(-abs(x) ** beta)`."""

from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.numpy.math.operands import real_arrays
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_meeting
from minijax.settings.public_names import set_all


@operation
def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.gennorm.logpdf(1.0, 3.0):.3f}"
    '-1.580'
    """
    x, beta = real_arrays("gennorm.logpdf", x, beta)
    return jnp.log(0.5 * beta) - lax.lgamma(1 / beta) - jnp.abs(x) ** beta


@operation
def pdf(x: Any, beta: Any) -> Any:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.gennorm.pdf(1.0, 3.0):.3f}"
    '0.206'
    """
    require_meeting(x, beta)
    return jnp.exp(logpdf(x, beta))


@operation
def cdf(x: Any, beta: Any) -> Any:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.gennorm.cdf(1.0, 3.0):.3f}"
    '0.952'
    """
    x, beta = real_arrays("gennorm.cdf", x, beta)
    return 0.5 * (1 + lax.sign(x) * lax.igamma(1 / beta, jnp.abs(x) ** beta))


set_all(globals())
