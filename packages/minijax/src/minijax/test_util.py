"""Derivatives compared with differences of values."""

# ruff: noqa: F403
from minijax.checks.derivatives import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
