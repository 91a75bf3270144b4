"""The decompositions of matrices as the library calls them: integers and booleans become floats.

Users get them from `minijax.lax.linalg`, which refuses these, but for some.
"""

# ruff: noqa: F403
import minijax.lax.eigen as eigen
import minijax.lax.lu as lu_module
import minijax.lax.qr as qr_module
import minijax.lax.reflections as reflections
import minijax.lax.svd as svd_module
import minijax.lax.triangular as triangular
import minijax.lax.tridiagonal_solve as tridiagonal_module
import minijax.lax.updates as updates
from minijax.lax.eigen import *
from minijax.lax.lu import *
from minijax.lax.qr import *
from minijax.lax.reflections import *
from minijax.lax.svd import *
from minijax.lax.triangular import *
from minijax.lax.tridiagonal_solve import *
from minijax.lax.updates import *

__all__ = [
    *eigen.__all__,
    *lu_module.__all__,
    *qr_module.__all__,
    *reflections.__all__,
    *svd_module.__all__,
    *triangular.__all__,
    *tridiagonal_module.__all__,
    *updates.__all__,
]
