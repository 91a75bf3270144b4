"""The clients of XLA."""

from typing import Any

from minijax.extend.backend import backends, get_backend
from minijax.runtime.devices import default_backend

__all__ = ["backends", "default_backend", "get_backend"]


def __getattr__(name: str) -> Any:
    if name == "_backends":
        return backends()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
