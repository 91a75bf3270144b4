"""numpy's functions for Arrays, under every transformation; import it as `jnp`.

Each function takes Arrays, numpy arrays, Python numbers and tracers, and returns Arrays. Names,
argument names and defaults are those of `jax.numpy`.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

import numpy as _np

from minijax.runtime.array import Array as _Array
from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.dlpack import from_dlpack as from_dlpack
    from minijax.numpy import fft as fft
    from minijax.numpy import linalg as linalg
    from minijax.numpy.creation import *
    from minijax.numpy.differences import *
    from minijax.numpy.dtypes import *
    from minijax.numpy.einsum import *
    from minijax.numpy.elementwise import *
    from minijax.numpy.floating_point import *
    from minijax.numpy.grids import *
    from minijax.numpy.namespace_info import __array_namespace_info__ as __array_namespace_info__
    from minijax.numpy.padding import *
    from minijax.numpy.polynomials import *
    from minijax.numpy.products import *
    from minijax.numpy.rearranging import *
    from minijax.numpy.reductions import *
    from minijax.numpy.scalar_types import *
    from minijax.numpy.selection import *
    from minijax.numpy.sets import *
    from minijax.numpy.shapes import *
    from minijax.numpy.sorting import *
    from minijax.numpy.statistics import *
    from minijax.numpy.taking import *
    from minijax.numpy.transcendental import *
    from minijax.numpy.ufuncs import *
    from minijax.numpy.vectorize import *

ndarray = _Array

e = _np.e
pi = _np.pi
euler_gamma = _np.euler_gamma
inf = _np.inf
nan = _np.nan
newaxis = None
__array_api_version__ = "2025.12"
ComplexWarning = _np.exceptions.ComplexWarning

_lazy_facade(globals())
