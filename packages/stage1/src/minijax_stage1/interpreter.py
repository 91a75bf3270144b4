"""The one idea: primitives ask the current interpreter what they mean.

`add` and `mul` do nothing themselves. They hand their arguments to whatever interpreter is
current, so one program can be evaluated, differentiated or staged without being rewritten.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto
from typing import Any

from minijax_stage1.errors import UnexpectedTracerError
from minijax_stage1.source import Source, name_of, on_behalf_of, user_source


class Op(Enum):
    """The primitive operations. In this stage the set is closed."""

    add = auto()
    mul = auto()


class Interpreter:
    """A meaning for every primitive.

    It keeps its parent, the interpreter that was current when it began: its rules run there. The
    chain of parents is the stack of interpreters.
    """

    transformation = "interpreter"
    evaluates = False  # whether this is the bottom of a stack, where values are plain

    def __init__(self, f: Any = None):
        self.parent: Interpreter | None = _running()
        self.function_name = name_of(f) if f is not None else "<unknown>"
        self.ended = False

    def interpret_op(self, op: Op, args: tuple[Any, ...]) -> Any:
        """Give `op` its meaning on `args`."""
        raise NotImplementedError(f"{type(self).__name__} must define interpret_op")

    def __str__(self) -> str:
        return f"{self.transformation} of `{self.function_name}`"

    @contextmanager
    def run(self) -> Iterator[None]:
        """Make this interpreter current for a block, and end it afterwards."""
        try:
            with set_interpreter(self), on_behalf_of(None):
                yield
        finally:
            self.ended = True

    def encloses(self, other: "Interpreter") -> bool:
        """Return True if this interpreter is on the stack below `other`."""
        ancestor = other.parent
        while ancestor is not None and ancestor is not self:
            ancestor = ancestor.parent
        return ancestor is self


class Boxed:
    """A value that only its own interpreter can unbox. To every other one it is a constant."""

    __slots__ = ("interpreter", "source")

    def __init__(self, interpreter: Interpreter):
        self.interpreter = interpreter
        self.source = user_source()

    def __add__(self, other: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} has no operators: for x + y, write add(x, y)")

    def __mul__(self, other: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} has no operators: for x * y, write mul(x, y)")

    __radd__, __rmul__ = __add__, __mul__


def leaked_value_error(value: Any, interpreter: Interpreter, source: Source | None) -> Exception:
    """The error for a boxed value that was used where its interpreter is not running."""
    state = "has ended" if interpreter.ended else "is not running here"
    return UnexpectedTracerError(
        f"{type(value).__name__} made at {source or 'an unknown line'} belongs to the "
        f"{interpreter}, which {state}.\n"
        "The value was kept in a global, an attribute or a container, or passed to another "
        "thread. Return it from the function instead."
    )


class EvalInterpreter(Interpreter):
    """Ordinary evaluation on floats and ints, at the bottom of every stack."""

    transformation = "evaluation"
    evaluates = True

    def interpret_op(self, op: Op, args: tuple[Any, ...]) -> float:
        for position, arg in enumerate(args):
            check_number(arg, f"argument {position} of {op.name}")
        x, y = args
        match op:
            case Op.add:
                return x + y  # type: ignore[no-any-return]
            case Op.mul:
                return x * y  # type: ignore[no-any-return]


def check_number(x: Any, role: str) -> None:
    """Raise an error if `x`, which plays `role`, is not a plain float or int."""
    if isinstance(x, Boxed):
        raise leaked_value_error(x, x.interpreter, x.source)
    if isinstance(x, bool) or not isinstance(x, float | int):
        raise TypeError(
            f"{role}: expected a float or an int, found {x!r} of type {type(x).__name__}. "
            "Stage 1 knows numbers only; arrays begin in stage 2."
        )


def require_number(x: Any, role: str) -> None:
    """Like `check_number`, but accept the boxed values of running interpreters."""
    here = current_interpreter()
    if isinstance(x, Boxed) and (x.interpreter is here or x.interpreter.encloses(here)):
        return
    check_number(x, role)


in_context: ContextVar[Interpreter | None] = ContextVar("current_interpreter", default=None)


def current_interpreter() -> Interpreter:
    """The interpreter that gives primitives their meaning here and now, in this thread."""
    return _running() or evaluator


def is_evaluating() -> bool:
    """Return True if this thread is only evaluating."""
    interpreter = in_context.get()
    if interpreter is not None:
        interpreter = _running()
    return interpreter is None or interpreter.evaluates


def _running() -> Interpreter | None:
    """The innermost interpreter that has not ended; None if only evaluation is left."""
    interpreter = in_context.get()
    while interpreter is not None and interpreter.ended:  # a task outlived the call it began in
        interpreter = interpreter.parent
    return interpreter


class set_interpreter:
    """A context in which `interpreter` is current."""

    __slots__ = ("interpreter", "previous")

    def __init__(self, interpreter: Interpreter | None):
        self.interpreter = interpreter

    def __enter__(self) -> None:
        self.previous = in_context.get()
        in_context.set(self.interpreter)

    def __exit__(self, *exception: object) -> None:
        in_context.set(self.previous)


def add(x: Any, y: Any) -> Any:
    """`x + y`, as the current interpreter understands it."""
    return current_interpreter().interpret_op(Op.add, (x, y))


def mul(x: Any, y: Any) -> Any:
    """`x * y`, as the current interpreter understands it."""
    return current_interpreter().interpret_op(Op.mul, (x, y))


evaluator = EvalInterpreter()
