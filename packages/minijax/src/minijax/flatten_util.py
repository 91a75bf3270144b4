"""A pytree of arrays as one vector, and back."""

# ruff: noqa: F403
from minijax.numpy.ravel_pytree import *
from minijax.settings.public_names import gathered_names as _gathered_names

__all__ = _gathered_names(globals())
