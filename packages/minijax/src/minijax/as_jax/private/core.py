"""Types, traces and jaxprs."""

from typing import Any

from minijax.core import ShapedArray, Tracer, eval_jaxpr, typeof
from minijax.errors import ConcretizationTypeError
from minijax.extend.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    Var,
    get_opaque_trace_state,
    jaxpr_as_fun,
    jaxprs_in_params,
    subjaxprs,
)
from minijax.extend.core.trace_state import trace_state_clean

get_aval = typeof
AbstractValue = ShapedArray


def concrete_or_error(force: Any, val: Any, context: str = "") -> Any:
    """`force(val)`, of a value that is known.

    Raises:
        ConcretizationTypeError: the value is a tracer.
    """
    if isinstance(val, Tracer):
        raise ConcretizationTypeError(f"a value is needed, but {val} is traced. {context}")
    return val if force is None else force(val)


def full_lower(val: Any) -> Any:
    """The value: tracers here hold nothing that could be known without them."""
    return val


__all__ = [
    "AbstractValue", "ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Primitive",
    "ShapedArray", "Tracer", "Var", "concrete_or_error", "eval_jaxpr", "full_lower", "get_aval",
    "get_opaque_trace_state", "jaxpr_as_fun", "jaxprs_in_params", "subjaxprs", "trace_state_clean", "typeof",
]  # fmt: skip
