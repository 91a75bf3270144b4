"""The interpreter that is running: does it trace, or only evaluate?"""

from minijax_stage1 import EvalInterpreter, current_interpreter
from minijax_stage1.interpreter import in_context
from minijax_stage2.trace import EvalTrace


def is_evaluating() -> bool:
    """Return True if this thread is only evaluating: no function is being traced or transformed."""
    interpreter = in_context.get()
    if interpreter is None:
        return True
    if interpreter.ended:
        interpreter = current_interpreter()
    return isinstance(interpreter, _EVALUATORS)


_EVALUATORS = EvalTrace, EvalInterpreter
