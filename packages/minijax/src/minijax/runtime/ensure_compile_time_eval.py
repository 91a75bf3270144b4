"""Contexts in which operations on known values are computed at once instead of staged."""

from collections.abc import Iterator, Sequence
from typing import Any

from minijax.runtime.current import is_evaluating
from minijax.runtime.evaluation import device_trace
from minijax.settings.reusable_contexts import reusable_context
from minijax_stage1.interpreter import evaluator, set_interpreter
from minijax_stage2 import Primitive, Trace, Tracer


class CompileTimeTrace(Trace):
    """Evaluates operations without tracers, and leaves the rest to the enclosing traces."""

    transformation = "evaluation at compile time"

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        if any(isinstance(x, Tracer) for x in args):
            return self.leave_to_parent(primitive, args, params)
        return device_trace.process(primitive, args, params)


@reusable_context
def ensure_compile_time_eval() -> Iterator[None]:
    """A context in which operations on known values are computed during tracing.

    So Python can branch on their values.

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


@reusable_context
def eval_context() -> Iterator[None]:
    """A context in which no transformation is at work: operations on tracers are errors.

    >>> from minijax.core import eval_context
    >>> @minijax.jit
    ... def f(x):
    ...     with eval_context():
    ...         steps = int(jnp.arange(3).sum())
    ...     return x * steps
    >>> f(2)
    Array(6, dtype=int32, weak_type=True)
    """
    with set_interpreter(evaluator):
        yield
