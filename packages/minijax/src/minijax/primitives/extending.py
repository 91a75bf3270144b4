"""What transformations are made of: primitives, traces, types, jaxprs, and the tables of rules."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import minijax_stage2 as stage2
import minijax_stage3 as stage3
import minijax_stage4 as stage4
from minijax.errors.argument_errors import checking_arguments
from minijax.errors.tracebacks import hiding_frames
from minijax.primitives import declare as declaring
from minijax.runtime.evaluation import device_trace, evaluated_by_library, library_evaluation
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


class Trace(stage2.Trace):
    """An interpreter of primitives, at the bottom of whose stack this library evaluates.

    It handles the tracers that are its own, and takes every other value as a constant. A subclass
    defines `process`, which applies a primitive to a list of operands, with metadata by keyword,
    and returns the list of its results.

    >>> from minijax import core
    >>> class Printing(core.Trace):
    ...     def process(self, primitive, args, params):
    ...         print(primitive)
    ...         return self.leave_to_parent(primitive, args, params)
    >>> with Printing().run():
    ...     y = jnp.sin(jnp.ones(2)) * 2.0
    broadcast_in_dim
    sin
    mul
    >>> y
    Array([1.6829419, 1.6829419], dtype=float32)
    """

    def __init__(self, f: Any = None):
        super().__init__(f)
        self.is_outermost = self.parent is None
        if self.is_outermost:
            self.parent = device_trace

    @contextmanager
    def run(self) -> Iterator[None]:
        """Makes this trace current for a block, after which it has ended for good."""
        with library_evaluation() if self.is_outermost else nullcontext(), super().run():
            yield


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
