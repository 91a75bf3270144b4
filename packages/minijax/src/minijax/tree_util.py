"""Pytrees, by the names of `jax.tree_util`."""

# ruff: noqa: F403
from minijax.pytrees.tree_util import *
