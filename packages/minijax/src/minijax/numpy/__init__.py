"""numpy's functions for Arrays, under every transformation; import it as `jnp`.

Each function takes Arrays, numpy arrays, Python numbers and tracers, and answers in Arrays.
Names, argument names and defaults are those of `jax.numpy`.
"""

# ruff: noqa: F403
import numpy as np

from minijax.array import Array as ndarray
from minijax.dlpack import from_dlpack
from minijax.numpy import (
    applying,
    arithmetic,
    bits,
    choice,
    comparisons,
    complex_numbers,
    convolution,
    creation,
    cumulative,
    differences,
    distinct,
    dtypes,
    fft,
    files,
    floating_point,
    grids,
    histograms,
    inserting,
    interpolation,
    joining,
    linalg,
    manipulation,
    nan_reductions,
    padding,
    polynomial_roots,
    polynomials,
    positions,
    products,
    quantiles,
    ranges,
    rearranging,
    reductions,
    scalar_types,
    selection,
    sets,
    sorting,
    splitting,
    statistics,
    taking,
    transcendental,
    triangles,
    ufuncs,
    universal,
    window_functions,
)
from minijax.numpy import einsum as einsum_module
from minijax.numpy.applying import *
from minijax.numpy.arithmetic import *
from minijax.numpy.bits import *
from minijax.numpy.choice import *
from minijax.numpy.comparisons import *
from minijax.numpy.complex_numbers import *
from minijax.numpy.convolution import *
from minijax.numpy.creation import *
from minijax.numpy.cumulative import *
from minijax.numpy.differences import *
from minijax.numpy.distinct import *
from minijax.numpy.dtypes import *
from minijax.numpy.einsum import *
from minijax.numpy.files import *
from minijax.numpy.floating_point import *
from minijax.numpy.grids import *
from minijax.numpy.histograms import *
from minijax.numpy.inserting import *
from minijax.numpy.interpolation import *
from minijax.numpy.joining import *
from minijax.numpy.manipulation import *
from minijax.numpy.nan_reductions import *
from minijax.numpy.padding import *
from minijax.numpy.polynomial_roots import *
from minijax.numpy.polynomials import *
from minijax.numpy.positions import *
from minijax.numpy.products import *
from minijax.numpy.quantiles import *
from minijax.numpy.ranges import *
from minijax.numpy.rearranging import *
from minijax.numpy.reductions import *
from minijax.numpy.scalar_types import *
from minijax.numpy.selection import *
from minijax.numpy.sets import *
from minijax.numpy.sorting import *
from minijax.numpy.splitting import *
from minijax.numpy.statistics import *
from minijax.numpy.taking import *
from minijax.numpy.transcendental import *
from minijax.numpy.triangles import *
from minijax.numpy.ufuncs import *
from minijax.numpy.universal import *
from minijax.numpy.window_functions import *

e = np.e
pi = np.pi
euler_gamma = np.euler_gamma
inf = np.inf
nan = np.nan
newaxis = None
ComplexWarning = np.exceptions.ComplexWarning

__all__ = [
    "ComplexWarning",
    "e",
    "euler_gamma",
    "fft",
    "from_dlpack",
    "inf",
    "linalg",
    "nan",
    "ndarray",
    "newaxis",
    "pi",
    *applying.__all__,
    *arithmetic.__all__,
    *bits.__all__,
    *choice.__all__,
    *comparisons.__all__,
    *complex_numbers.__all__,
    *convolution.__all__,
    *creation.__all__,
    *cumulative.__all__,
    *differences.__all__,
    *distinct.__all__,
    *dtypes.__all__,
    *einsum_module.__all__,
    *files.__all__,
    *floating_point.__all__,
    *grids.__all__,
    *histograms.__all__,
    *inserting.__all__,
    *interpolation.__all__,
    *joining.__all__,
    *manipulation.__all__,
    *nan_reductions.__all__,
    *padding.__all__,
    *polynomial_roots.__all__,
    *polynomials.__all__,
    *positions.__all__,
    *products.__all__,
    *quantiles.__all__,
    *ranges.__all__,
    *rearranging.__all__,
    *reductions.__all__,
    *scalar_types.__all__,
    *selection.__all__,
    *sets.__all__,
    *sorting.__all__,
    *splitting.__all__,
    *statistics.__all__,
    *taking.__all__,
    *transcendental.__all__,
    *triangles.__all__,
    *universal.__all__,
    *ufuncs.__all__,
    *window_functions.__all__,
]
