"""Types, traces and jaxprs."""

from minijax.core import ShapedArray, Tracer, eval_jaxpr, typeof
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

__all__ = [
    "ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Primitive", "ShapedArray", "Tracer", "Var",
    "eval_jaxpr", "get_aval", "get_opaque_trace_state", "jaxpr_as_fun", "jaxprs_in_params",
    "subjaxprs", "trace_state_clean", "typeof",
]  # fmt: skip
