"""Dtypes: their kinds, and their promotion; by the names of `jax.dtypes`."""

# ruff: noqa: F401, F403
from minijax.runtime.dtypes import *
from minijax.runtime.dtypes import __all__
