"""Sparse linear algebra, under the names of `jax.scipy.sparse`."""

from glassjax.scipy.sparse import linalg

__all__ = [
    "linalg",
]
