"""The decompositions of matrices as the library calls them: integers and booleans become floats.

Users get them from `minijax.lax.linalg`, which refuses these, but for some.
"""

# ruff: noqa: F403
import minijax.lax.linalg.cholesky as triangular
import minijax.lax.linalg.cholesky as updates
import minijax.lax.linalg.eigen as eigen
import minijax.lax.linalg.householder as reflections
import minijax.lax.linalg.lu as lu_module
import minijax.lax.linalg.qr as qr_module
import minijax.lax.linalg.svd as svd_module
import minijax.lax.linalg.tridiagonal_solve as tridiagonal_module
from minijax.lax.linalg.cholesky import *
from minijax.lax.linalg.eigen import *
from minijax.lax.linalg.householder import *
from minijax.lax.linalg.lu import *
from minijax.lax.linalg.qr import *
from minijax.lax.linalg.svd import *
from minijax.lax.linalg.tridiagonal_solve import *

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
