"""The Dirichlet distribution of vectors of positive numbers whose sum is 1."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.numpy.products import meet
from minijax.runtime.array import Array, ArrayLike, to_array
from minijax.runtime.operation import operation
from minijax.scipy.special import gammaln, xlogy
from minijax.settings.number_types import require_one_dtype
from minijax_stage2 import typeof
from minijax_stage2.promotion import to_inexact


@operation
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The logarithm of the density at `x`.

    Arguments:
        x: vectors along the first axis; their last number may be left out.
        alpha: the concentrations, a vector.

    Raises:
        ValueError: the sizes of `x` and `alpha` do not match.

    >>> f"{minijax.scipy.stats.dirichlet.logpdf(jnp.array([0.2, 0.8]), jnp.array([1.0, 3.0])):.3f}"
    '0.652'
    """
    x, alpha = (to_array(to_inexact(operand)) for operand in meet(x, alpha))
    if typeof(alpha).ndim != 1:
        raise ValueError(f"dirichlet: alpha must be one-dimensional, found {typeof(alpha)}")
    if not typeof(x).ndim:
        raise ValueError(
            f"dirichlet: x must be a vector, or vectors along the first axis, found {typeof(x)}"
        )
    size, found = typeof(alpha).shape[0], typeof(x).shape[0]
    if found not in (size, size - 1):
        raise ValueError(
            "dirichlet: x must have as many entries as alpha along its first axis, or one fewer, "
            f"found {typeof(x)} for {typeof(alpha)}"
        )
    if found != size:
        x = jnp.concatenate([x, 1 - x.sum(0, keepdims=True)])
    log_normaliser = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    alpha = jnp.reshape(alpha, (-1, *[1] * (typeof(x).ndim - 1)))
    logs = jnp.sum(xlogy(alpha - 1, x), axis=0) - log_normaliser
    is_simplex = jnp.all(x > 0, axis=0) & (jnp.abs(jnp.sum(x, axis=0) - 1) < 1e-6)
    return jnp.where(is_simplex, logs, -math.inf)


@operation
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density at `x`.

    >>> f"{minijax.scipy.stats.dirichlet.pdf(jnp.array([0.2, 0.8]), jnp.array([1.0, 3.0])):.3f}"
    '1.920'
    """
    require_one_dtype(x, alpha)
    return jnp.exp(logpdf(x, alpha))


__all__ = ["logpdf", "pdf"]
