"""Linear algebra, under the names of `scipy.linalg`.

`overwrite_a` and the like, and `check_finite`, make no difference: Arrays are immutable, and input
that is not finite gives NaN.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.scipy.linalg.decompositions import *
    from minijax.scipy.linalg.matrices import *

_lazy_facade(globals())
