"""Distributions of vectors."""

import math

from glassjax import numpy as jnp
from glassjax.lax import linalg
from glassjax.numpy.dtypes import to_common_dtype
from glassjax.numpy.products import promote_dtypes
from glassjax.numpy.transcendental import real_arrays
from glassjax.runtime.array import to_array
from glassjax.scipy.special import gammaln, xlogy
from glassjax.scipy.stats.distribution_functions import module
from glassjax.settings.number_types import require_no_promotion, require_promotable
from glassjax_stage2 import typeof
from glassjax_stage2.promotion import to_inexact

__all__ = ["dirichlet", "multinomial", "multivariate_normal"]


@module("logpdf", "pdf")
def dirichlet():
    """The Dirichlet distribution of vectors of positive numbers whose sum is 1."""

    def logpdf(x, alpha):
        """The logarithm of the density at `x`.

        Arguments:
            x: vectors along the first axis; their last number may be left out.
            alpha: the concentrations, a vector.

        Raises:
            ValueError: the sizes of `x` and `alpha` do not match.

        >>> x, alpha = jnp.array([0.2, 0.8]), jnp.array([1.0, 3.0])
        >>> f"{glassjax.scipy.stats.dirichlet.logpdf(x, alpha):.3f}"
        '0.652'
        """
        x, alpha = (to_array(to_inexact(operand)) for operand in promote_dtypes(x, alpha))
        if typeof(alpha).ndim != 1:
            raise ValueError(f"dirichlet: alpha must be one-dimensional, found {typeof(alpha)}")
        if not typeof(x).ndim:
            raise ValueError(
                f"dirichlet: x must be a vector, or vectors along the first axis, found {typeof(x)}"
            )
        size, found = typeof(alpha).shape[0], typeof(x).shape[0]
        if found not in (size, size - 1):
            raise ValueError(
                "dirichlet: x must have as many entries as alpha along its first axis, or one "
                f"fewer, found {typeof(x)} for {typeof(alpha)}"
            )
        if found != size:
            x = jnp.concatenate([x, 1 - x.sum(0, keepdims=True)])
        log_normaliser = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
        alpha = jnp.reshape(alpha, (-1, *[1] * (typeof(x).ndim - 1)))
        logs = jnp.sum(xlogy(alpha - 1, x), axis=0) - log_normaliser
        is_simplex = jnp.all(x > 0, axis=0) & (jnp.abs(jnp.sum(x, axis=0) - 1) < 1e-6)
        return jnp.where(is_simplex, logs, -math.inf)

    def pdf(x, alpha):
        """The density at `x`.

        >>> x, alpha = jnp.array([0.2, 0.8]), jnp.array([1.0, 3.0])
        >>> f"{glassjax.scipy.stats.dirichlet.pdf(x, alpha):.3f}"
        '1.920'
        """
        require_no_promotion(x, alpha)
        return jnp.exp(logpdf(x, alpha))

    return logpdf, pdf


@module("logpmf", "pmf")
def multinomial():
    """The multinomial distribution: the counts of several outcomes in `n` trials."""

    def logpmf(x, n, p):
        """The logarithm of the probability of `x`.

        Arguments:
            x: the count of each outcome, integers along the last axis.
            n: the number of trials, an integer.
            p: the probabilities of the outcomes.

        Raises:
            ValueError: `x` and `n` are not integers, or `x` is a scalar.

        >>> x, p = jnp.array([1, 2]), jnp.array([0.4, 0.6])
        >>> f"{glassjax.scipy.stats.multinomial.logpmf(x, 3, p):.3f}"
        '-0.839'
        """
        (p,) = real_arrays("multinomial.logpmf", p)
        if not typeof(x).ndim:
            raise ValueError(f"multinomial: x must have an axis, of the faces, found {typeof(x)}")
        require_promotable(x, n)
        x, n = map(to_array, to_common_dtype(x, n))
        if typeof(x).dtype.kind not in "iu":
            raise ValueError(f"multinomial: x and n must be integers, found {typeof(x)}")
        x, n = x.astype(typeof(p).dtype), n.astype(typeof(p).dtype)
        logs = gammaln(n + 1) + jnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
        return jnp.where(jnp.sum(x, axis=-1) == n, logs, -math.inf)

    def pmf(x, n, p):
        """The probability of `x`.

        >>> x, p = jnp.array([1, 2]), jnp.array([0.4, 0.6])
        >>> f"{glassjax.scipy.stats.multinomial.pmf(x, 3, p):.3f}"
        '0.432'
        """
        return jnp.exp(logpmf(x, n, p))

    return logpmf, pmf


@module("logpdf", "pdf")
def multivariate_normal():
    """The normal distribution of vectors."""

    def logpdf(x, mean, cov, allow_singular=None):
        """The logarithm of the density at `x`.

        Arguments:
            x: vectors along the last axis.
            mean: their mean; a scalar, if `x` are scalars.
            cov: the covariance, a matrix or matrices; or a scalar, the variance in all directions.
            allow_singular: must be None.

        Raises:
            ValueError: `cov` does not match `mean`.

        >>> x, mean, cov = jnp.zeros(2), jnp.zeros(2), jnp.eye(2)
        >>> f"{glassjax.scipy.stats.multivariate_normal.logpdf(x, mean, cov):.3f}"
        '-1.838'
        """
        if allow_singular is not None:
            raise NotImplementedError("multivariate_normal.logpdf: allow_singular must be None")
        x, mean, cov = (to_array(to_inexact(operand)) for operand in promote_dtypes(x, mean, cov))
        log_of_turn = math.log(2 * math.pi)
        if not typeof(mean).shape:
            return -0.5 * jnp.square(x - mean) / cov - 0.5 * (log_of_turn + jnp.log(cov))
        n = typeof(mean).shape[-1]
        y = x - mean
        if not typeof(cov).shape:
            return -0.5 * jnp.sum(y * y, -1) / cov - n / 2 * (log_of_turn + jnp.log(cov))
        if typeof(cov).shape[-2:] != (n, n):
            raise ValueError(
                "multivariate_normal.logpdf got incompatible shapes: cov must be matrices of "
                f"shape {(n, n)} for a mean of {typeof(mean)}, found {typeof(cov)}"
            )
        factor = linalg.cholesky(cov)
        lead = jnp.broadcast_shapes(typeof(y).shape[:-1], typeof(cov).shape[:-2])
        y = jnp.broadcast_to(y, (*lead, n))[..., None]
        y = linalg.triangular_solve(
            jnp.broadcast_to(factor, (*lead, n, n)), y, left_side=True, lower=True
        )
        logs = jnp.log(jnp.diagonal(factor, axis1=-1, axis2=-2)).sum(-1)
        return -0.5 * jnp.sum(y * y, (-2, -1)) - n / 2 * log_of_turn - logs

    def pdf(x, mean, cov):
        """The density at `x`.

        >>> x, mean, cov = jnp.zeros(2), jnp.zeros(2), jnp.eye(2)
        >>> f"{glassjax.scipy.stats.multivariate_normal.pdf(x, mean, cov):.3f}"
        '0.159'
        """
        return jnp.exp(logpdf(x, mean, cov))

    return logpdf, pdf
