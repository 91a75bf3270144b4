"""`ensure_compile_time_eval`: what is known is computed at once, and not written down."""

from collections.abc import Iterator, Sequence
from typing import Any

from minijax.runtime.evaluation import device_trace
from minijax.settings.reusable_contexts import reusable_context
from minijax_stage1.interpreter import is_evaluating
from minijax_stage2 import Primitive, Trace, Tracer


class CompileTimeTrace(Trace):
    """Evaluates what depends on no tracer, and leaves the rest to the traces around it."""

    transformation = "evaluation at compile time"

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        if any(isinstance(x, Tracer) for x in args):
            return self.leave_to_parent(primitive, args, params)
        return device_trace.process(primitive, args, params)


@reusable_context
def ensure_compile_time_eval() -> Iterator[None]:
    """In the block of a `with`, what depends on no argument is computed while a function is traced.

    So its value can decide what Python does.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> @minijax.jit
    ... def f(x):
    ...     with ensure_compile_time_eval():
    ...         steps = jnp.arange(3).sum()
    ...         return x + 1 if steps > 2 else x
    >>> f(1)
    Array(2, dtype=int32, weak_type=True)
    """
    if is_evaluating():
        yield
        return
    with CompileTimeTrace().run():
        yield
