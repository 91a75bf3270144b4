"""Debugging switches: `disable_jit`, `log_compiles`, `debug_nans`, and the others.

Each is declared here, with its context manager. Most of their implementation is in `checks`.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minijax.settings.config import Switch, config
from minijax.settings.monitoring import COMPILED, LOWERED, TRACED
from minijax.settings.number_types import NumbersOption
from minijax.settings.reusable_contexts import reusable_context

disable_jit_option = config.declare(
    "disable_jit",
    bool,
    False,
    "Whether jitted functions, loops and choices run as the Python that they are written in.",
    Switch,
)
nans_option = config.declare(
    "debug_nans",
    bool,
    False,
    "Whether a result that is not a number is an error, which says where it was computed.",
    Switch,
)
infs_option = config.declare(
    "debug_infs",
    bool,
    False,
    "Whether a result that is infinite is an error, which says where it was computed.",
    Switch,
)
key_reuse_option = config.declare(
    "debug_key_reuse",
    bool,
    False,
    "Whether it is an error to draw from a random key more than once.",
    Switch,
)
tracer_leaks_option = config.declare(
    "check_tracer_leaks",
    bool,
    False,
    "Whether it is an error if a tracer outlives the call that it belongs to.",
    Switch,
)


class _CheckedIndices(Switch, NumbersOption):
    """A switch on which programs depend."""


static_indices_option = config.declare(
    "check_static_indices",
    bool,
    False,
    "Whether it is an error to read `x[i]` if `i` is an int out of bounds.",
    _CheckedIndices,
)
no_tracing_option = config.declare(
    "no_tracing", bool, False, "Whether it is an error to trace a jitted function.", Switch
)
_no_execution = config.declare(
    "no_execution", bool, False, "Whether it is an error to compute anything.", Switch
)
config.declare(
    "hlo_source_file_canonicalization_regex",
    str,
    None,
    "A pattern; what it matches is left out of the names of files in source maps.",
)
config.declare(
    "slow_compile_notice_secs",
    float,
    5.0,
    "After how many seconds of compiling a notice says which program it is, and again whenever "
    "that time has doubled. Seconds are those of the process: other work on the machine does not "
    "count. 0: never.",
)
_log_compiles = config.option("log_compiles")
_explain_cache_misses = config.option("explain_cache_misses")
_logger = logging.getLogger("minijax.compilation")
# The steps of compiling in the log, which tools read: the words are JAX's.
_STEPS = {
    TRACED: "tracing {} for jit",
    LOWERED: "jaxpr to MLIR module conversion {}",
    COMPILED: "XLA compilation of {}",
}


@reusable_context
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Set `config.disable_jit` for the block of a `with`, in this thread only.

    Jitted functions then run as plain Python, and so do `scan`, `while_loop`, `fori_loop`, `cond`,
    `switch` and `map`, if the values that they depend on are known: a debugger steps through them,
    and `print` shows values.

    Raises:
        TypeError: `disable` is not a bool.

    >>> import minijax
    >>> with disable_jit():
    ...     minijax.jit(lambda x: print(f"{x=}"))(3)
    x=3
    """
    with disable_jit_option.override(disable):
        yield


@reusable_context
def log_compiles(new_val: bool = True) -> Iterator[None]:
    """Set `config.log_compiles` for the block of a `with`, in this thread only.

    Traces and compilations, and their times, are logged as warnings by the loggers below "minijax",
    which Python writes to stderr by default.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> import logging
    >>> handler = logging.Handler()
    >>> handler.emit = lambda record: print(record.getMessage().partition(" in ")[0])
    >>> logging.getLogger("minijax").addHandler(handler)
    >>> with minijax.log_compiles():
    ...     y = minijax.jit(lambda x: x + 1.0)(2.0)
    Finished tracing <lambda> for jit
    Finished jaxpr to MLIR module conversion jit(<lambda>)
    Finished XLA compilation of jit(<lambda>)
    >>> logging.getLogger("minijax").removeHandler(handler)
    """
    with _log_compiles.override(new_val):
        yield


@reusable_context
def explain_cache_misses(new_val: bool = True) -> Iterator[None]:
    """Set `config.explain_cache_misses` for the block of a `with`, in this thread only.

    When a function is traced again, the difference from earlier calls is written to stderr.

    >>> square = minijax.jit(lambda x: x * x)
    >>> with minijax.explain_cache_misses():
    ...     square(3.0)  # for the first time, which is said, too
    Array(9., dtype=float32, weak_type=True)
    """
    with _explain_cache_misses.override(new_val):
        yield


@reusable_context
def debug_nans(new_val: bool = True) -> Iterator[None]:
    """Set `config.debug_nans` for the block of a `with`, in this thread only.

    Every result is checked, which takes time. If a result of a compiled program is NaN, the program
    runs again, step by step, to find the step that computed it.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> import minijax.numpy as jnp
    >>> with debug_nans(True):
    ...     try:
    ...         jnp.log(jnp.zeros(2) - 1.0)
    ...     except FloatingPointError as error:
    ...         print(str(error).partition(" at ")[0])
    invalid value (nan) encountered in log
    """
    with nans_option.override(new_val):
        yield


@reusable_context
def debug_infs(new_val: bool = True) -> Iterator[None]:
    """Set `config.debug_infs` for the block of a `with`, in this thread only.

    Every result is checked, as with `debug_nans`: if one is infinite, the error says where it was
    computed.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> with minijax.debug_infs(True):
    ...     try:
    ...         1.0 / jnp.zeros(2)
    ...     except FloatingPointError as error:
    ...         print(str(error).partition(" at ")[0])
    invalid value (inf) encountered in div
    """
    with infs_option.override(new_val):
        yield


@reusable_context
def debug_key_reuse(new_val: bool = True) -> Iterator[None]:
    """Set `config.debug_key_reuse` for the block of a `with`, in this thread only.

    The check follows keys of dtype `key<fry>`, not those that are two words of uint32. Jitted
    functions are staged before each call, which takes time.

    >>> from minijax import random
    >>> with debug_key_reuse(True):
    ...     key = random.key(0)
    ...     x = random.normal(key)
    ...     try:
    ...         random.uniform(key)
    ...     except minijax.errors.KeyReuseError as error:
    ...         print(str(error).partition(":")[0])
    a random key is used twice
    """
    with key_reuse_option.override(new_val):
        yield


@reusable_context
def no_tracing(new_val: bool = True) -> Iterator[None]:
    """Make it an error to trace a jitted function, for the block of a `with`, in this thread only.

    So a loop is known not to compile anew at some step.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> double = minijax.jit(lambda x: 2.0 * x)
    >>> y = double(jnp.ones(3))
    >>> with minijax.no_tracing():
    ...     y = double(jnp.ones(3))
    ...     try:
    ...         double(np.ones(4))
    ...     except RuntimeError as error:
    ...         print(error)
    re-tracing function <lambda> for `jit`, but 'no_tracing' is set: it was not called before with \
arguments of these types. config.explain_cache_misses tells what differs
    """
    with no_tracing_option.override(new_val):
        yield


def refused(step: str, about: Any) -> None:
    """Raise RuntimeError, as a jitted function may not be traced here."""
    function, _ = about
    raise RuntimeError(
        f"re-tracing function {function._name} for `{function.caller or 'jit'}`, but 'no_tracing' "
        "is set: it was not called before with arguments of these types. "
        "config.explain_cache_misses tells what differs"
    )


@reusable_context
def no_execution(new_val: bool = True) -> Iterator[None]:
    """Make it an error to compute anything, for the block of a `with`, in this thread only.

    Functions can be traced, lowered and compiled.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> with minijax.no_execution():
    ...     jaxpr = minijax.make_jaxpr(jnp.sin)(1.0)
    ...     try:
    ...         jnp.sin(1.0)
    ...     except RuntimeError as error:
    ...         print(error)
    minijax tried to execute `sin`, but 'no_execution' is set
    """
    with _no_execution.override(new_val):
        yield


def require_execution(name: object) -> None:
    """Raise RuntimeError if nothing may be computed here."""
    if Switch.used and _no_execution.value:
        raise RuntimeError(f"minijax tried to execute `{name}`, but 'no_execution' is set")


def jit_is_disabled() -> bool:
    return Switch.used and bool(disable_jit_option.value)


def logs_compiles() -> bool:
    return Switch.used and bool(_log_compiles.value)


@contextmanager
def logged(event: str, fun_name: str) -> Iterator[None]:
    """Log how long a step of compiling took, of a function of this name."""
    start = time.perf_counter()
    yield
    what = _STEPS[event].format(fun_name)
    _logger.warning("Finished %s in %.9f sec", what, time.perf_counter() - start)
