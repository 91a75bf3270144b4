"""`checkpoint`: a function of which reverse mode keeps little, and computes the rest once more."""

# ruff: noqa: F403
from minijax.settings.public_names import gathered_names as _gathered_names
from minijax.transforms.checkpoint import *

__all__ = _gathered_names(globals())
