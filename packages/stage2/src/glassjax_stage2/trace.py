"""Primitives, the traces that interpret them, and `bind`, which brings the two together.

A trace is an interpreter (stage 1) of an open set of primitives. The chain from the current
trace through its parents is the tracer stack; evaluation by numpy is at the bottom.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from glassjax_stage1 import Interpreter, Op, current_interpreter
from glassjax_stage1.interpreter import evaluator, set_interpreter
from glassjax_stage2.errors import MissingRuleError
from glassjax_stage2.shaped_array import python_scalars, stage1_error
from glassjax_stage2.source import name_of, on_behalf_of, user_source

Params = dict[str, Any]  # the parameters of a primitive, by name


class Primitive:
    """A named operation, whose meaning is given by the rules of each interpreter.

    >>> twice_p = Primitive("twice")
    >>> impl_rules[twice_p] = lambda x: [2 * x]
    >>> bind(twice_p, 3.0)
    [6.0]
    """

    def __init__(self, name: str, higher_order: bool = False):
        self.name = name
        self.higher_order = higher_order  # its parameters hold programs, as for `jit`

    def __repr__(self) -> str:
        return self.name


class Rules(dict[Primitive, Any]):
    """One interpreter's column of the table: a rule for each primitive.

    Arguments:
        transformation: the name of the interpreter, for messages.
        table: the name of the table, for the message that says how to add a rule.

    >>> costs = Rules("cost", "costs")
    >>> twice_p = Primitive("twice")
    >>> costs[twice_p] = lambda x: 1
    >>> costs[twice_p](3.0)
    1
    """

    def __init__(self, transformation: str, table: str):
        self.transformation = transformation
        self.table = table

    def __missing__(self, primitive: Primitive) -> Any:
        raise MissingRuleError(
            f"the primitive `{primitive}` has no rule for {self.transformation}. Add one: "
            f"{self.table}[{primitive}_p] = rule\n  at {user_source()}"
        )


class Trace(Interpreter):
    """An interpreter of primitives.

    It handles its own tracers, and treats every other value as a constant.

    >>> class Printing(Trace):
    ...     def process(self, primitive, args, params):
    ...         print(primitive)
    ...         return self.leave_to_parent(primitive, args, params)
    >>> from glassjax_stage2 import mul, sin
    >>> with Printing().run():
    ...     y = mul(sin(1.0), 2.0)
    sin
    mul
    """

    def __init__(self, f: Any = None):
        super().__init__()
        if f is not None:
            self.function_name = name_of(f)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Make this trace current for a block, in which running lines count as the user's."""
        with super().run(), on_behalf_of(None):
            yield

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        """Apply `primitive`: arrays positionally, metadata by keyword; return a list."""
        raise NotImplementedError(f"{type(self).__name__} must define process")

    def leave_to_parent(self, primitive: Primitive, args: Sequence[Any], params: Params) -> Any:
        """Apply a primitive that does not concern this trace in its parent."""
        with set_interpreter(self.parent):
            return current_trace().process(primitive, args, params)

    def interpret_op(self, op: Op, args: tuple[Any, ...]) -> Any:
        """Interpret stage 1's operations: its programs run under every later interpreter."""
        return function_of_op[op](*args)


def bind(primitive: Primitive, *args: Any, **params: Any) -> list[Any]:
    """Apply `primitive` by the current trace.

    Arguments:
        primitive: the primitive.
        args: its operands, values and tracers.
        params: its metadata, which no trace boxes.

    Returns:
        The list of its results.

    Raises:
        MissingRuleError: the trace has no rule for it.

    >>> clip_p = Primitive("clip")
    >>> impl_rules[clip_p] = lambda x, *, limit: [min(x, limit)]
    >>> bind(clip_p, 3.0, limit=2.0)
    [2.0]
    """
    return current_trace().process(primitive, args, params)


def bind1(primitive: Primitive, *args: Any, **params: Any) -> Any:
    """`bind` for a primitive of one result."""
    (out,) = current_trace().process(primitive, args, params)
    return out


def current_trace() -> Trace:
    """The trace that interprets primitives in this thread, at this moment.

    >>> from glassjax_stage2 import jvp
    >>> current_trace().transformation
    'evaluation'
    >>> out = jvp(lambda x: print(current_trace().transformation) or x, (1.0,), (1.0,))
    jvp
    """
    interpreter = current_interpreter()
    if interpreter is evaluator:
        return eval_trace
    if isinstance(interpreter, Trace):
        return interpreter
    raise stage1_error(interpreter)


impl_rules = Rules("evaluation", "impl_rules")


class EvalTrace(Trace):
    """Ordinary evaluation by numpy, at the bottom of the stack.

    A value of another array type brings its own evaluator, `evaluate_primitive`. Python numbers
    stay Python numbers, so that later operands decide their dtype, unless a primitive has a dtype.
    """

    transformation = "evaluation"

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        for x in args:
            evaluate = getattr(x, "evaluate_primitive", None)
            if evaluate is not None:
                return evaluate(primitive, args, params)  # type: ignore[no-any-return]
        with np.errstate(all="ignore"):
            outs: list[Any] = impl_rules[primitive](*args, **params)
        is_open = args and not primitive.higher_order and "new_dtype" not in params
        if is_open and all(type(x) in python_scalars for x in args):
            return [out.item() if getattr(out, "ndim", 1) == 0 else out for out in outs]
        return outs


eval_trace = EvalTrace(np)

# Stage 1's operations, and the functions that replace them from here on; filled by functions.py.
function_of_op: dict[Op, Callable[..., Any]] = {}
