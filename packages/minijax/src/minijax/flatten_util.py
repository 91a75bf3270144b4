"""A pytree of arrays as one vector, and back."""

# ruff: noqa: F403
from minijax.numpy.ravel_pytree import *
