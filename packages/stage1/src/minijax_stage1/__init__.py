"""Stage 1: a program is a sequence of primitives, a transformation is an interpreter of them.

Two primitives (`add`, `mul`) and three interpreters (evaluating, differentiating, staging)
are enough to show the whole idea. Pure Python, no dependency.
"""

# ruff: noqa: F403, F405
from minijax_stage1.dce import *
from minijax_stage1.errors import *
from minijax_stage1.interpreter import *
from minijax_stage1.jaxpr import *
from minijax_stage1.jvp import *
from minijax_stage1.staging import *

__all__ = [
    "Boxed",
    "DualNumber",
    "Equation",
    "EvalInterpreter",
    "Interpreter",
    "JVPInterpreter",
    "Jaxpr",
    "Op",
    "StagedValue",
    "StagingInterpreter",
    "UnexpectedTracerError",
    "Var",
    "add",
    "build_jaxpr",
    "current_interpreter",
    "deriv",
    "eliminate_dead_code",
    "eval_jaxpr",
    "jvp",
    "mul",
    "nth_order_derivative",
    "set_interpreter",
]
