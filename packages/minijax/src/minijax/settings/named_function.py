"""Functions that a command line names: `FILE:FUNCTION` or `MODULE:FUNCTION`."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def function_named(text: str, default: str | None = None) -> Callable[..., Any]:
    """The function that a text such as `model.py:loss` names.

    Arguments:
        text: a Python file or the name of a module, a colon, and the name of a function in it.
        default: the name of the function if the text has none.

    Raises:
        ValueError: there is no such file, module or function.

    >>> function_named("math:sqrt")(9.0)
    3.0
    """
    place, colon, name = text.rpartition(":")
    if not colon:
        place, name = text, default or ""
    if place.endswith(".py") and not os.path.exists(place):
        raise ValueError(f"there is no file {place!r}")
    try:
        module = _module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            raise
        raise ValueError(f"there is no module {place!r}; a file ends in .py") from None
    if not name:
        own = [key for key, value in vars(module).items() if _is_of(module, key, value)]
        raise ValueError(f"{place} has functions {', '.join(own)}: write {place}:NAME")
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ValueError(f"{place} has no function {name!r}")
    return found


def _is_of(module: ModuleType, name: str, value: Any) -> bool:
    is_own = getattr(value, "__module__", None) == module.__name__
    return callable(value) and is_own and not name.startswith("_")


def _module(name: str) -> ModuleType:
    """A module from a file, or by its name."""
    if not name.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(name)
    sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
    stem = os.path.basename(name).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(stem, name)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
