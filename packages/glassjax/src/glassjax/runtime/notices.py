"""Notices about compilation: functions traced again, slow programs, and unrolled loops.

Each kind has its own logger. This module is imported with the first notice.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import CodeType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

from glassjax import xla
from glassjax.runtime.repetition import largest_repetition
from glassjax.runtime.signature import exact_type
from glassjax.settings.config import config
from glassjax_stage2 import ShapedArray
from glassjax_stage2.arguments import argument_names
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import Dialect
from glassjax_stage2.source import Source, name_of, user_source
from glassjax_stage2.tree import PyTreeDef, tree_leaves
from glassjax_stage3 import Jaxpr, JaxprEqn

T = TypeVar("T")


def _log(kind: str, message: str, *arguments: Any) -> None:
    """Log a notice of this kind, which Python writes to stderr by default."""
    import logging  # late: importing it takes milliseconds

    logging.getLogger(f"glassjax.{kind}").warning(message, *arguments)


# 1. Retracing: how a call differs from the most similar earlier call

# By code object, the last function traced while explanations were on.
_functions: "WeakKeyDictionary[CodeType, ref[Any]]" = WeakKeyDictionary()


class Call:
    """The signature of a call: structure, types, and static values of the arguments."""

    def __init__(
        self,
        in_tree: PyTreeDef,
        in_avals: Sequence[ShapedArray],
        static: Any,
        numbers: Dialect,
        mesh: Any,
    ):
        self.in_tree = in_tree
        self.in_avals = in_avals
        self.bits = numbers.bits
        self.mesh = mesh
        self.static = {which: value for which, _, value in static}


def explain_tracing(function: Any, key: tuple[Any, ...]) -> None:
    """Log why a user's jitted function is traced.

    Arguments:
        function: the jitted function.
        key: the key of the missing program.
    """
    if function.is_users:
        earlier = [
            Call(traced.in_tree, *other[1:]) for other, traced in [*function._traced.items()]
        ]
        explain(function._fun, Call(*key), earlier)


def explain(fun: Any, call: Call, earlier: Sequence[Call]) -> None:
    """Log, as a warning, why `fun` is traced for `call` after the `earlier` ones.

    Arguments:
        fun: the function that is traced.
        call: the call without a cached program.
        earlier: the calls with cached programs, the latest last.
    """
    name = f"`{name_of(fun)}` is traced at {user_source() or 'an unknown line'}"
    code = _code_of(fun)
    last = None if code is None else _functions.get(code)
    if code is not None:
        _functions[code] = ref(fun)
    if earlier:
        # If several calls differ equally, the latest is most likely to help.
        nearest = min(reversed(earlier), key=lambda other: _distance(fun, other, call))
        lines = _differences(fun, nearest, call) or ["nothing that can be named"]
        before = "the earlier one" if len(earlier) == 1 else f"the nearest of {len(earlier)} others"
        message = f"{name} again, for it is called in a new way. Different from {before}:"
        _log("retracing", "%s", "\n    ".join([message, *lines]))
    elif last is not None and last() is fun:
        _log("retracing", "%s again, for it is jitted again with other options", name)
    elif code is not None and last is not None:
        _log(
            "retracing",
            "%s, though a function of the same code was traced before: this is another function "
            "object, defined again at %s:%s. Traces belong to one function object: define and jit "
            "it once, outside the loop or function that repeats it",
            *(name, code.co_filename, code.co_firstlineno),
        )
    else:
        _log("retracing", "%s for the first time", name)


def _code_of(fun: Any) -> CodeType | None:
    while isinstance(fun, partial) or hasattr(fun, "__func__"):
        fun = fun.func if isinstance(fun, partial) else fun.__func__
    return getattr(fun, "__code__", None)


def _distance(fun: Any, before: Call, now: Call) -> int:
    other_structure = before.in_tree != now.in_tree
    return 1_000 * other_structure + len(_differences(fun, before, now))


def _differences(fun: Any, before: Call, now: Call) -> list[str]:
    """A line for each difference."""
    lines = []
    leaves_before, leaves_now = _leaves_by_name(fun, before), _leaves_by_name(fun, now)
    for name in {**leaves_before, **leaves_now}:
        if name not in leaves_now:
            lines.append(f"argument {name}: {leaves_before[name][0]} before, missing now")
        elif name not in leaves_before:
            lines.append(f"argument {name}: missing before, {leaves_now[name][0]} now")
        else:
            (aval_before, passed_before), (aval, passed) = leaves_before[name], leaves_now[name]
            if aval_before is not aval:
                lines.append(f"argument {name}: {_change(aval_before, aval)}")
            if passed_before != passed:
                lines.append(f"argument {name}: passed by {passed_before} before, by {passed} now")
    static_before, static_now = _static_by_name(fun, before), _static_by_name(fun, now)
    for name in {**static_before, **static_now}:
        values = static_before.get(name, _NOT_PASSED), static_now.get(name, _NOT_PASSED)
        if not _are_one(*values):
            lines.append(f"static argument {name}: {_shown(*values)}")
    if before.bits != now.bits:
        lines.append(f"numbers of no dtype: {before.bits} bits before, {now.bits} bits now")
    if before.mesh != now.mesh:
        lines.append(f"the mesh in context: {before.mesh} before, {now.mesh} now")
    if not lines and before.in_tree != now.in_tree:
        lines.append(f"structure of the arguments: {before.in_tree} before, {now.in_tree} now")
    return lines


def _leaves_by_name(fun: Any, call: Call) -> dict[str, tuple[ShapedArray, str]]:
    """The type of each leaf, and how its argument was passed: by position or by name."""
    args, kwargs = call.in_tree.unflatten(call.in_avals)
    by_position = len(tree_leaves(args))
    ways = ["position" if i < by_position else "name" for i in range(len(call.in_avals))]
    names = argument_names(fun, args, kwargs)
    return dict(zip(names, zip(call.in_avals, ways, strict=True), strict=True))


def _static_by_name(fun: Any, call: Call) -> dict[str, Any]:
    values = {}
    for which, value in call.static.items():
        name = which if isinstance(which, str) else argument_names(fun, range(which + 1), {})[which]
        values[name] = value
    return values


def _change(before: ShapedArray, now: ShapedArray) -> str:
    changes = []
    if before.shape != now.shape:
        changes.append("shape")
    if before.dtype != now.dtype:
        changes.append("dtype")
    if before.weak_type != now.weak_type:
        kinds = ["a Python number" if aval.weak_type else "an array" for aval in (before, now)]
        changes.append(f"weak type: {kinds[0]} before, {kinds[1]} now")
    return f"{before} before, {now} now ({'; '.join(changes)})"


class _NotPassed:
    def __repr__(self) -> str:
        return "not passed"


_NOT_PASSED = _NotPassed()


def _are_one(x: Any, y: Any) -> bool:
    return x is y or (exact_type(x) == exact_type(y) and bool(x == y))


def _shown(before: Any, now: Any) -> str:
    both = f"{shown(before)} before, {shown(now)} now"
    if repr(before) == repr(now):
        return f"{both}, which look alike but are not equal; give their class __eq__ and __hash__"
    if type(before) is not type(now) and not any(x is _NOT_PASSED for x in (before, now)):
        return f"{both}, of type {type(before).__name__} and {type(now).__name__}"
    return both


# 2. Programs that XLA takes long to compile, with advice

_MANY_LINES = 3_000
_SHARE_OF_A_PROCESS = 0.1  # below this share of a CPU, a process waits for something


class _Compilation:
    """A program that is being compiled."""

    def __init__(self, text: str, source: Source | None, seconds: float):
        self.text = text
        self.source = source
        self.start, self.start_of_process = time.monotonic(), time.process_time()
        self.seconds = seconds  # until the next notice

    @property
    def due(self) -> float:
        """The earliest time when the next notice is due; later if other processes compute."""
        now = time.monotonic()
        passed = now - self.start
        # The time of all threads together may pass faster than the clock.
        spent = min(passed, time.process_time() - self.start_of_process)
        return now + self.seconds - max(spent, _SHARE_OF_A_PROCESS * passed)

    def notice(self) -> None:
        name = self.text[:200].partition("@")[2].partition(" ")[0].removeprefix("jit_")
        called = "" if self.source is None else f", called at {self.source},"
        lines = self.text.count("\n")
        if lines >= _MANY_LINES:
            remedy = (
                f"It has {lines} operations. Python loops are unrolled: "
                "`lax.scan` and `lax.fori_loop` keep one body, which compiles once"
            )
        elif xla.platform_of() == "cuda":
            remedy = (
                f"It has {lines} operations, for which XLA tries several kernels on the GPU. "
                "Programs compile faster, but may run slower, with the first: `jit(f, "
                'compiler_options={"xla_gpu_autotune_level": 0})`'
            )
        else:
            remedy = (
                f"It has {lines} operations, which seldom take that long. Programs compile faster, "
                "but run slower, without one of XLA's passes, such as fusion: "
                '`jit(f, compiler_options={"xla_disable_hlo_passes": "fusion"})`'
            )
        _log(
            "slow_compiles",
            "XLA has been compiling `%s`%s for %g s and is not done. %s. "
            "(GLASSJAX_SLOW_COMPILE_NOTICE_SECS=0 turns this notice off.)",
            name,
            called,
            self.seconds,
            remedy,
        )
        self.seconds *= 2


_running: set[_Compilation] = set()
_changed = threading.Condition()  # guards the state below
_watcher: threading.Thread | None = None
_wakes_at = 0.0


class noticed_when_slow:
    """A context that logs a notice if compiling a program in it takes long."""

    def __init__(self, text: str):
        self.compilation = _Compilation(text, user_source(), config.slow_compile_notice_secs)

    def __enter__(self) -> None:
        with _changed:
            _running.add(self.compilation)
            _wake_watcher(self.compilation.due)

    def __exit__(self, *exception: object) -> None:
        with _changed:
            _running.discard(self.compilation)


def _wake_watcher(due: float) -> None:
    """Wake the watcher at this time, or earlier.

    One thread watches all compilations. It sleeps until a notice may be due, and ends if it then
    finds nothing: thousands of fast compilations cost one thread every few seconds.
    """
    global _watcher, _wakes_at
    if _watcher is not None:
        if due < _wakes_at:
            _wakes_at = due
            _changed.notify()
        return
    watcher = threading.Thread(target=_watch, name="glassjax-slow-compiles", daemon=True)
    with suppress(RuntimeError):  # the process is ending and starts no more threads
        watcher.start()
        _watcher, _wakes_at = watcher, due


def _watch() -> None:
    global _watcher, _wakes_at
    while True:
        with _changed:
            if not _running:
                _watcher = None
                return
            _wakes_at = min(compilation.due for compilation in _running)
            _changed.wait(max(_wakes_at - time.monotonic(), 0.01))
            now = time.monotonic()
            slow = [compilation for compilation in _running if compilation.due <= now]
        for compilation in slow:
            compilation.notice()


def _reset_notices_in_child() -> None:
    """Reset the state in the child, which compiles nothing and has no watcher."""
    global _changed, _watcher
    _changed, _watcher = threading.Condition(), None
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_notices_in_child)


# 3. Programs that repeat one block of equations, as an unrolled loop does

_SHORT = 500  # equations; shorter repetitions compile fast


def compile_repetitive(jaxpr: Jaxpr, name: str, compile: Callable[[], T]) -> T:
    """Compile a program, and log what it repeats with the time that this took."""
    start = time.monotonic()
    compiled = compile()
    seconds = time.monotonic() - start
    found = largest_repetition(jaxpr, config.repeated_block_notice + 1)
    if found is not None and found[1].length >= _SHORT:
        program, repetition = found
        block = program.eqns[repetition.start : repetition.start + repetition.period]
        _log(
            "repeated_blocks",
            "%s repeats %s %s times%s: a loop of Python, unrolled. XLA compiled the program in "
            "%.1f s. A loop compiles one block: `lax.scan`, or `experimental.roll(f)`, jitted. "
            "(GLASSJAX_REPEATED_BLOCK_NOTICE=0 turns this notice off.)",
            *(name, _block_as_text(block), f"{repetition.count:,}", _lines(block), seconds),
        )
    return compiled


def _block_as_text(block: Sequence[JaxprEqn]) -> str:
    """The primitives of a block, the most frequent first."""
    counts = Counter(str(eqn.primitive) for eqn in block).most_common(3)
    names = ", ".join(name for name, _ in counts)
    if len(block) == 1:
        return f"the equation {names}"
    more = ", ..." if len(counts) < len({eqn.primitive for eqn in block}) else ""
    return f"a block of {len(block)} equations ({names}{more})"


def _lines(block: Sequence[JaxprEqn]) -> str:
    """The first line of a block, and the last one if it is in the same file."""
    sources = [eqn.source for eqn in block if eqn.source is not None]
    if not sources:
        return ""
    file = sources[0].code.co_filename
    lines = sorted(source.line for source in sources if source.code.co_filename == file)
    if lines[0] == lines[-1]:
        return f", at {file}:{lines[0]}"
    return f", at {file}:{lines[0]} to {lines[-1]}"
