"""Source locations in the user's program, for error messages.

Recording happens once per value, so it must be cheap: a code object and an offset. File and line
are computed only when a message needs them.
"""

import linecache
import os
import sys
from contextvars import ContextVar
from functools import partial
from types import CodeType, FrameType
from typing import Any

_hidden_directories: list[str] = []


def hide_frames_of(path: str) -> None:
    """Declare that messages never point into the directory of `path`."""
    _hidden_directories.append(os.path.dirname(os.path.abspath(path)) + os.sep)
    is_machinery.clear()


class _IsMachinery(dict[str, bool]):
    """A cache."""

    def __missing__(self, filename: str) -> bool:
        found = self[filename] = filename.startswith((*_hidden_directories, "<frozen"))
        return found


# By file, whether it belongs to a hidden package.
is_machinery = _IsMachinery()


class Source:
    """A place in a program: a code object and the offset of an instruction in it."""

    def __init__(self, code: CodeType, offset: int):
        self.code = code
        self.offset = offset

    @property
    def line(self) -> int:
        return next(line for _, end, line in self.code.co_lines() if line and self.offset < end)

    @property
    def text(self) -> str:
        """The text of the line, or nothing if the file cannot be read."""
        return linecache.getline(self.code.co_filename, self.line).strip()

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line} (in {self.code.co_name})"


# The line that machinery works for, if that is not the running line.
_on_behalf_of: ContextVar[Source | None] = ContextVar("on_behalf_of", default=None)
_get, _set = _on_behalf_of.get, _on_behalf_of.set  # bound once: every value uses them


def user_source(depth: int = 1) -> Source | None:
    """The user's running line, or None if there is only machinery.

    The frames up to `depth` are known to be machinery.
    """
    source = _get()
    if source is not None:
        return source
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and is_machinery[frame.f_code.co_filename]:
        frame = frame.f_back
    return None if frame is None else Source(frame.f_code, frame.f_lasti)


class on_behalf_of:
    """A context that attributes work to the line that caused it, even if it runs later.

    None: the line that is running.
    """

    def __init__(self, source: Source | None):
        self.source = source

    def __enter__(self) -> None:
        self.previous = _get()
        _set(self.source)

    def __exit__(self, *exception: object) -> None:
        _set(self.previous)


def name_of(f: Any) -> str:
    """Return the name of the function `f` for a message."""
    while isinstance(f, partial):
        f = f.func
    name = getattr(f, "__name__", None)
    return name if name and isinstance(name, str) else type(f).__name__
