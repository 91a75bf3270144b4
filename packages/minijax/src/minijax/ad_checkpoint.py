"""`checkpoint`: a function of which reverse mode keeps little, and computes the rest once more."""

# ruff: noqa: F401, F403
from minijax.transforms.checkpoint import *
from minijax.transforms.checkpoint import __all__
