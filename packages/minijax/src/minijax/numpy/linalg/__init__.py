"""Linear algebra, with the names of `numpy.linalg`."""

# ruff: noqa: F403
from minijax.numpy.linalg.decompositions import *
from minijax.numpy.linalg.norms import *
from minijax.numpy.linalg.products import *
from minijax.numpy.linalg.solve import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
