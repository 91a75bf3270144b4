"""The multinomial distribution: the counts of several outcomes in `n` trials."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.numpy.dtypes import of_one_dtype
from minijax.numpy.transcendental import real_arrays
from minijax.runtime.array import Array, ArrayLike, to_array
from minijax.runtime.operation import operation
from minijax.scipy.special import gammaln, xlogy
from minijax.settings.number_types import require_meeting
from minijax_stage2 import typeof


@operation
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The logarithm of the probability of `x`.

    Arguments:
        x: the count of each outcome, integers along the last axis.
        n: the number of trials, an integer.
        p: the probabilities of the outcomes.

    Raises:
        ValueError: `x` and `n` are not integers, or `x` is a scalar.

    >>> f"{minijax.scipy.stats.multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.4, 0.6])):.3f}"
    '-0.839'
    """
    (p,) = real_arrays("multinomial.logpmf", p)
    if not typeof(x).ndim:
        raise ValueError(f"multinomial: x must have an axis, of the faces, found {typeof(x)}")
    require_meeting(x, n)
    x, n = map(to_array, of_one_dtype(x, n))
    if typeof(x).dtype.kind not in "iu":
        raise ValueError(f"multinomial: x and n must be integers, found {typeof(x)}")
    x, n = x.astype(typeof(p).dtype), n.astype(typeof(p).dtype)
    logs = gammaln(n + 1) + jnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return jnp.where(jnp.sum(x, axis=-1) == n, logs, -math.inf)


@operation
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of `x`.

    >>> f"{minijax.scipy.stats.multinomial.pmf(jnp.array([1, 2]), 3, jnp.array([0.4, 0.6])):.3f}"
    '0.432'
    """
    return jnp.exp(logpmf(x, n, p))


__all__ = ["logpmf", "pmf"]
