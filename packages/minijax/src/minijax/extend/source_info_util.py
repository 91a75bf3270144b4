"""Places in the user's program, under the names of `jax.extend.source_info_util`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minijax.runtime.named_scope import NameStack, Transform, open_parts, parts_opened
from minijax_stage2.source import Source as SourceInfo
from minijax_stage2.source import hide_frames_of, on_behalf_of, user_source


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


def current_name_stack() -> NameStack:
    """The names of the enclosing parts of the program. Transformations add none, unlike JAX's."""
    return NameStack(open_parts())


def new_name_stack(name: str = "") -> NameStack:
    """A stack of this name, or an empty one."""
    return NameStack((name,) if name else ())


@contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """Name a part of the program, as `named_scope` does, and return the names."""
    with parts_opened([name]):
        yield current_name_stack()


@contextmanager
def transform_name_stack(name: str) -> Iterator[NameStack]:
    """Say that a transformation made what follows, and return the names."""
    with parts_opened([Transform(name)]):
        yield current_name_stack()


@contextmanager
def set_name_stack(name_stack: NameStack) -> Iterator[None]:
    """Use these names in place of those of the enclosing parts."""
    with parts_opened(name_stack.stack, instead=True):
        yield


def reset_name_stack() -> Any:
    """Use no names, whatever the enclosing parts are called."""
    return set_name_stack(NameStack())


__all__ = [
    "NameStack", "SourceInfo", "current", "current_name_stack", "extend_name_stack",
    "new_name_stack", "new_source_info", "register_exclusion", "reset_name_stack", "set_name_stack",
    "summarize", "transform_name_stack", "user_context",
]  # fmt: skip
