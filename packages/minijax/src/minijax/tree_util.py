"""Pytrees, by the names of `jax.tree_util`."""

# ruff: noqa: F403
from minijax.pytrees.tree_util import *
from minijax.settings.public_names import gathered_names as _gathered_names

__all__ = _gathered_names(globals())
