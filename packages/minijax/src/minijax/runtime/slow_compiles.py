"""Notices of programs that XLA takes long to compile, with advice."""

import logging
import os
import threading
import time
from contextlib import suppress

from minijax.settings.config import config
from minijax_stage2.source import Source, user_source

_logger = logging.getLogger("minijax.slow_compiles")

_MANY_LINES = 3_000
_SHARE_OF_A_PROCESS = 0.1  # a process that gets less time than this waits for something


class _Compilation:
    """A program that is being compiled."""

    def __init__(self, text: str, source: Source | None, seconds: float):
        self.text = text
        self.source = source
        self.start, self.start_of_process = time.monotonic(), time.process_time()
        self.seconds = seconds  # after which the next notice is due

    @property
    def due(self) -> float:
        """The earliest time at which the next notice is due; it is later if others compute."""
        now = time.monotonic()
        passed = now - self.start
        spent = min(passed, time.process_time() - self.start_of_process)
        return now + self.seconds - max(spent, _SHARE_OF_A_PROCESS * passed)

    def notice(self) -> None:
        name = self.text[:200].partition("@")[2].partition(" ")[0].removeprefix("jit_")
        called = "" if self.source is None else f", called at {self.source},"
        lines = self.text.count("\n")
        if lines >= _MANY_LINES:
            remedy = (
                f"It has {lines} operations. A loop of Python is written out round by round: "
                "`lax.scan` and `lax.fori_loop` keep one body, which compiles once"
            )
        else:
            remedy = (
                f"It has {lines} operations, which seldom take that long. Programs compile faster, "
                "and run slower, without a pass of XLA such as fusion: "
                '`jit(f, compiler_options={"xla_disable_hlo_passes": "fusion"})`'
            )
        _logger.warning(
            "XLA has been compiling `%s`%s for %g s and is not done. %s. "
            "(MINIJAX_SLOW_COMPILE_NOTICE_SECS=0 turns this notice off.)",
            name,
            called,
            self.seconds,
            remedy,
        )
        self.seconds *= 2


_running: set[_Compilation] = set()
_changed = threading.Condition()  # guards what stands here
_watcher: threading.Thread | None = None
_wakes_at = 0.0


class noticed_when_slow:
    """A context that logs a notice if compiling a program in it takes long."""

    def __init__(self, step: str, text: str):
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
    watcher = threading.Thread(target=_watch, name="minijax-slow-compiles", daemon=True)
    with suppress(RuntimeError):  # no thread can be started any more: the process ends
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


def _after_fork_in_child() -> None:
    """Reset the state in the child, which compiles nothing and has no watcher."""
    global _changed, _watcher
    _changed, _watcher = threading.Condition(), None
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

__all__ = ["noticed_when_slow"]
