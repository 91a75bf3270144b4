"""Stage 1: a program is a sequence of primitives, a transformation is an interpreter of them.

Two primitives (`add`, `mul`) and three interpreters (evaluating, differentiating, staging)
are enough to show the whole idea. Pure Python, no dependency.
"""

# ruff: noqa: F403, F405, RUF022
from minijax_stage1.dce import *
from minijax_stage1.errors import *
from minijax_stage1.interpreter import *
from minijax_stage1.jaxpr import *
from minijax_stage1.jvp import *
from minijax_stage1.recorder import record
from minijax_stage1.recording import Recording
from minijax_stage1.staging import *

__all__ = [
    # dce
    "eliminate_dead_code",
    # errors
    "UnexpectedTracerError",
    # interpreter
    "Boxed", "EvalInterpreter", "Interpreter", "Op", "add", "current_interpreter", "mul",
    "set_interpreter",
    # jaxpr
    "Equation", "Jaxpr", "Var", "eval_jaxpr",
    # jvp
    "DualNumber", "JVPInterpreter", "deriv", "jvp", "nth_order_derivative",
    # recorder
    "record",
    # recording
    "Recording",
    # staging
    "StagedValue", "StagingInterpreter", "build_jaxpr",
]  # fmt: skip
