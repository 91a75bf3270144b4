"""Random vectors and matrices, by linear algebra on normal numbers."""

from __future__ import annotations

from typing import Any

from minijax import numpy as jnp
from minijax.lax.shapes.creation import sizes_of
from minijax.random.arguments import Shape, broadcast_sizes, float_dtype
from minijax.random.keys import single_key
from minijax.random.normal import normal, normal_numbers
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import result_type
from minijax_stage2 import typeof
from minijax_stage2.promotion import cast, to_inexact

METHODS = ("cholesky", "eigh", "svd")


@operation(static=("shape", "dtype", "method", "out_sharding"))
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the normal distribution with this mean and covariance.

    Arguments:
        key: the key.
        mean: a vector of `n` numbers, or an array of vectors along its last axis.
        cov: a matrix of `n` rows and columns, positive definite, or an array of matrices.
        shape: the shape of the result without its last axis; by default the broadcast shape of the
            leading axes of `mean` and `cov`.
        dtype: a real dtype, in which to draw the normal numbers; by default that of `mean` and
            `cov`.
        method: "cholesky", "eigh" or "svd": the method for the root of `cov`. The last two accept
            positive semidefinite matrices.

    Raises:
        ValueError: the shapes do not match, or `method` or `dtype` is invalid.

    >>> cov = jnp.array([[1.0, 0.9], [0.9, 1.0]])
    >>> x = random.multivariate_normal(random.key(0), jnp.zeros(2), cov, (1000,))
    >>> x.shape, f"{jnp.corrcoef(x.T)[0, 1]:.1f}"
    ((1000, 2), '0.9')
    """
    caller = "multivariate_normal"
    key = single_key(caller, key)
    meeting = result_type(typeof(mean), typeof(cov))
    mean, cov = (to_inexact(cast(x, meeting)) for x in (mean, cov))
    dtype = float_dtype(caller, typeof(mean).dtype if dtype is None else dtype)
    if method not in METHODS:
        raise ValueError(f"{caller}: method must be one of {METHODS}, found {method!r}")
    of_mean, of_cov = typeof(mean).shape, typeof(cov).shape
    if not of_mean or of_cov[-2:] != (of_mean[-1],) * 2:
        raise ValueError(
            f"{caller}: mean must have shape (..., n) and cov (..., n, n), found {of_mean} and "
            f"{of_cov}"
        )
    lead = broadcast_sizes(caller, shape, of_mean[:-1], of_cov[:-2])
    numbers = normal_numbers(key, (*lead, of_mean[-1]), dtype)
    return jnp.add(mean, jnp.einsum("...ij,...j->...i", _root(cov, method), numbers))


def _root(cov: Any, method: str) -> Any:
    """A matrix that times its transpose is `cov`."""
    if method == "cholesky":
        return jnp.linalg.cholesky(cov)
    if method == "eigh":
        variances, directions = jnp.linalg.eigh(cov)
    else:
        directions, variances, _ = jnp.linalg.svd(cov)
    return jnp.multiply(directions, jnp.expand_dims(jnp.sqrt(variances), -2))


@operation(static=("n", "shape", "dtype", "m", "out_sharding"))
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Orthogonal or unitary matrices of `n` rows and `m` columns, uniformly distributed.

    (F. Mezzadri, "How to generate random matrices from the classical compact groups", 2007.)

    Arguments:
        key: the key.
        n: the number of rows.
        shape: the shape of the result without its last two axes.
        dtype: a dtype of real or complex numbers; the default float if not given.
        m: the number of columns; `n` by default. Rows or columns are orthonormal, whichever are
            fewer.

    >>> q = random.orthogonal(random.key(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
    True
    """
    columns = n if m is None else m
    longer, shorter = max(n, columns), min(n, columns)
    numbers = normal(key, (*sizes_of("orthogonal", shape), longer, shorter), dtype)
    q, r = jnp.linalg.qr(numbers)
    # Which of the many decompositions this is must not depend on how it was computed.
    signs = jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1))
    q = jnp.multiply(q, jnp.expand_dims(signs, -2))
    return jnp.swapaxes(q, -1, -2) if n < columns else q


__all__ = ["multivariate_normal", "orthogonal"]
