"""What transformations are made of: primitives, traces, types, jaxprs, and the tables of rules."""

import functools
from collections.abc import Callable
from typing import Any

import minijax_stage3 as stage3
from minijax.declare import binary, declare, reduction, unary
from minijax.evaluation import evaluated_by_library
from minijax_stage2 import (
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    Zero,
    bind,
    current_trace,
    defjvp,
    deflinear,
    defzero,
    draw_stack,
    impl_rules,
    jvp_rules,
    trace_stack,
    typeof,
    vmap_rules,
)
from minijax_stage3 import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    abstract_eval_rules,
    dce_jaxpr,
    lowering_rules,
    typecheck_jaxpr,
)
from minijax_stage4 import UndefPrimal, deftranspose, transpose_rules

eval_jaxpr = evaluated_by_library(stage3.eval_jaxpr)


@functools.wraps(stage3.jaxpr_as_fun)
def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    return evaluated_by_library(stage3.jaxpr_as_fun(closed_jaxpr))


__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
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
    "transpose_rules",
    "typecheck_jaxpr",
    "typeof",
    "unary",
    "vmap_rules",
]
