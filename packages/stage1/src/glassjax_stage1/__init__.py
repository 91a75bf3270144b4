"""Stage 1: a program is a sequence of primitives, a transformation is an interpreter of them.

Two primitives (`add`, `mul`) and three interpreters (evaluating, differentiating, staging)
are enough to show the whole idea. Pure Python, no dependency.
"""

# ruff: noqa: F403, F405, RUF022
from glassjax_stage1.dce import *
from glassjax_stage1.interpreter import *
from glassjax_stage1.jaxpr import *
from glassjax_stage1.jvp import *
from glassjax_stage1.staging import *

__all__ = [
    # interpreter
    "Boxed", "EvalInterpreter", "Interpreter", "JAXTypeError", "Op", "UnexpectedTracerError",
    "add", "current_interpreter", "mul", "set_interpreter",
    # jvp
    "DualNumber", "JVPInterpreter", "derivative", "jvp", "nth_order_derivative",
    # jaxpr
    "Equation", "Jaxpr", "Var", "eval_jaxpr",
    # staging
    "StagedValue", "StagingInterpreter", "build_jaxpr",
    # dce
    "eliminate_dead_code",
]  # fmt: skip
