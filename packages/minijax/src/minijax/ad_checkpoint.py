"""`checkpoint`: a function of which reverse mode keeps little, and computes the rest once more."""

# ruff: noqa: F403
from minijax.transforms.checkpoint import *
