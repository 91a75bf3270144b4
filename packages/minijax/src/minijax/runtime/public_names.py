"""`__all__` of a package whose names come from its modules by `from ... import *`."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any


def public_names(namespace: Mapping[str, Any], *modules: str) -> list[str]:
    """The names in `namespace`, `globals()` of a package, that users are to see.

    Private names and modules are left out, apart from the modules named by `modules`.
    """
    return sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_") and (name in modules or not isinstance(value, ModuleType))
    )
