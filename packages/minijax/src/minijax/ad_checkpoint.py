"""`checkpoint`: a function of which reverse mode keeps little, and computes the rest once more."""

# ruff: noqa: F403
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade
from minijax.transforms.checkpoint import *

_set_all_of_facade(globals())
