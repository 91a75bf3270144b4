"""Lists of public names, late imports, functions named on a command line, pickling by name."""

import copyreg
import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, MutableMapping
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from glassjax_stage2 import Primitive, ShapedArray

# The default of arguments for which None is a value.


class _NotGiven:
    def __repr__(self) -> str:
        return "<not given>"


not_given: Any = _NotGiven()


# Lists of public names, `__all__`, derived from the names of a module.
#
# Type checkers do not see these lists: to them all names without a leading underscore are public.


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
    list_public_names(namespace)


def also_importable_as(namespace: Namespace, *names: str) -> None:
    """Let a module be imported under names that are modules of their own in JAX.

    Arguments:
        namespace: `globals()` of the module.
        names: the names, qualified by their packages.
    """
    module = sys.modules[namespace["__name__"]]
    for name in names:
        package, _, attribute = name.rpartition(".")
        sys.modules[name] = module
        vars(sys.modules[package]).setdefault(attribute, module)
        vars(sys.modules[package]).setdefault("__path__", [])


def list_public_names(namespace: Namespace) -> None:
    """Make `dir` of a module, and so completion, list only public names."""

    def __dir__() -> list[str]:
        return sorted({*namespace["__all__"], *filter(is_special, namespace)})

    namespace["__dir__"] = __dir__


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


# Imports at first use, mostly of names that a room needs from a room above it.


@functools.cache
def named(module: str, name: str) -> Any:
    """The value of a name in a module, by the module's name."""
    return getattr(importlib.import_module(module), name)


def later(module: str, name: str) -> Callable[..., Any]:
    """A function in a module that is imported when the function is first called."""

    def imported_call(*args: Any, **kwargs: Any) -> Any:
        return named(module, name)(*args, **kwargs)

    return imported_call


# Functions named on a command line: `FILE:FUNCTION` or `MODULE:FUNCTION`.


def function_named(text: str, default: str | None = None) -> Callable[..., Any]:
    """The function that a text such as `model.py:loss` names.

    Arguments:
        text: a Python file or the name of a module, a colon, and the name of a function in it.
        default: the name of the function, if the text has none.

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


# Counts of things in messages.


_IRREGULAR = {"axis": "axes", "entry": "entries", "leaf": "leaves"}


def counted(number: int, noun: str) -> str:
    """A count of things, with the noun in the plural unless it is one.

    >>> counted(1, "axis"), counted(2, "axis"), counted(0, "positional argument")
    ('1 axis', '2 axes', '0 positional arguments')
    """
    head, _, last = noun.rpartition(" ")
    plural = f"{head} {_IRREGULAR.get(last, last + 's')}".strip()
    return f"{number} {noun if number == 1 else plural}"


# Pickling by name, for function objects, such as jitted functions, and for primitives.


class PickledByName:
    """Base of function objects: a pickle has the name by which they are imported.

    Objects without such a name are pickled by their parts, as given by `__reduce__`, and so are
    objects of `__main__`, which is another module in the process that unpickles.
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
        return _imported_by_name(self, "glassjax") or super().__reduce_ex__(protocol)


def _imported_by_name(value: Any, package: str = "") -> tuple[Any, ...] | None:
    """The pickle of a module variable of the package, as a call; None for other values."""
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


# Wrappers of a user's function, with its name and docstring.


Function = TypeVar("Function", bound=Callable[..., Any])


def wraps(fun: Callable[..., Any], summary: str = "") -> Callable[[Function], Function]:
    """Decorator: `functools.wraps(fun)`, without attributes of types that functions reject.

    A summary of the wrapper stands before the docstring of `fun`.
    """
    if summary:
        return _with_summary(fun, summary)
    if isinstance(fun, FunctionType):
        return functools.wraps(fun)  # type: ignore[return-value]
    kinds = {"__name__": str, "__qualname__": str, "__annotations__": dict}
    kept = [
        name
        for name in functools.WRAPPER_ASSIGNMENTS
        if isinstance(getattr(fun, name, None), kinds.get(name, object))
    ]

    def decorate(wrapper: Function) -> Function:
        functools.update_wrapper(wrapper, fun, kept)
        return wrapper

    return decorate


def _with_summary(fun: Callable[..., Any], summary: str) -> Callable[[Function], Function]:
    def decorate(wrapper: Function) -> Function:
        wrapper = wraps(fun)(wrapper)
        wrapper.__doc__ = f"{summary}\n\n{wrapper.__doc__}" if wrapper.__doc__ else summary
        return wrapper

    return decorate
