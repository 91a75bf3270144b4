"""Tracebacks without this library's frames, unless a setting asks for them.

Frames are hidden where an exception leaves this library for the user's code: public functions have
an `except` that calls `hide_frames` and raises the exception again. Python itself is not changed;
exceptions that do not pass through this library keep all frames.
"""

import builtins
import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from traceback import walk_tb
from types import TracebackType
from typing import Any, TypeVar

from glassjax.errors import name_page
from glassjax.errors.arguments import blame_argument, is_internal, is_ours
from glassjax.settings.config import config

_filtering = config.declare(
    "traceback_filtering",
    ("auto", "off", "remove_frames", "quiet_remove_frames", "tracebackhide"),
    "auto",
    "What becomes of the frames of glassjax in tracebacks. `off`: they are shown. `remove_frames`: "
    "they are not, and a note says so. `quiet_remove_frames`: without the note. `tracebackhide`: "
    "they are marked for IPython and pytest to hide. `auto`: marked in IPython, else removed.",
)

NOTE = "(glassjax hides its own frames; GLASSJAX_TRACEBACK_FILTERING=off shows them)"


def hide_frames(error: Exception) -> None:
    """Hide the frames of this library in a traceback, according to the setting.

    Call it in an `except` that raises the exception again with a bare `raise`. That adds no frame,
    so the frame of the catching function is hidden, too.

    That function should call another function before its `try`, so that the stack has room for this
    call, and no second RecursionError replaces the first.
    """
    try:
        is_internal(error)  # decided now, while all frames are there
        name_page(error)
        mode = _filtering.value
        if mode == "auto":
            mode = "tracebackhide" if hasattr(builtins, "__IPYTHON__") else "remove_frames"
        if mode == "tracebackhide":
            _mark_frames(error)
        elif mode != "off":
            _remove_frames(error, with_note=mode == "remove_frames")
    except RecursionError:  # an outer call has room for it
        pass


def _remove_frames(error: Exception, with_note: bool) -> None:
    """Remove our frames; the note is added to the exception itself, not to its causes."""
    was_longer = False
    for each in _with_chained(error):
        shorter = _without_ours(each.__traceback__)
        if shorter is not each.__traceback__:
            each.with_traceback(shorter)
            was_longer = True
        notes = getattr(each, "__notes__", None)
        if with_note and isinstance(notes, list) and NOTE in notes:
            notes.remove(NOTE)
            was_longer = True
    # The message of a program that failed in a callback quotes the callback's error, with its
    # notes.
    is_quoted = any(isinstance(arg, str) and NOTE in arg for arg in error.args)
    if with_note and was_longer and not is_quoted:
        with suppress(AttributeError, TypeError):  # a user's exception may reject notes
            error.add_note(NOTE)


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without our frames; unchanged if it has none."""
    kept = []
    while traceback is not None:
        if not is_ours(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    rest: TracebackType | None = None
    for entry in reversed(kept):
        if entry.tb_next is rest:
            rest = entry
        else:
            rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def _mark_frames(error: Exception) -> None:
    """Mark our frames so that IPython and pytest hide them.

    The first one is removed: it is still running, and reading its variables would keep the
    exception alive, which is one of them.
    """
    traceback = error.__traceback__
    if traceback is not None and is_ours(traceback.tb_frame.f_code.co_filename):
        error.with_traceback(traceback.tb_next)
    for each in _with_chained(error):
        for frame, _ in walk_tb(each.__traceback__):
            if is_ours(frame.f_code.co_filename):
                frame.f_locals["__tracebackhide__"] = True


def _with_chained(error: BaseException) -> Iterator[BaseException]:
    """The exception, its causes, contexts and subexceptions, each once."""
    seen: set[int] = set()
    found: list[BaseException | None] = [error]
    while found:
        each = found.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            found += each.__cause__, each.__context__
            if isinstance(each, BaseExceptionGroup):
                found += each.exceptions


Function = TypeVar("Function", bound=Callable[..., Any])


def hiding_frames(function: Function) -> Function:
    """Decorator: hide our frames in the exceptions that a function raises.

    An internal error becomes one that names the offending argument, if there is one. The wrapper
    costs a call; functions that cannot afford it catch exceptions themselves.
    """

    @functools.wraps(function)
    def hiding(*args: Any, **kwargs: Any) -> Any:
        _require_room()
        try:
            return function(*args, **kwargs)
        except Exception as error:
            try:
                blame_argument(function, args, kwargs, error)
            except Exception as better:
                hide_frames(better)
                raise
            hide_frames(error)
            raise

    wrapper: Any = hiding
    wrapper.__wrapped__ = getattr(function, "__wrapped__", function)  # the user's function
    return wrapper


def _require_room() -> None:
    """Raise RecursionError if the stack has no room for another call."""
