"""The decompositions of matrices as the library calls them: integers and booleans become floats.

Users get them from `minijax.lax.linalg`, where most reject these.
"""

# ruff: noqa: F403
from minijax.lax.linalg.cholesky import *
from minijax.lax.linalg.eigen import *
from minijax.lax.linalg.householder import *
from minijax.lax.linalg.lu import *
from minijax.lax.linalg.qdwh import *
from minijax.lax.linalg.qr import *
from minijax.lax.linalg.svd import *
from minijax.lax.linalg.triangular_solve import *
from minijax.lax.linalg.tridiagonal_solve import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
