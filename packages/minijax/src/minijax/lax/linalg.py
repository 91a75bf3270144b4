"""The decompositions of matrices, with the names of `jax.lax.linalg`."""

# ruff: noqa: F403
from minijax.lax import eigen, triangular
from minijax.lax import lu as lu_module
from minijax.lax import qr as qr_module
from minijax.lax import svd as svd_module
from minijax.lax.eigen import *
from minijax.lax.lu import *
from minijax.lax.qr import *
from minijax.lax.svd import *
from minijax.lax.triangular import *

__all__ = [
    *eigen.__all__,
    *lu_module.__all__,
    *qr_module.__all__,
    *svd_module.__all__,
    *triangular.__all__,
]
