"""The functions of `lax` as the library calls them, with promotion of operands.

Users get them from `minijax.lax`, where those of `strict` replace some.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.lax.barriers import *
    from minijax.lax.collectives import *
    from minijax.lax.control_flow.conditionals import *
    from minijax.lax.control_flow.scan import *
    from minijax.lax.control_flow.solves import *
    from minijax.lax.control_flow.while_loop import *
    from minijax.lax.conversion import *
    from minijax.lax.convolution import *
    from minijax.lax.cumulative import *
    from minijax.lax.dynamic_slicing import *
    from minijax.lax.elementwise import *
    from minijax.lax.formulas import *
    from minijax.lax.fourier import *
    from minijax.lax.gathering import *
    from minijax.lax.incomplete_beta import *
    from minijax.lax.incomplete_gamma import *
    from minijax.lax.precision import *
    from minijax.lax.products import *
    from minijax.lax.random_bits import *
    from minijax.lax.reductions import *
    from minijax.lax.scattering import *
    from minijax.lax.shape_rules import *
    from minijax.lax.shapes import *
    from minijax.lax.sharding import *
    from minijax.lax.slicing import *
    from minijax.lax.sorting import *
    from minijax.lax.special import *
    from minijax.lax.transcendental import *
    from minijax.lax.windowed_reductions import *

_lazy_facade(globals())
