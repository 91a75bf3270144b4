"""Stage 1: a program is a sequence of primitives, a transformation is an interpreter of them.

Two primitives (`add`, `mul`) and three interpreters (evaluating, differentiating, staging)
are enough to show the whole idea. Pure Python, no dependency.
"""

from minijax_stage1.dce import eliminate_dead_code
from minijax_stage1.errors import UnexpectedTracerError
from minijax_stage1.interpreter import (
    Boxed,
    EvalInterpreter,
    Interpreter,
    Op,
    add,
    current_interpreter,
    mul,
    set_interpreter,
)
from minijax_stage1.jaxpr import Equation, Jaxpr, Var, eval_jaxpr
from minijax_stage1.jvp import (
    DualNumber,
    JVPInterpreter,
    derivative,
    jvp,
    nth_order_derivative,
)
from minijax_stage1.staging import StagedValue, StagingInterpreter, build_jaxpr

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
    "derivative",
    "eliminate_dead_code",
    "eval_jaxpr",
    "jvp",
    "mul",
    "nth_order_derivative",
    "set_interpreter",
]
