"""Jaxprs and traces, under the names of `jax.extend.core`."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minijax.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    Var,
    inner_jaxprs,
    jaxpr_as_fun,
    typecheck_jaxpr,
    typeof,
)
from minijax.errors import ConcretizationTypeError, InconclusiveDimensionOperation, JaxprTypeError
from minijax.extend.core.primitives import create_call_primitive, register_call_primitive_rules
from minijax.extend.linear_util import DebugInfo
from minijax.primitives.axes import names_here
from minijax.primitives.methods import Effect
from minijax.runtime.array import is_value
from minijax.runtime.effects import AbstractToken, Token
from minijax.runtime.evaluation import library_evaluation
from minijax.settings.names import list_public_names
from minijax.settings.tracers import Tracer
from minijax_stage1 import current_interpreter
from minijax_stage1.interpreter import evaluator, set_interpreter
from minijax_stage2 import ShapedArray, Trace, current_trace
from minijax_stage2.source import user_source
from minijax_stage2.tangent import tangent_type
from minijax_stage2.trace import EvalTrace
from minijax_stage2.vmap import BatchAxis, BatchTrace
from minijax_stage3.staging import JaxprTrace

# The interpreter at work here, for libraries that keep state of their own.


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
        convention: ignored.
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
        check_leaks: ignored.
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


# Jaxprs, primitives and types, under the names of `jax.extend.core`.
#
# The classes are those of `minijax.core`; primitives have the methods that JAX's have.


array_types = {np.ndarray, np.generic}


class DropVar(Var):
    """The variable of a result that nothing uses. Equations here name all of their results."""


Effects = frozenset[Effect]
no_effects: Effects = frozenset()


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Verify that a jaxpr is well formed, and its types right.

    Raises:
        JaxprTypeError: it is not.
    """
    typecheck_jaxpr(jaxpr)


def concrete_or_error(force: Any, val: Any, context: str = "") -> Any:
    """`force(val)`, or `val` if `force` is None, for a value that must be known while tracing.

    Arguments:
        force: function that makes a Python value, such as `int`; None: the value as it is.
        val: the value.
        context: the end of the message.

    Raises:
        ConcretizationTypeError: the value is not known.
    """
    if not isinstance(val, Tracer):
        return val if force is None else force(val)
    try:
        return (force or np.asarray)(val)
    except ConcretizationTypeError as error:
        raise type(error)(f"{error} {context}".rstrip()) from None


def gensym() -> Any:
    """A function that makes a new variable of a given type."""
    return Var


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of an equation."""
    for value in params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            if isinstance(each, Jaxpr):
                yield each
            elif isinstance(each, ClosedJaxpr):
                yield each.jaxpr


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of the equations of `jaxpr`."""
    for eqn in jaxpr.eqns:
        yield from inner_jaxprs(eqn)


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one example of a batch of type `aval`.

    Arguments:
        size: the number of examples.
        axis: the axis of the examples; None if all share one value.
        aval: the type of the batch.
    """
    return BatchAxis(size).example(aval, axis)


def unmapped_aval(
    size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: Any = None
) -> ShapedArray:
    """The type of a batch of examples of type `aval`, along a new axis.

    Arguments:
        size: the number of examples.
        axis: the position of the new axis; None: the type is unchanged.
        aval: the type of an example.
        explicit_mesh_axis: ignored.
    """
    return BatchAxis(size).batch(aval, axis)


def new_jaxpr_eqn(
    invars: Any,
    outvars: Any,
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any = no_effects,
    source_info: Any = None,
    ctx: Any = None,
) -> JaxprEqn:
    """An equation of a jaxpr.

    Arguments:
        invars: the operands, variables and literals.
        outvars: the variables of the results.
        primitive: the primitive.
        params: its parameters.
        effects, ctx: ignored: the primitive says which effects it has.
        source_info: where the user's code calls it; None: the line that runs now.
    """
    return JaxprEqn(primitive, invars, outvars, params, source_info or user_source())


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> np.dtype[Any]:
    """The dtype of tangents: that of the primal, or `float0` for integers and booleans."""
    return tangent_type(ShapedArray((), primal_dtype)).dtype


def valid_jaxtype(x: Any) -> bool:
    """Return True if `x` is an array, a number or a tracer."""
    if not is_value(x):
        return False
    try:
        typeof(x)
    except TypeError:
        return False
    return True


__all__ = [
    "AbstractToken",
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "Token",
    "TraceTag",
    "Var",
    "array_types",
    "check_jaxpr",
    "concrete_or_error",
    "create_call_primitive",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "register_call_primitive_rules",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
list_public_names(globals())
