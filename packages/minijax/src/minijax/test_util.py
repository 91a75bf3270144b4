"""Derivatives compared with differences of values."""

# ruff: noqa: F403
from minijax.checks.derivatives import *
from minijax.settings.public_names import gathered_names as _gathered_names

__all__ = _gathered_names(globals())
