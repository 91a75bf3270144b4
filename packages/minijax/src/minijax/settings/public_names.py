"""Lists of public names, `__all__`, derived from the names of a module.

Type checkers do not see these lists: to them all names without a leading underscore are public.
"""

from collections.abc import MutableMapping
from types import ModuleType
from typing import Any

Namespace = MutableMapping[str, Any]


def set_all(namespace: Namespace) -> None:
    """Set `__all__` of a module: the names of the functions and classes that it defines.

    A module calls this in its last line if all of them are public, apart from those with a leading
    underscore, and too many to list on one line.

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
    _list_public_names(namespace)


def set_all_of_facade(namespace: Namespace, *modules: str) -> None:
    """Set `__all__` of a facade that re-exports modules with `from ... import *`.

    Arguments:
        namespace: `globals()` of the facade.
        modules: the names of modules that are public; other modules and private names are not.
    """
    namespace["__all__"] = sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_") and (name in modules or not isinstance(value, ModuleType))
    )
    _list_public_names(namespace)


def _list_public_names(namespace: Namespace) -> None:
    """Make `dir` of a module, and so the completion of a prompt, list what is public."""

    def __dir__() -> list[str]:
        return sorted({*namespace["__all__"], *filter(is_special, namespace)})

    namespace["__dir__"] = __dir__


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
