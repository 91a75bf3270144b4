"""A pytree of arrays as one vector, and back."""

# ruff: noqa: F401, F403
from minijax.numpy.ravel_pytree import *
from minijax.numpy.ravel_pytree import __all__
