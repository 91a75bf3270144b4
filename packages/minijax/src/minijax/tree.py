"""Pytrees, by the short names of `jax.tree`."""

# ruff: noqa: F403
from minijax.pytrees.tree import *
from minijax.settings.public_names import gathered_names as _gathered_names

__all__ = _gathered_names(globals())
