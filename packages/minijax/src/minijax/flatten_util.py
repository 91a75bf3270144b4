"""A pytree of arrays as one vector, and back."""

from minijax.numpy.ravel_pytree import ravel_pytree

__all__ = [
    "ravel_pytree",
]
