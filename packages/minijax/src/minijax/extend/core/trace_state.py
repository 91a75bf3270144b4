"""The interpreter at work here, for libraries that keep state of their own."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from minijax.primitives.axis_names import names_here
from minijax.runtime.evaluation import library_evaluation
from minijax_stage1 import current_interpreter
from minijax_stage1.interpreter import evaluator, set_interpreter
from minijax_stage2 import Trace, current_trace
from minijax_stage2.trace import EvalTrace
from minijax_stage2.vmap import BatchTrace
from minijax_stage3.staging import JaxprTrace


class OpaqueTraceState:
    """The interpreters at work at some moment; states of the same ones are equal."""

    def __init__(self) -> None:
        self._trace = None if is_evaluating() else current_trace()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace

    def __hash__(self) -> int:
        return id(self._trace)


class TraceTag:
    """A name for an interpreter that is about to begin, equal to itself only."""


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """The interpreters that are at work.

    A library compares the state of the moment in which it made a value with the present one, to
    know whether both are within the same transformation.

    Arguments:
        convention: of no effect.
    """
    return OpaqueTraceState()


def is_evaluating() -> bool:
    """Return True if no transformation is at work."""
    return bool(isinstance(current_trace(), EvalTrace))


def find_top_trace(xs: Any) -> Trace:
    """The trace at work, which handles the values `xs` with all others."""
    return current_trace()


@contextmanager
def take_current_trace() -> Iterator[Trace]:
    """Give the trace at work, and evaluate in the block; `set_current_trace` makes it current."""
    trace = current_trace()
    with library_evaluation(), set_interpreter(evaluator):
        yield trace


@contextmanager
def set_current_trace(trace: Any, check_leaks: bool = False) -> Iterator[None]:
    """Make a trace current in the block.

    Arguments:
        trace: a trace, or None for evaluation.
        check_leaks: of no effect.
    """
    with set_interpreter(trace if isinstance(trace, Trace) else evaluator):
        yield


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Return True if a function is being staged."""
    return any(isinstance(trace, JaxprTrace) for trace in current_trace().stack())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Return True if a function is being mapped."""
    return any(isinstance(trace, BatchTrace) for trace in current_trace().stack())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Hashable]:
    """The names of the axes that are mapped over here.

    >>> from minijax.extend.core import unsafe_get_axis_names_DO_NOT_USE
    >>> def f(x):
    ...     print(unsafe_get_axis_names_DO_NOT_USE())
    ...     return x
    >>> x = minijax.vmap(f, axis_name="batch")(jnp.ones(2))
    ['batch']
    """
    return names_here()


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Return True if an axis that is mapped over here has a name."""
    return bool(names_here())


def trace_state_clean() -> bool:
    """Return True if no transformation is at work."""
    return current_interpreter() is evaluator or is_evaluating()
