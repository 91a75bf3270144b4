"""Exported functions, under the names of `jax.export`."""

# ruff: noqa: F403
from minijax.export.exported import *
from minijax.settings.names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
