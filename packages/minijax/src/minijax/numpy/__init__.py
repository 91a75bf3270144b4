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
    from minijax.numpy import fft as fft
    from minijax.numpy import linalg as linalg
    from minijax.numpy.convolution import *
    from minijax.numpy.creation import *
    from minijax.numpy.cumulative import *
    from minijax.numpy.differences import *
    from minijax.numpy.dtypes import *
    from minijax.numpy.einsum import *
    from minijax.numpy.files import *
    from minijax.numpy.grids import *
    from minijax.numpy.histograms import *
    from minijax.numpy.indexing.insert_delete import *
    from minijax.numpy.indexing.take import *
    from minijax.numpy.indexing.where import *
    from minijax.numpy.interpolation import *
    from minijax.numpy.joining import *
    from minijax.numpy.math.arithmetic import *
    from minijax.numpy.math.bits import *
    from minijax.numpy.math.clip import *
    from minijax.numpy.math.comparisons import *
    from minijax.numpy.math.complex_numbers import *
    from minijax.numpy.math.floating_point import *
    from minijax.numpy.math.transcendental import *
    from minijax.numpy.math.ufuncs import *
    from minijax.numpy.namespace_info import __array_namespace_info__ as __array_namespace_info__
    from minijax.numpy.nan_reductions import *
    from minijax.numpy.padding import *
    from minijax.numpy.polynomials import *
    from minijax.numpy.products import *
    from minijax.numpy.quantiles import *
    from minijax.numpy.ranges import *
    from minijax.numpy.rearranging import *
    from minijax.numpy.reductions import *
    from minijax.numpy.scalar_types import *
    from minijax.numpy.sets import *
    from minijax.numpy.shapes import *
    from minijax.numpy.sorting import *
    from minijax.numpy.splitting import *
    from minijax.numpy.statistics import *
    from minijax.numpy.triangles import *
    from minijax.numpy.vectorize import *
    from minijax.numpy.window_functions import *
    from minijax.runtime.dlpack import from_dlpack as from_dlpack

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
