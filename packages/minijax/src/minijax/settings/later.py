"""Imports at the first use, above all of what a room needs of one above it."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


@cache
def named(module: str, name: str) -> Any:
    """The value of that name in a module."""
    return getattr(import_module(module), name)


def later(module: str, name: str) -> Callable[..., Any]:
    """The function of that name in a module, which is imported with the first call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return named(module, name)(*args, **kwargs)

    return call
