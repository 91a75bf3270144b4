"""Trees as vectors."""

from minijax.flatten_util import ravel_pytree

__all__ = ["ravel_pytree"]
