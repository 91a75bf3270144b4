"""Frames that messages leave out."""

from minijax.errors.tracebacks import hiding_frames as api_boundary
from minijax.extend.source_info_util import register_exclusion

__all__ = ["api_boundary", "register_exclusion"]
