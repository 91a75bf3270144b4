"""Frames that messages leave out."""

from types import FrameType
from typing import Any

from minijax.errors.tracebacks import hiding_frames
from minijax.extend.source_info_util import register_exclusion
from minijax_stage2.source import is_machinery

_exclude_paths: list[str] = []  # which libraries read; hidden files are known by directory


def api_boundary(fun: Any, **options: Any) -> Any:
    """Leave the library's own frames out of the tracebacks of errors that `fun` raises."""
    return hiding_frames(fun)


def include_frame(frame: FrameType) -> bool:
    """Return True if a frame is the user's."""
    return not is_machinery[frame.f_code.co_filename]


__all__ = ["api_boundary", "include_frame", "register_exclusion"]
