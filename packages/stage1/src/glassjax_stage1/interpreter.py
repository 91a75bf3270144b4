"""The one idea: primitives ask the current interpreter what they mean.

`add` and `mul` do nothing themselves. They pass their arguments to the current interpreter, so one
program can be evaluated, differentiated or staged without being rewritten.
"""

import sys
from contextvars import ContextVar
from enum import Enum, auto
from os.path import dirname
from typing import Any


class Op(Enum):
    """The primitive operations. In this stage the set is closed."""

    add = auto()
    mul = auto()


class Interpreter:
    """A meaning for every primitive.

    Its parent is the interpreter that was current when it began, with which it computes. The chain
    of parents is the stack of interpreters.
    """

    transformation = "interpreter"

    def __init__(self, f: Any = None):
        self.parent: Interpreter | None = _running()
        self.function_name = getattr(f, "__name__", type(f).__name__) if f else "<unknown>"
        self.ended = False

    def interpret_op(self, op: Op, args: tuple[Any, ...]) -> Any:
        """Apply `op` to `args`."""
        raise NotImplementedError(f"{type(self).__name__} must define interpret_op")

    def __str__(self) -> str:
        return f"{self.transformation} of `{self.function_name}`"

    def run(self) -> Any:
        """Make this interpreter current for a block, and end it afterwards."""
        return run_interpreter(self)

    def stack(self) -> list["Interpreter"]:
        """This interpreter and all below it; evaluation at the bottom is left out."""
        return [self, *self.parent.stack()] if self.parent else [self]

    def check(self, x: Any, role: str) -> None:
        """Raise an error if `x`, which plays `role`, is not a number or a box of this stack."""
        if not (isinstance(x, Boxed) and x.interpreter in self.stack()):
            check_number(x, role)


class EvalInterpreter(Interpreter):
    """Ordinary evaluation on floats and ints, at the bottom of every stack."""

    transformation = "evaluation"

    def interpret_op(self, op: Op, args: tuple[Any, ...]) -> float:
        for position, arg in enumerate(args):
            check_number(arg, f"argument {position} of {op.name}")
        x, y = args
        match op:
            case Op.add:
                return x + y  # type: ignore[no-any-return]
            case Op.mul:
                return x * y  # type: ignore[no-any-return]


in_context: ContextVar[Interpreter | None] = ContextVar("current_interpreter", default=None)


def current_interpreter() -> Interpreter:
    """The interpreter of primitives in this thread, at this moment."""
    return _running() or evaluator


def _running() -> Interpreter | None:
    """The innermost interpreter that has not ended; None if only evaluation is left."""
    interpreter = in_context.get()
    while interpreter is not None and interpreter.ended:  # a task outlived the call that created it
        interpreter = interpreter.parent
    return interpreter


evaluator = EvalInterpreter()


class set_interpreter:
    """A context in which `interpreter` is current."""

    def __init__(self, interpreter: Any):
        self.interpreter = interpreter

    def __enter__(self) -> None:
        self.previous = in_context.get()
        in_context.set(self.interpreter)

    def __exit__(self, *exception: object) -> None:
        in_context.set(self.previous)


class run_interpreter(set_interpreter):
    """A context in which `interpreter` is current, and which ends it."""

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self.interpreter.ended = True


def add(x: Any, y: Any) -> Any:
    """`x + y`, by the current interpreter."""
    return current_interpreter().interpret_op(Op.add, (x, y))


def mul(x: Any, y: Any) -> Any:
    """`x * y`, by the current interpreter."""
    return current_interpreter().interpret_op(Op.mul, (x, y))


class Boxed:
    """A value that only its own interpreter can unbox. To every other one it is a constant."""

    def __init__(self, interpreter: Interpreter):
        self.interpreter = interpreter
        self.source: Any = user_line()

    def __add__(self, other: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} has no operators: write add(x, y) or mul(x, y)")

    __radd__ = __mul__ = __rmul__ = __add__


def check_number(x: Any, role: str) -> None:
    """Raise an error if `x`, which plays `role`, is not a plain float or int."""
    if isinstance(x, Boxed):
        raise leaked_value_error(x, x.interpreter, x.source)
    if isinstance(x, bool) or not isinstance(x, float | int):
        raise TypeError(
            f"{role}: expected a float or an int, found {x!r} of type {type(x).__name__}. "
            "Stage 1 knows numbers only; arrays begin in stage 2."
        )


class JAXTypeError(TypeError):
    """The base class, with JAX's name, of errors about the values of interpreters."""


class UnexpectedTracerError(JAXTypeError):
    """A value was used where its interpreter is not running.

    It was made inside a transformed function and leaked out of it (through a global, an attribute,
    a list that outlives the call), or was passed to another thread. Return it from the function
    instead.
    """


def leaked_value_error(value: Any, interpreter: Interpreter, source: Any) -> Exception:
    """The error for a boxed value that was used where its interpreter is not running."""
    state = "has ended" if interpreter.ended else "is not running here"
    return UnexpectedTracerError(
        f"{type(value).__name__} made at {source or 'an unknown line'} belongs to the "
        f"{interpreter}, which {state}.\n"
        "The value was kept in a global, an attribute or a container, or passed to another "
        "thread. Return it from the function instead."
    )


def user_line() -> str:
    """The running line of the innermost function outside this package."""
    frame = sys._getframe(1)
    while frame.f_back and dirname(frame.f_code.co_filename) == dirname(__file__):
        frame = frame.f_back
    code = frame.f_code
    return f"{code.co_filename}:{frame.f_lineno} (in {code.co_name})"
