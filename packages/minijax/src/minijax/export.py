"""Exporting compiled functions: to be called in another process, without their Python.

By the names of `jax.export`. What is exported is a StableHLO module in the form that other
versions of XLA read, with the names, types and structures of arguments and results.
"""

# ruff: noqa: F403
from minijax.exporting.export import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
