"""Dtypes: their kinds, and their promotion; by the names of `jax.dtypes`."""

# ruff: noqa: F403
from minijax.runtime.dtypes import *
from minijax.settings.public_names import gathered_names as _gathered_names

__all__ = _gathered_names(globals())
