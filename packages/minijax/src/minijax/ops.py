"""Reductions of segments: elements that belong together, as an array of numbers says."""

# ruff: noqa: F401, F403
from minijax.numpy.segments import *
from minijax.numpy.segments import __all__
