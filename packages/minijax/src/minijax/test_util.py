"""Derivatives compared with differences of values."""

# ruff: noqa: F403
from minijax.checks.derivatives import *
