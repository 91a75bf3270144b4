"""Pickling by name: of functions that are objects, such as jitted ones, and of primitives."""

import copyreg
import importlib
import sys
from typing import Any

from minijax_stage2 import Primitive, ShapedArray


class PickledByName:
    """Base of objects that stand for functions: a pickle has the name by which they are imported.

    Others are in a pickle by their parts, as `__reduce__` gives them; and those of `__main__`,
    which is another module in the process that reads the pickle.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        home = getattr(self, "__module__", None)
        name = getattr(self, "__qualname__", None)
        if home != "__main__" and isinstance(name, str):
            found: Any = sys.modules.get(home or "")
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is self:
                return name
        return _imported_by_name(self, "minijax") or super().__reduce_ex__(protocol)


def _imported_by_name(value: Any, package: str = "") -> tuple[Any, ...] | None:
    """The call that gives a value, a variable of a module of the package; None if it is none."""
    for name, module in list(sys.modules.items()):
        if name.startswith(package) and name != "__main__":
            for variable, found in list(getattr(module, "__dict__", {}).items()):
                if found is value:
                    return _variable, (name, variable)
    return None


def _variable(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _reduced(primitive: Primitive) -> Any:
    """The rules of a primitive are found by its identity."""
    return _imported_by_name(primitive) or object.__reduce_ex__(primitive, 2)


copyreg.pickle(Primitive, _reduced)
copyreg.pickle(ShapedArray, lambda aval: (ShapedArray, (aval.shape, aval.dtype, aval.weak_type)))
