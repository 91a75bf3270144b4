"""Names that widely used libraries import from JAX's private modules, `jax._src`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """A module of this package; programs name these without importing each."""
    if name.startswith("__"):
        raise AttributeError(name)
    module = f"jax._src.{name}"  # some are public modules of this library
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
