"""Stage 3: programs as data with types, and `jit`, which compiles them with XLA.

Jaxprs, staging, lowering to StableHLO text, arrays on the device. Needs jaxlib.
"""

# ruff: noqa: F401, F403, F405, RUF022
from glassjax_stage2.source import hide_frames_of
from glassjax_stage3 import jit_rules as _jit_rules
from glassjax_stage3 import lowering_rules as _lowering_rules
from glassjax_stage3.abstract_eval import *
from glassjax_stage3.array import *
from glassjax_stage3.dce import *
from glassjax_stage3.jaxpr import *
from glassjax_stage3.jit import *
from glassjax_stage3.lowering import *
from glassjax_stage3.staging import *
from glassjax_stage3.typecheck import *

__all__ = [
    # abstract_eval
    "abstract_eval_rules",
    # array
    "Array", "array",
    # dce
    "dce_jaxpr",
    # jaxpr
    "Jaxpr", "JaxprEqn", "Literal", "Var", "eval_jaxpr", "jaxpr_as_fun",
    # jit
    "jit", "jit_p",
    # lowering
    "lowering_rules",
    # staging
    "make_jaxpr",
    # typecheck
    "JaxprTypeError", "typecheck_jaxpr",
]  # fmt: skip

hide_frames_of(__file__)
