"""The functions of `lax` as the library calls them, with promotion of operands.

Users get them from `minijax.lax`, where those of `strict` replace some.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.lax.accuracy import *
    from minijax.lax.collectives import *
    from minijax.lax.composite import *
    from minijax.lax.control_flow.cond import *
    from minijax.lax.control_flow.custom_linear_solve import *
    from minijax.lax.control_flow.custom_root import *
    from minijax.lax.control_flow.platform_dependent import *
    from minijax.lax.control_flow.scan import *
    from minijax.lax.control_flow.while_loop import *
    from minijax.lax.convolution.conv import *
    from minijax.lax.convolution.conv_general_dilated import *
    from minijax.lax.convolution.dimension_numbers import *
    from minijax.lax.dot import *
    from minijax.lax.elementwise.abs_and_sign import *
    from minijax.lax.elementwise.arithmetic import *
    from minijax.lax.elementwise.bits import *
    from minijax.lax.elementwise.comparisons import *
    from minijax.lax.elementwise.complex_numbers import *
    from minijax.lax.elementwise.conversion import *
    from minijax.lax.elementwise.extremes import *
    from minijax.lax.elementwise.horner import *
    from minijax.lax.elementwise.rounding import *
    from minijax.lax.elementwise.selection import *
    from minijax.lax.elementwise.transcendental import *
    from minijax.lax.fft import *
    from minijax.lax.indexing.dimension_numbers import *
    from minijax.lax.indexing.dynamic_slice import *
    from minijax.lax.indexing.gather import *
    from minijax.lax.indexing.scatter import *
    from minijax.lax.indexing.slice_pad_concatenate import *
    from minijax.lax.optimization_barrier import *
    from minijax.lax.precision import *
    from minijax.lax.ragged_all_to_all import *
    from minijax.lax.ragged_dot import *
    from minijax.lax.reductions.argmax import *
    from minijax.lax.reductions.cumulative import *
    from minijax.lax.reductions.reduce import *
    from minijax.lax.reductions.select_and_scatter import *
    from minijax.lax.reductions.standard import *
    from minijax.lax.reductions.window_extremes import *
    from minijax.lax.reductions.windows import *
    from minijax.lax.rng_bit_generator import *
    from minijax.lax.scaled_dot import *
    from minijax.lax.shapes.broadcasting import *
    from minijax.lax.shapes.creation import *
    from minijax.lax.shapes.reshaping import *
    from minijax.lax.shapes.shape_rules import *
    from minijax.lax.shapes.split_and_stack import *
    from minijax.lax.sharding import *
    from minijax.lax.sorting import *
    from minijax.lax.special.bessel import *
    from minijax.lax.special.error_functions import *
    from minijax.lax.special.gamma_functions import *
    from minijax.lax.special.incomplete_beta import *
    from minijax.lax.special.incomplete_gamma import *
    from minijax.lax.staging import *
    from minijax.lax.stop_gradient import *
    from minijax.lax.tokens import *

_lazy_facade(globals())
