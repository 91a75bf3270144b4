"""Reductions of segments: elements that belong together, as an array of numbers says."""

# ruff: noqa: F403
from minijax.numpy.segments import *
