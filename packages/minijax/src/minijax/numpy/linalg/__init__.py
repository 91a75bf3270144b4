"""Linear algebra, with the names of `numpy.linalg`."""

# ruff: noqa: F403
from minijax.numpy.linalg.decompositions import *
from minijax.numpy.linalg.norms import *
from minijax.numpy.linalg.products import *
from minijax.numpy.linalg.solve import *
from minijax.runtime.public_names import public_names as _public_names

__all__ = _public_names(globals())
