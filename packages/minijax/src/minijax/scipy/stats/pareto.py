"""Pareto's distribution, which falls as the power `b + 1`.

In each function `loc` moves the distribution and `scale` stretches it.
"""

import math
from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.numpy.math.operands import real_arrays
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_meeting
from minijax.settings.public_names import set_all


@operation
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at `x`.

    >>> f"{minijax.scipy.stats.pareto.logpdf(2.0, 3.0):.3f}"
    '-1.674'
    """
    x, b, loc, scale = real_arrays("pareto.logpdf", x, b, loc, scale)
    logs = -(jnp.log(scale / b) + (b + 1) * jnp.log((x - loc) / scale))
    return jnp.where(x < loc + scale, -math.inf, logs)


@operation
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.pareto.pdf(2.0, 3.0):.3f}"
    '0.188'
    """
    require_meeting(x, b, loc, scale)
    return jnp.exp(logpdf(x, b, loc, scale))


@operation
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers up to `x`.

    >>> f"{minijax.scipy.stats.pareto.cdf(2.0, 3.0):.3f}"
    '0.875'
    """
    x, b, loc, scale = real_arrays("pareto.cdf", x, b, loc, scale)
    return jnp.where(x < loc + scale, 0, 1 - lax.pow((x - loc) / scale, -b))


@operation
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `cdf`.

    >>> f"{minijax.scipy.stats.pareto.logcdf(2.0, 3.0):.3f}"
    '-0.134'
    """
    x, b, loc, scale = real_arrays("pareto.logcdf", x, b, loc, scale)
    return jnp.where(x < loc + scale, -math.inf, jnp.log1p(-lax.pow((x - loc) / scale, -b)))


@operation
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of numbers above `x`.

    >>> f"{minijax.scipy.stats.pareto.sf(2.0, 3.0):.3f}"
    '0.125'
    """
    require_meeting(x, b, loc, scale)
    return jnp.exp(logsf(x, b, loc, scale))


@operation
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `sf`.

    >>> f"{minijax.scipy.stats.pareto.logsf(2.0, 3.0):.3f}"
    '-2.079'
    """
    x, b, loc, scale = real_arrays("pareto.logsf", x, b, loc, scale)
    return jnp.where(x < loc + scale, 0, -(b * jnp.log((x - loc) / scale)))


@operation
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The number that is not exceeded with probability `q`.

    >>> f"{minijax.scipy.stats.pareto.ppf(0.25, 3.0):.3f}"
    '1.101'
    """
    q, b, loc, scale = real_arrays("pareto.ppf", q, b, loc, scale)
    return jnp.where((q >= 0) & (q <= 1), loc + scale * lax.pow(1 - q, -(1 / b)), math.nan)


set_all(globals())
