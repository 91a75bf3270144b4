"""Stage 3: programs as data with types, and `jit`, which has XLA compile them.

Jaxprs, staging, lowering to StableHLO text, arrays on the device. Needs jaxlib.
"""

# ruff: noqa: F401
from minijax_stage1.source import hide_frames_of
from minijax_stage3 import jit_rules as _jit_rules
from minijax_stage3 import lowering_rules as _lowering_rules
from minijax_stage3.abstract_eval import abstract_eval_rules
from minijax_stage3.array import Array, array
from minijax_stage3.dce import dce_jaxpr
from minijax_stage3.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    eval_jaxpr,
    jaxpr_as_fun,
)
from minijax_stage3.jit import jit, jit_p
from minijax_stage3.lowering import lowering_rules
from minijax_stage3.staging import make_jaxpr
from minijax_stage3.typecheck import JaxprTypeError, typecheck_jaxpr

__all__ = [
    "Array",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Var",
    "abstract_eval_rules",
    "array",
    "dce_jaxpr",
    "eval_jaxpr",
    "jaxpr_as_fun",
    "jit",
    "jit_p",
    "lowering_rules",
    "make_jaxpr",
    "typecheck_jaxpr",
]

hide_frames_of(__file__)
