"""`checkpoint`: reverse mode that keeps few residuals and recomputes the rest."""

# ruff: noqa: F403
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade
from minijax.transforms.checkpoint import *

_set_all_of_facade(globals())
