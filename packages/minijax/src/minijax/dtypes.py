"""Dtypes: their kinds and promotion, under the names of `jax.dtypes`."""

# ruff: noqa: F403
from minijax.runtime.dtypes import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
