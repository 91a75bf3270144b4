"""The primitives, as functions with the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and answers in Arrays. Operands of
different dtypes and shapes meet by the rules of promotion, where JAX's own `lax` refuses them.
"""

# ruff: noqa: F403
from minijax.lax import (
    applying,
    complex_numbers,
    control,
    conv_dimensions,
    convolution,
    convolutions,
    dynamic_slicing,
    elementwise,
    gathering,
    linalg,
    precision,
    products,
    reductions,
    scattering,
    slicing,
    structural,
)
from minijax.lax.applying import *
from minijax.lax.complex_numbers import *
from minijax.lax.control import *
from minijax.lax.conv_dimensions import *
from minijax.lax.convolution import *
from minijax.lax.convolutions import *
from minijax.lax.dynamic_slicing import *
from minijax.lax.elementwise import *
from minijax.lax.gathering import *
from minijax.lax.precision import *
from minijax.lax.products import *
from minijax.lax.reductions import *
from minijax.lax.scattering import *
from minijax.lax.slicing import *
from minijax.lax.structural import *

__all__ = [
    *applying.__all__,
    *complex_numbers.__all__,
    *control.__all__,
    *conv_dimensions.__all__,
    *convolution.__all__,
    *convolutions.__all__,
    *dynamic_slicing.__all__,
    *elementwise.__all__,
    *gathering.__all__,
    "linalg",
    *precision.__all__,
    *products.__all__,
    *reductions.__all__,
    *scattering.__all__,
    *slicing.__all__,
    *structural.__all__,
]
