"""Pytrees, by the short names of `jax.tree`."""

# ruff: noqa: F403
from minijax.pytrees.tree import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
