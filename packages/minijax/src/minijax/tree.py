"""Pytrees, by the short names of `jax.tree`."""

# ruff: noqa: F403
from minijax.pytrees.tree import *
