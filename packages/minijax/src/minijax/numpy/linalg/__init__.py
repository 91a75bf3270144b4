"""Linear algebra, with the names of `numpy.linalg`."""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.numpy.linalg.decompositions import *
    from minijax.numpy.linalg.norms import *
    from minijax.numpy.linalg.products import *
    from minijax.numpy.linalg.solve import *

_lazy_facade(globals())
