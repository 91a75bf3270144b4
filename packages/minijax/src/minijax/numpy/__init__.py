"""numpy's functions for Arrays, under every transformation; import it as `jnp`.

Each function takes Arrays, numpy arrays, Python numbers and tracers, and answers in Arrays.
Names, argument names and defaults are those of `jax.numpy`.
"""

# ruff: noqa: F403
import numpy as np

from minijax.array import Array as ndarray
from minijax.dlpack import from_dlpack
from minijax.numpy import (
    convolution,
    creation,
    cumulative,
    dtypes,
    elementwise,
    manipulation,
    nan_reductions,
    products,
    reductions,
    scalar_types,
    sorting,
)
from minijax.numpy import einsum as einsum_module
from minijax.numpy.convolution import *
from minijax.numpy.creation import *
from minijax.numpy.cumulative import *
from minijax.numpy.dtypes import *
from minijax.numpy.einsum import *
from minijax.numpy.elementwise import *
from minijax.numpy.manipulation import *
from minijax.numpy.nan_reductions import *
from minijax.numpy.products import *
from minijax.numpy.reductions import *
from minijax.numpy.scalar_types import *
from minijax.numpy.sorting import *

e = np.e
pi = np.pi
inf = np.inf
nan = np.nan

__all__ = [
    "e",
    "from_dlpack",
    "inf",
    "nan",
    "ndarray",
    "pi",
    *convolution.__all__,
    *creation.__all__,
    *cumulative.__all__,
    *dtypes.__all__,
    *einsum_module.__all__,
    *elementwise.__all__,
    *manipulation.__all__,
    *nan_reductions.__all__,
    *products.__all__,
    *reductions.__all__,
    *scalar_types.__all__,
    *sorting.__all__,
]
