"""The decompositions of matrices, with the names of `jax.lax.linalg`."""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

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
from minijax.lax.primitives import primitive_named as _primitive_named
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

if not _TYPE_CHECKING:  # for which a module with this function has every attribute

    def __getattr__(name: str) -> _Any:
        """The primitives of the functions here, by their names and `_p`: `cholesky_p`."""
        return _primitive_named(__name__, name, among=__all__)
