"""jaxlib's profiler."""

from typing import Any

from minijax.xla.importing import import_module


def recorder() -> Any:
    """The module of sessions, annotations and servers."""
    return import_module("jaxlib._profiler")


def profile_data() -> Any:
    """The module of the classes of profiles."""
    return import_module("jaxlib._profile_data")
