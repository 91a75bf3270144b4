"""Stage 2: the set of primitives is open, values are arrays, arguments are trees.

On stage 1's idea of interpreters in the context stand traces, tracers and `bind`, and two
transformations: `jvp` and `vmap`. Needs numpy.
"""

# ruff: noqa: F401, F403
from minijax_stage1.source import hide_frames_of
from minijax_stage2 import jvp_rules as _jvp_rules
from minijax_stage2 import vmap_rules as _vmap_rules
from minijax_stage2.errors import (
    ConcretizationTypeError,
    MissingRuleError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from minijax_stage2.functions import (
    abs,
    add,
    astype,
    broadcast_in_dim,
    cos,
    div,
    dot_general,
    eq,
    exp,
    full_like,
    ge,
    gt,
    le,
    log,
    lt,
    matmul,
    moveaxis,
    mul,
    ne,
    neg,
    power,
    reciprocal,
    reduce_sum,
    reshape,
    select_n,
    sin,
    sub,
    transpose,
    where,
)
from minijax_stage2.jacobian import jacfwd
from minijax_stage2.jvp import defjvp, deflinear, defzero, deriv, jvp, jvp_rules
from minijax_stage2.promotion import broadcast_to, promote, result_type
from minijax_stage2.shaped_array import ShapedArray, float0, typeof
from minijax_stage2.tangent import Zero
from minijax_stage2.trace import (
    Primitive,
    Trace,
    bind,
    bind1,
    current_trace,
    draw_stack,
    impl_rules,
    trace_stack,
)
from minijax_stage2.tracer import Tracer
from minijax_stage2.tree import *
from minijax_stage2.vmap import vmap, vmap_rules

hide_frames_of(__file__)
