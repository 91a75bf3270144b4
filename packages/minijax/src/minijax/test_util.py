"""Derivatives compared with differences of values."""

# ruff: noqa: F401, F403
from minijax.checks.derivatives import *
from minijax.checks.derivatives import __all__
