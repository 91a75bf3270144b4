"""Stage 2: the set of primitives is open, values are arrays, arguments are trees.

On stage 1's idea of interpreters in the context stand traces, tracers and `bind`, and two
transformations: `jvp` and `vmap`. Needs numpy.
"""

# ruff: noqa: F401, F403, F405
import numpy as _np

from minijax_stage1.errors import UnexpectedTracerError
from minijax_stage1.source import hide_frames_of
from minijax_stage2 import jvp_rules as _jvp_rules
from minijax_stage2 import vmap_rules as _vmap_rules
from minijax_stage2.errors import *
from minijax_stage2.functions import *
from minijax_stage2.jacobian import *
from minijax_stage2.jvp import *
from minijax_stage2.promotion import *
from minijax_stage2.shaped_array import *
from minijax_stage2.tangent import *
from minijax_stage2.trace import *
from minijax_stage2.tracer import *
from minijax_stage2.tree import *
from minijax_stage2.vmap import *

__all__ = [
    "ConcretizationTypeError",
    "MissingRuleError",
    "Primitive",
    "PyTreeDef",
    "ShapedArray",
    "Trace",
    "Tracer",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
    "Zero",
    "abs",
    "add",
    "astype",
    "bind",
    "bind1",
    "broadcast_in_dim",
    "broadcast_to",
    "cos",
    "current_trace",
    "defjvp",
    "deflinear",
    "defzero",
    "deriv",
    "display_tree",
    "div",
    "dot_general",
    "draw_stack",
    "eq",
    "exp",
    "explain_mismatch",
    "float0",
    "full_like",
    "ge",
    "gt",
    "impl_rules",
    "jacfwd",
    "jvp",
    "jvp_rules",
    "keystr",
    "le",
    "log",
    "lt",
    "matmul",
    "moveaxis",
    "mul",
    "ne",
    "neg",
    "power",
    "promote",
    "reciprocal",
    "reduce_sum",
    "register_pytree_node",
    "reshape",
    "result_type",
    "select_n",
    "sin",
    "sub",
    "trace_stack",
    "transpose",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_map",
    "tree_structure",
    "tree_unflatten",
    "typeof",
    "vmap",
    "vmap_rules",
    "where",
]

hide_frames_of(__file__)
hide_frames_of(_np.__file__)  # whoever called numpy is who a message is for
