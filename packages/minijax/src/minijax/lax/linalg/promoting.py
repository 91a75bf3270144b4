"""The decompositions of matrices as the library calls them: integers and booleans become floats.

Users get them from `minijax.lax.linalg`, where most reject these.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.lax.linalg.eigen import *
    from minijax.lax.linalg.factorizations import *
    from minijax.lax.linalg.solve import *

_lazy_facade(globals())
