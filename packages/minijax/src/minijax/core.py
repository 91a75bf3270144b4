"""Extending the library: primitives, traces, types, jaxprs, and tables of rules."""

# ruff: noqa: F401, F403
from minijax.primitives.extending import *
from minijax.primitives.extending import __all__
