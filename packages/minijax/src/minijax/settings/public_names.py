"""Lists of public names, `__all__`, found in the names of a module."""

from collections.abc import MutableMapping
from types import ModuleType
from typing import Any

Namespace = MutableMapping[str, Any]


def set_all(namespace: Namespace) -> None:
    """Set `__all__` of a module: the names of the functions and classes that it defines.

    A module calls this in its last line if all of them are public, apart from those with a leading
    underscore.

    Arguments:
        namespace: `globals()` of the module.
    """
    namespace["__all__"] = sorted(
        name
        for name, value in namespace.items()
        if callable(value)
        and getattr(value, "__module__", None) == namespace["__name__"]
        and not name.startswith("_")
    )


def gathered_names(namespace: Namespace, *modules: str) -> list[str]:
    """The public names of a facade, whose names come from its modules by `from ... import *`.

    Arguments:
        namespace: `globals()` of the facade.
        modules: modules that are public; others are left out, as private names are.
    """
    return sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_") and (name in modules or not isinstance(value, ModuleType))
    )
