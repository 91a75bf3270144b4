"""Extending the library: primitives, traces, types, jaxprs, and tables of rules."""

# ruff: noqa: F403
from minijax.primitives.extending import *
from minijax.settings.public_names import gathered_names as _gathered_names

__all__ = _gathered_names(globals())
