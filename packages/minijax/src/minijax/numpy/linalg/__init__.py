"""Linear algebra, with the names of `numpy.linalg`."""

# ruff: noqa: F403
from minijax.numpy.linalg.decompositions import *
from minijax.numpy.linalg.norms import *
from minijax.numpy.linalg.products import *
from minijax.numpy.linalg.solve import *
from minijax.settings.public_names import gathered_names as _gathered_names

__all__ = _gathered_names(globals())
