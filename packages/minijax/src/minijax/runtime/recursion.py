"""Unbounded recursion of functions while they are traced."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from minijax_stage2.source import is_machinery, name_of

_being_traced: ContextVar[tuple[Callable[..., Any], ...]] = ContextVar("being_traced", default=())


class refusing_recursion:
    """A context in which a RecursionError names the function that calls itself.

    Arguments:
        caller: the transformation that traces.
        function: the function that is traced in the block. If it is being traced already, it is the
            cause of the full stack.
    """

    __slots__ = ("caller", "function", "previous")

    def __init__(self, caller: str, function: Callable[..., Any]):
        self.caller, self.function = caller, function

    def __enter__(self) -> None:
        self.previous = _being_traced.get()
        _being_traced.set((*self.previous, self.function))

    def __exit__(self, cls: Any, error: Any, traceback: Any) -> None:
        _being_traced.set(self.previous)
        if cls is RecursionError and any(each is self.function for each in self.previous):
            raise RecursionError(
                f"{self.caller}: {name_and_place_of(self.function)} calls itself, and is traced "
                "anew at each call, without end: for conditions are not known while it is traced. "
                "Use while_loop or scan for what is repeated, or do not jit the function that "
                "calls itself."
            ) from None


def name_and_place_of(f: Any) -> str:
    """Return the name of `f` for a message, with the file and line where it is written."""
    named = f"`{name_of(f)}`"
    while isinstance(f, partial):
        f = f.func
    code = getattr(_unwrapped(f), "__code__", None)
    if code is None or is_machinery[code.co_filename]:
        return named
    return f"{named} at {code.co_filename}:{code.co_firstlineno}"


def _unwrapped(f: Any) -> Any:
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    return f
