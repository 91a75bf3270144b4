"""The decompositions of matrices, with the names of `jax.lax.linalg`."""

# ruff: noqa: F403
import minijax.lax.eigen as eigen
import minijax.lax.lu as lu_module
import minijax.lax.qr as qr_module
import minijax.lax.svd as svd_module
import minijax.lax.triangular as triangular
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
