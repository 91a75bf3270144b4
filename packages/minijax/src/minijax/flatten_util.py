"""A pytree of arrays as one vector, and back."""

# ruff: noqa: F403
from minijax.numpy.ravel_pytree import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
