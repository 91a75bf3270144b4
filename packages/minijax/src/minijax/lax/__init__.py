"""The primitives, as functions with the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and answers in Arrays. Operands of
different dtypes and shapes meet by the rules of promotion, where JAX's own `lax` refuses them.
"""

# ruff: noqa: F401, F403
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from minijax.lax import (
    applying,
    barriers,
    bits,
    broadcasting,
    choice,
    complex_numbers,
    composites,
    control,
    conv_dimensions,
    convolution,
    convolutions,
    cumulative,
    dynamic_in_dim,
    dynamic_slicing,
    elementwise,
    exchanges,
    gathering,
    generators,
    generic_reductions,
    incomplete_beta,
    incomplete_gamma,
    index_taking,
    linalg,
    linear_solve,
    parallel,
    placement,
    precision,
    products,
    ragged,
    rearranging,
    reductions,
    roots,
    rounding,
    scattering,
    scatters,
    shapes,
    slicing,
    sorting,
    special,
    structural,
    transcendental,
    window_gradients,
    windows,
)
from minijax.lax import fft as fft_module
from minijax.lax import scan_reverse as _scan_reverse
from minijax.lax import scan_rules as _scan_rules
from minijax.lax import while_rules as _while_rules
from minijax.lax import window_gradients as _window_gradients
from minijax.lax.applying import *
from minijax.lax.barriers import *
from minijax.lax.bits import *
from minijax.lax.broadcasting import *
from minijax.lax.choice import *
from minijax.lax.complex_numbers import *
from minijax.lax.composites import *
from minijax.lax.conditionals import cond, switch
from minijax.lax.control import *
from minijax.lax.conv_dimensions import *
from minijax.lax.convolution import *
from minijax.lax.convolutions import *
from minijax.lax.cumulative import *
from minijax.lax.dynamic_in_dim import *
from minijax.lax.dynamic_slicing import *
from minijax.lax.elementwise import *
from minijax.lax.exchanges import *
from minijax.lax.fft import *
from minijax.lax.gathering import *
from minijax.lax.generators import *
from minijax.lax.generic_reductions import *
from minijax.lax.incomplete_beta import *
from minijax.lax.incomplete_gamma import *
from minijax.lax.index_taking import *
from minijax.lax.linear_solve import *
from minijax.lax.parallel import *
from minijax.lax.placement import *
from minijax.lax.precision import *
from minijax.lax.primitives import primitive_named as _primitive_named
from minijax.lax.products import *
from minijax.lax.ragged import *
from minijax.lax.rearranging import *
from minijax.lax.reductions import *
from minijax.lax.roots import *
from minijax.lax.rounding import *
from minijax.lax.scan import fori_loop, map, scan
from minijax.lax.scattering import *
from minijax.lax.scatters import *
from minijax.lax.shapes import *
from minijax.lax.slicing import *
from minijax.lax.sorting import *
from minijax.lax.special import *
from minijax.lax.structural import *
from minijax.lax.transcendental import *
from minijax.lax.while_loop import while_loop
from minijax.lax.window_gradients import *
from minijax.lax.windows import *

__all__ = [
    "cond",
    "fori_loop",
    "linalg",
    "map",
    "scan",
    "switch",
    "while_loop",
    *applying.__all__,
    *barriers.__all__,
    *bits.__all__,
    *broadcasting.__all__,
    *choice.__all__,
    *complex_numbers.__all__,
    *composites.__all__,
    *control.__all__,
    *conv_dimensions.__all__,
    *convolution.__all__,
    *convolutions.__all__,
    *cumulative.__all__,
    *dynamic_in_dim.__all__,
    *dynamic_slicing.__all__,
    *elementwise.__all__,
    *exchanges.__all__,
    *fft_module.__all__,
    *gathering.__all__,
    *generators.__all__,
    *generic_reductions.__all__,
    *linear_solve.__all__,
    *incomplete_beta.__all__,
    *incomplete_gamma.__all__,
    *index_taking.__all__,
    *parallel.__all__,
    *placement.__all__,
    *precision.__all__,
    *products.__all__,
    *ragged.__all__,
    *rearranging.__all__,
    *reductions.__all__,
    *roots.__all__,
    *rounding.__all__,
    *scattering.__all__,
    *shapes.__all__,
    *scatters.__all__,
    *slicing.__all__,
    *sorting.__all__,
    *special.__all__,
    *structural.__all__,
    *transcendental.__all__,
    *window_gradients.__all__,
    *windows.__all__,
]

if not _TYPE_CHECKING:  # for which a module with this function has every attribute

    def __getattr__(name: str) -> _Any:
        """The primitives, by their names and `_p`: `add_p`."""
        return _primitive_named(__name__, name)
