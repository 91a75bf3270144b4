"""The interpreter that is running: does it trace, or only evaluate?"""

from minijax_stage1 import EvalInterpreter, current_interpreter
from minijax_stage1.interpreter import in_context
from minijax_stage2.trace import EvalTrace


def is_evaluating() -> bool:
    """Return True if this thread is only evaluating: no function is being traced or transformed."""
    if in_context.get() is None:
        return True
    return isinstance(current_interpreter(), EvalTrace | EvalInterpreter)
