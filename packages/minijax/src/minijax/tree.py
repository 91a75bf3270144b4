"""Pytrees, by the short names of `jax.tree`."""

# ruff: noqa: F401, F403
from minijax.pytrees.tree import *
from minijax.pytrees.tree import __all__
