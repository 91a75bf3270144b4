"""Pytrees, by the names of `jax.tree_util`."""

# ruff: noqa: F401, F403
from minijax.pytrees.tree_util import *
from minijax.pytrees.tree_util import __all__
