"""Facades: modules whose public names are imported from their rooms when they are first used.

Type checkers read the stub beside a facade, which `python -m tools.stubs` writes.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from glassjax.settings.names import Namespace, is_special, named


class _Facade(ModuleType):
    """A facade, which is pickled by its name."""

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep a public name, such as `einsum`, when a submodule of the same name is imported."""
        place = self.__places__.get(name)
        if place is None or place[0] == self.__name__ or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


def lazy_facade(
    namespace: Namespace,
    rooms: Mapping[str, str],
    finish: Callable[[str, Any], Any] = lambda name, value: value,
    otherwise: Callable[[str, str], Any] | None = None,
) -> None:
    """Make a module a facade, with the names of its rooms and the names that it defines itself.

    Arguments:
        namespace: `globals()` of the module, which calls this in its last line.
        rooms: the public names by the module that defines them, separated by spaces. `.elementwise`
            is a submodule of the facade; `.` stands before the names of public submodules.
            `name:alias` is public as `alias`, and `*` is all public names of the module.
        finish: `finish(name, value)` returns the facade's value for a value of the library.
        otherwise: `otherwise(facade, name)` returns the value of a name that is not public, or
            raises AttributeError.
    """
    facade = namespace["__name__"]
    places = dict(_places(facade, rooms))

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            own = {key for key, value in namespace.items() if not isinstance(value, ModuleType)}
            value: Any = sorted(key for key in {*places, *own} if not key.startswith("_"))
        elif name in places:
            module, attribute = places[name]
            if module == facade:
                return import_module(f"{facade}.{attribute}")
            value = finish(name, getattr(import_module(module), attribute))
        elif otherwise is not None and not is_special(name):
            return otherwise(facade, name)
        else:
            raise AttributeError(f"module {facade!r} has no attribute {name!r}")
        # A version may change: some libraries set it.
        return value if is_special(name) else namespace.setdefault(name, value)

    def __dir__() -> list[str]:
        return sorted({*sys.modules[facade].__all__, *filter(is_special, namespace)})

    namespace.update(__getattr__=__getattr__, __dir__=__dir__, __places__=places)
    sys.modules[facade].__class__ = _Facade


def primitives_by(function: str) -> Callable[[str, str], Any]:
    """The `otherwise` of a facade with names of primitives, which end in `_p`.

    Arguments:
        function: the name of a function of `lax.primitive_names`, from the names of the facade and
            of an attribute to a primitive. It is imported only for these.
    """

    def otherwise(facade: str, name: str) -> Any:
        if name.endswith("_p"):
            return named("glassjax.lax.primitive_names", function)(facade, name)
        raise AttributeError(f"module {facade!r} has no attribute {name!r}")

    return otherwise


def _places(facade: str, rooms: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each public name of a facade with the module that defines it, and its name there."""
    for room, names in rooms.items():
        module = f"{facade}{room}".removesuffix(".") if room.startswith(".") else room
        if "*" in names:
            names = names.replace("*", " ".join(import_module(module).__all__))
        for public in names.split():
            name, _, alias = public.partition(":")
            yield alias or name, (module, name)


# Public modules that are too small for a file: their names are defined in larger ones.


def make_module(
    name: str,
    doc: str,
    rooms: Mapping[str, str],
    otherwise: Callable[[str, str], Any] | None = None,
) -> ModuleType:
    """Return a facade that has no file; the package that it is in calls this.

    Arguments:
        name: its full name, such as "glassjax.extend.random".
        doc: its docstring.
        rooms: as for `lazy_facade`.
        otherwise: as for `lazy_facade`.
    """
    module = ModuleType(name, doc)
    module.__spec__ = ModuleSpec(name, None)
    sys.modules[name] = module
    package, _, attribute = name.rpartition(".")
    vars(sys.modules[package]).setdefault("__path__", [])  # by which imports know a package
    vars(sys.modules[package]).setdefault(attribute, module)
    lazy_facade(vars(module), rooms, otherwise=otherwise)
    return module
