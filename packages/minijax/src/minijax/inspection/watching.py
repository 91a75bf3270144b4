"""Calls that do more than they must, because somebody is looking: `disable_jit`, and the others."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minijax.arrays import tree_to_arrays
from minijax.config import Switch, config
from minijax.evaluation import library_evaluation
from minijax.inspection.invalid_numbers import looks_for_invalid_numbers
from minijax.inspection.key_reuse import (
    call_on_fresh_keys,
    is_staging_for_keys,
    looks_for_key_reuse,
)
from minijax.inspection.leaks import check_leaks, tracer_leaks
from minijax.reusable_contexts import reusable_context
from minijax_stage1.interpreter import is_evaluating

_disable_jit = config.declare(
    "disable_jit",
    bool,
    False,
    "Whether jitted functions, loops and choices run as the Python that they are written in.",
    Switch,
)
_log_compiles = config.option("log_compiles")
_explain_cache_misses = config.option("explain_cache_misses")
_logger = logging.getLogger(__name__)


@reusable_context
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Sets `config.disable_jit` for the block of a `with`, in this thread only.

    Jitted functions run as Python then, and so do `scan`, `while_loop`, `fori_loop`, `cond`,
    `switch` and `map`, as far as they know the values that they depend on: a debugger steps through
    them, and `print` shows values.

    Raises:
        TypeError: `disable` is no bool.

    >>> import minijax
    >>> with disable_jit():
    ...     minijax.jit(lambda x: print(f"{x=}"))(3)
    x=3
    """
    with _disable_jit.override(disable):
        yield


@reusable_context
def log_compiles(new_val: bool = True) -> Iterator[None]:
    """Sets `config.log_compiles` for the block of a `with`, in this thread only.

    What is traced and compiled there, and how long that took, is logged as warnings of the loggers
    below "minijax", which Python writes to stderr unless it is told otherwise.

    Raises:
        TypeError: `new_val` is no bool.

    >>> import logging
    >>> handler = logging.Handler()
    >>> handler.emit = lambda record: print(record.getMessage().partition(" in ")[0])
    >>> logging.getLogger("minijax").addHandler(handler)
    >>> with minijax.log_compiles():
    ...     y = minijax.jit(lambda x: x + 1.0)(2.0)
    Finished tracing `<lambda>`
    Finished compiling module @jit__lambda_
    >>> logging.getLogger("minijax").removeHandler(handler)
    """
    with _log_compiles.override(new_val):
        yield


@reusable_context
def explain_cache_misses(new_val: bool = True) -> Iterator[None]:
    """Sets `config.explain_cache_misses` for the block of a `with`, in this thread only.

    What is different from earlier calls is written to stderr where a function is traced again.

    >>> square = minijax.jit(lambda x: x * x)
    >>> with minijax.explain_cache_misses():
    ...     square(3.0)  # for the first time, which is said, too
    Array(9., dtype=float32, weak_type=True)
    """
    with _explain_cache_misses.override(new_val):
        yield


def jit_is_disabled() -> bool:
    return Switch.used and bool(_disable_jit.value)


# --8<-- [start:watched]
def watched_call(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a call of a jitted function, if somebody looks; None if it goes as usual."""
    if function.is_users and _disable_jit.value:
        return (function._fun(*args, **kwargs),)
    if looks_for_key_reuse() and not is_evaluating() and is_staging_for_keys():
        return (function._fun(*args, **kwargs),)
    if not is_evaluating():
        return None
    if looks_for_key_reuse():
        with library_evaluation():
            called = call_on_fresh_keys(function, args, kwargs)
        if called:
            return called
    if looks_for_invalid_numbers():
        with library_evaluation():
            try:
                return (tree_to_arrays(function._bind(args, kwargs)),)
            except FloatingPointError:
                if function._inside is not None:  # which the user's line calls
                    function._inside(*args, **kwargs)
                raise
    if tracer_leaks.value:
        with library_evaluation():
            count = len(function._traced)
            function._trace_types(args, kwargs)
        if len(function._traced) != count:
            check_leaks()
    return None


# --8<-- [end:watched]


@contextmanager
def logging_time(what: str) -> Iterator[None]:
    """Logs how long the block took, for those who asked for it."""
    if not (Switch.used and _log_compiles.value):
        yield
        return
    start = time.perf_counter()
    yield
    _logger.warning("Finished %s in %.6f s", what, time.perf_counter() - start)
