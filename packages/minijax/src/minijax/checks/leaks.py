"""`checking_leaks`: an error when a tracer outlives its call."""

import gc
from collections.abc import Iterator
from types import FrameType
from typing import Any

from minijax.errors.classes import LeakedTracerError
from minijax.runtime.current import is_evaluating
from minijax.runtime.evaluation import library_evaluation
from minijax.settings.debugging import tracer_leaks_option
from minijax.settings.reusable_contexts import reusable_context
from minijax_stage2 import Tracer

_FROZEN_AT_START = gc.get_freeze_count()  # which is not 0 on Python 3.12


@reusable_context
def checking_leaks() -> Iterator[None]:
    """Set `config.check_tracer_leaks` for the block of a `with`, in this thread only.

    After a function is traced, all objects made in the block are searched for remaining tracers.
    This is slow.

    >>> import minijax
    >>> kept = []
    >>> with checking_leaks():
    ...     try:
    ...         minijax.jit(lambda x: kept.append(x))(1.0)
    ...     except minijax.errors.LeakedTracerError as error:
    ...         print(str(error).partition(":")[0])
    leaked tracers of the jit of `<lambda>`, which has ended
    >>> kept.clear()
    """
    is_first = not (tracer_leaks_option.value or gc.get_freeze_count() > _FROZEN_AT_START)
    if is_first:  # what is there already is set aside, and not looked through again and again
        gc.collect()
        gc.freeze()
    try:
        with tracer_leaks_option.override(True):
            yield
    finally:
        if is_first:
            gc.unfreeze()


@reusable_context
def check_tracer_leaks(new_val: bool = True) -> Iterator[None]:
    """Do what `checking_leaks` does; with `False`, disable the check for a block.

    >>> with minijax.check_tracer_leaks():
    ...     minijax.grad(lambda x: x * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    with checking_leaks() if new_val is True else tracer_leaks_option.override(new_val):
        yield


def check_leaks() -> None:
    """Look for tracers whose trace has ended, after garbage collection.

    Raises:
        LeakedTracerError: there are any; the message says where they were made, and what refers to
            them.
    """
    gc.collect()
    leaked = [x for x in gc.get_objects() if isinstance(x, Tracer) and x.interpreter.ended]
    if leaked:
        gc.unfreeze()  # what holds them may have been set aside
        lines = [
            f"    {tracer!r} made at {tracer.source}, {_holder(tracer, leaked)}"
            for tracer in leaked
        ]
        raise LeakedTracerError(
            f"leaked tracers of the {leaked[0].interpreter}, which has ended:\n"
            + "\n".join(lines)
            + "\nReturn values from the function, in place of keeping them."
        )


def check_trace(function: Any, args: Any, kwargs: Any) -> None:
    """Trace a jitted function, and look for leaks if the trace was not cached."""
    if is_evaluating():
        with library_evaluation():
            count = len(function._traced)
            function._trace_types(args, kwargs)
        if len(function._traced) != count:
            check_leaks()


def _holder(tracer: Tracer, leaked: list[Tracer]) -> str:
    """Describe what refers to a tracer besides the list of leaked ones."""
    for holder in gc.get_referrers(tracer):
        if isinstance(holder, FrameType) or holder is leaked:
            continue
        if isinstance(holder, dict):
            for key in holder:
                if holder[key] is tracer:
                    return f"kept in a dict by the key {key!r}"
        return f"kept in a {type(holder).__name__}"
    return "kept by a variable"
