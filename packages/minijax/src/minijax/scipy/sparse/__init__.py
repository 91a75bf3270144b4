"""Sparse linear algebra, under the names of `jax.scipy.sparse`."""

from minijax.scipy.sparse import linalg

__all__ = [
    "linalg",
]
