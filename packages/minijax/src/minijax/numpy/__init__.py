"""numpy's functions for Arrays, under every transformation; import it as `jnp`.

Each function takes Arrays, numpy arrays, Python numbers and tracers, and answers in Arrays.
Names, argument names and defaults are those of `jax.numpy`.
"""

# ruff: noqa: F403
import numpy as np

from minijax.array import Array as ndarray
from minijax.dlpack import from_dlpack
from minijax.numpy import (
    arithmetic,
    bits,
    choice,
    comparisons,
    complex_numbers,
    creation,
    cumulative,
    dtypes,
    floating_point,
    manipulation,
    nan_reductions,
    products,
    reductions,
    scalar_types,
    transcendental,
)
from minijax.numpy.arithmetic import *
from minijax.numpy.bits import *
from minijax.numpy.choice import *
from minijax.numpy.comparisons import *
from minijax.numpy.complex_numbers import *
from minijax.numpy.creation import *
from minijax.numpy.cumulative import *
from minijax.numpy.dtypes import *
from minijax.numpy.floating_point import *
from minijax.numpy.manipulation import *
from minijax.numpy.nan_reductions import *
from minijax.numpy.products import *
from minijax.numpy.reductions import *
from minijax.numpy.scalar_types import *
from minijax.numpy.transcendental import *

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
    *creation.__all__,
    *cumulative.__all__,
    *dtypes.__all__,
    *arithmetic.__all__,
    *bits.__all__,
    *choice.__all__,
    *comparisons.__all__,
    *complex_numbers.__all__,
    *floating_point.__all__,
    *transcendental.__all__,
    *manipulation.__all__,
    *nan_reductions.__all__,
    *products.__all__,
    *reductions.__all__,
    *scalar_types.__all__,
]
