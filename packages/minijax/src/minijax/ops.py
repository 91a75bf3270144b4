"""Reductions of segments: elements that belong together, as an array of numbers says."""

# ruff: noqa: F403
from minijax.numpy.segments import *
from minijax.settings.public_names import gathered_names as _gathered_names

__all__ = _gathered_names(globals())
