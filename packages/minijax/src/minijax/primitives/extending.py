"""Extending the library: primitives, traces, types, jaxprs, and tables of rules."""

import functools
from collections.abc import Callable
from typing import Any

import minijax_stage2 as stage2
import minijax_stage3 as stage3
import minijax_stage4 as stage4
from minijax.errors.argument_errors import checking_arguments
from minijax.errors.tracebacks import hiding_frames
from minijax.primitives import declare as declaring
from minijax.primitives.interpreters import Trace, transformation
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import (
    Primitive,
    ShapedArray,
    Tracer,
    Zero,
    current_trace,
    draw_stack,
    impl_rules,
    jvp_rules,
    trace_stack,
    typeof,
    vmap_rules,
)
from minijax_stage2.trace import Rules
from minijax_stage3 import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    abstract_eval_rules,
    lowering_rules,
)
from minijax_stage4 import UndefPrimal, transpose_rules

eval_jaxpr = evaluated_by_library(stage3.eval_jaxpr)
bind = hiding_frames(stage2.bind)
binary, declare = hiding_frames(declaring.binary), hiding_frames(declaring.declare)
reduction, unary = hiding_frames(declaring.reduction), hiding_frames(declaring.unary)
defjvp, deflinear = hiding_frames(stage2.defjvp), hiding_frames(stage2.deflinear)
defzero, deftranspose = hiding_frames(stage2.defzero), hiding_frames(stage4.deftranspose)
dce_jaxpr = hiding_frames(stage3.dce_jaxpr)
typecheck_jaxpr = hiding_frames(stage3.typecheck_jaxpr)


@checking_arguments
@functools.wraps(stage3.jaxpr_as_fun)
def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    return evaluated_by_library(stage3.jaxpr_as_fun(closed_jaxpr))


__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "Rules",
    "ShapedArray",
    "Trace",
    "Tracer",
    "UndefPrimal",
    "Var",
    "Zero",
    "abstract_eval_rules",
    "binary",
    "bind",
    "current_trace",
    "dce_jaxpr",
    "declare",
    "defjvp",
    "deflinear",
    "deftranspose",
    "defzero",
    "draw_stack",
    "eval_jaxpr",
    "impl_rules",
    "jaxpr_as_fun",
    "jvp_rules",
    "lowering_rules",
    "reduction",
    "trace_stack",
    "transformation",
    "transpose_rules",
    "typecheck_jaxpr",
    "typeof",
    "unary",
    "vmap_rules",
]
