"""The functions of `lax` as the library calls them: operands meet by the rules of promotion.

Users get them from `minijax.lax`, where those of `strict` take the place of some.
"""

# ruff: noqa: F401, F403
import minijax.lax.applying as applying
import minijax.lax.barriers as barriers
import minijax.lax.bits as bits
import minijax.lax.broadcasting as broadcasting
import minijax.lax.choice as choice
import minijax.lax.complex_numbers as complex_numbers
import minijax.lax.composites as composites
import minijax.lax.control as control
import minijax.lax.conv_dimensions as conv_dimensions
import minijax.lax.convolution as convolution
import minijax.lax.convolutions as convolutions
import minijax.lax.cumulative as cumulative
import minijax.lax.dynamic_in_dim as dynamic_in_dim
import minijax.lax.dynamic_slicing as dynamic_slicing
import minijax.lax.elementwise as elementwise
import minijax.lax.exchanges as exchanges
import minijax.lax.fft as fft_module
import minijax.lax.gather_dimensions as gather_dimensions
import minijax.lax.gathering as gathering
import minijax.lax.generators as generators
import minijax.lax.generic_reductions as generic_reductions
import minijax.lax.incomplete_beta as incomplete_beta
import minijax.lax.incomplete_gamma as incomplete_gamma
import minijax.lax.index_taking as index_taking
import minijax.lax.linear_solve as linear_solve
import minijax.lax.parallel as parallel
import minijax.lax.placement as placement
import minijax.lax.positions as positions
import minijax.lax.precision as precision
import minijax.lax.products as products
import minijax.lax.ragged as ragged
import minijax.lax.rearranging as rearranging
import minijax.lax.reductions as reductions
import minijax.lax.roots as roots
import minijax.lax.rounding as rounding
import minijax.lax.scan_reverse as _scan_reverse
import minijax.lax.scan_rules as _scan_rules
import minijax.lax.scatters as scatters
import minijax.lax.shapes as shapes
import minijax.lax.slicing as slicing
import minijax.lax.sorting as sorting
import minijax.lax.special as special
import minijax.lax.structural as structural
import minijax.lax.transcendental as transcendental
import minijax.lax.while_rules as _while_rules
import minijax.lax.window_gradients as window_gradients
import minijax.lax.windows as windows
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
from minijax.lax.gather_dimensions import *
from minijax.lax.gathering import *
from minijax.lax.generators import *
from minijax.lax.generic_reductions import *
from minijax.lax.incomplete_beta import *
from minijax.lax.incomplete_gamma import *
from minijax.lax.index_taking import *
from minijax.lax.linear_solve import *
from minijax.lax.parallel import *
from minijax.lax.placement import *
from minijax.lax.positions import *
from minijax.lax.precision import *
from minijax.lax.products import *
from minijax.lax.ragged import *
from minijax.lax.rearranging import *
from minijax.lax.reductions import *
from minijax.lax.roots import *
from minijax.lax.rounding import *
from minijax.lax.scan import fori_loop, map, scan
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
    *positions.__all__,
    *precision.__all__,
    *products.__all__,
    *ragged.__all__,
    *rearranging.__all__,
    *reductions.__all__,
    *roots.__all__,
    *rounding.__all__,
    *gather_dimensions.__all__,
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
