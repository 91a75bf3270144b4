"""Reductions of segments: elements with the same segment id."""

# ruff: noqa: F403
from minijax.numpy.segments import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
