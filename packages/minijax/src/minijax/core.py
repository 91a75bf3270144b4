"""Extending the library: primitives, traces, types, jaxprs, and tables of rules."""

# ruff: noqa: F403
from minijax.primitives.extending import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
