"""Stage 2: the set of primitives is open, values are arrays, arguments are trees.

Traces, tracers and `bind`, built on stage 1's idea of interpreters in the context, and two
transformations: `jvp` and `vmap`. Needs numpy.
"""

# ruff: noqa: F401, F403, F405, RUF022
import numpy as _np

import glassjax_stage1 as _stage1
from glassjax_stage1 import UnexpectedTracerError
from glassjax_stage2 import jvp_rules as _jvp_rules
from glassjax_stage2 import vmap_rules as _vmap_rules
from glassjax_stage2.errors import *
from glassjax_stage2.functions import *
from glassjax_stage2.jacobian import *
from glassjax_stage2.jvp import *
from glassjax_stage2.promotion import *
from glassjax_stage2.shaped_array import *
from glassjax_stage2.source import hide_frames_of
from glassjax_stage2.tangent import *
from glassjax_stage2.trace import *
from glassjax_stage2.tracer import *
from glassjax_stage2.tree import *
from glassjax_stage2.vmap import *

__all__ = [
    # errors
    "ConcretizationTypeError", "MissingRuleError", "TracerArrayConversionError",
    "TracerBoolConversionError", "TracerIntegerConversionError", "UnexpectedTracerError",
    # functions
    "abs", "add", "astype", "broadcast_in_dim", "cos", "div", "dot_general", "eq", "exp",
    "full_like", "ge", "gt", "le", "log", "lt", "matmul", "moveaxis", "mul", "ne", "neg",
    "power", "reciprocal", "reduce_sum", "reshape", "select_n", "sin", "sub", "transpose",
    "where",
    # jacobian
    "jacfwd",
    # jvp
    "defjvp", "deflinear", "defzero", "deriv", "jvp", "jvp_rules",
    # promotion
    "broadcast_to", "promote", "result_type",
    # shaped_array
    "ShapedArray", "float0", "typeof",
    # tangent
    "Zero",
    # trace
    "Primitive", "Trace", "bind", "bind1", "current_trace", "impl_rules",
    # tracer
    "Tracer",
    # tree
    "PyTreeDef", "display_tree", "explain_mismatch", "keystr", "register_pytree_node",
    "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_map", "tree_structure",
    "tree_unflatten",
    # vmap
    "vmap", "vmap_rules",
]  # fmt: skip

hide_frames_of(_stage1.__file__)
hide_frames_of(__file__)
hide_frames_of(_np.__file__)  # messages are for the caller of numpy
