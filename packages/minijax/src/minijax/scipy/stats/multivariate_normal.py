"""The normal distribution of vectors."""

from __future__ import annotations

import math

from minijax import numpy as jnp
from minijax.lax.linalg import promoting as decompositions
from minijax.numpy.products import meet
from minijax.runtime.array import Array, ArrayLike, to_array
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.promotion import to_inexact


@operation(static="allow_singular")
def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """The logarithm of the density at `x`.

    Arguments:
        x: vectors along the last axis.
        mean: their mean; a scalar, if `x` are scalars.
        cov: the covariance, a matrix or matrices; or a scalar, the variance in all directions.
        allow_singular: must be None.

    Raises:
        ValueError: `cov` does not match `mean`.

    >>> x, mean, cov = jnp.zeros(2), jnp.zeros(2), jnp.eye(2)
    >>> f"{minijax.scipy.stats.multivariate_normal.logpdf(x, mean, cov):.3f}"
    '-1.838'
    """
    if allow_singular is not None:
        raise NotImplementedError("multivariate_normal.logpdf: allow_singular must be None")
    x, mean, cov = (to_array(to_inexact(operand)) for operand in meet(x, mean, cov))
    log_of_turn = math.log(2 * math.pi)
    if not typeof(mean).shape:
        return -0.5 * jnp.square(x - mean) / cov - 0.5 * (log_of_turn + jnp.log(cov))
    n = typeof(mean).shape[-1]
    y = x - mean
    if not typeof(cov).shape:
        return -0.5 * jnp.sum(y * y, -1) / cov - n / 2 * (log_of_turn + jnp.log(cov))
    if typeof(cov).shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal.logpdf got incompatible shapes: cov must be matrices of shape "
            f"{(n, n)} for a mean of {typeof(mean)}, found {typeof(cov)}"
        )
    factor = decompositions.cholesky(cov)
    lead = jnp.broadcast_shapes(typeof(y).shape[:-1], typeof(cov).shape[:-2])
    y = jnp.broadcast_to(y, (*lead, n))[..., None]
    y = decompositions.triangular_solve(
        jnp.broadcast_to(factor, (*lead, n, n)), y, left_side=True, lower=True
    )
    logs = jnp.log(jnp.diagonal(factor, axis1=-1, axis2=-2)).sum(-1)
    return -0.5 * jnp.sum(y * y, (-2, -1)) - n / 2 * log_of_turn - logs


@operation
def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """The density at `x`.

    >>> x, mean, cov = jnp.zeros(2), jnp.zeros(2), jnp.eye(2)
    >>> f"{minijax.scipy.stats.multivariate_normal.pdf(x, mean, cov):.3f}"
    '0.159'
    """
    return jnp.exp(logpdf(x, mean, cov))


__all__ = ["logpdf", "pdf"]
