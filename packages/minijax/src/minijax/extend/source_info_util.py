"""Places in the user's program, under the names of `jax.extend.source_info_util`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minijax.runtime.named_scope import named_scope
from minijax_stage1.source import Source as SourceInfo
from minijax_stage1.source import hide_frames_of, on_behalf_of, user_source


def current() -> SourceInfo | None:
    """The user's line that is running; None where only libraries are."""
    return user_source()


new_source_info = current


def register_exclusion(path: str) -> None:
    """Take the directory of `path` for a library's: messages never point into it."""
    hide_frames_of(path)


def summarize(source_info: SourceInfo | None, num_frames: int = 1) -> str:
    """The place as text: file, line and function."""
    return "unknown" if source_info is None else str(source_info)


@contextmanager
def user_context(traceback: Any, *, name_stack: Any = None) -> Iterator[None]:
    """Attribute what runs in the block to a place; None to the line that is running."""
    with on_behalf_of(traceback if isinstance(traceback, SourceInfo) else None):
        yield


def current_name_stack() -> str:
    """The names of the enclosing parts of the program, joined by slashes."""
    source = user_source()
    return "" if source is None else source.scope


def new_name_stack(name: str = "") -> str:
    """A stack of names that holds one."""
    return name


def extend_name_stack(name: str) -> Any:
    """Name a part of the program, as `named_scope` does."""
    return named_scope(name)


__all__ = [
    "SourceInfo", "current", "current_name_stack", "extend_name_stack", "new_name_stack",
    "new_source_info", "register_exclusion", "summarize", "user_context",
]  # fmt: skip
