"""Contents of functions: everything their programs depend on besides argument types.

Contents are: variables that a function closes over, its defaults, the global variables that its
code names, and the same for the functions found there; the instance of a method, and its
attributes; the attributes of classes, and those of modules that the code names; items of tuples,
lists and dicts. Code, Arrays, classes, modules and objects of libraries compare by identity, the
rest by value.

Not included are: the insides of libraries, numpy and the standard library among them; imports made
while a function runs; attributes by computed names; a variable of a module inside a module; the
function of a `jit`, which has its own programs.
"""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable, Sequence
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np

from minijax.runtime.array import Array
from minijax.runtime.jit import PjitFunction
from minijax.runtime.refs import Ref
from minijax_stage2 import Tracer


class UnknownContents(Exception):
    """A function refers to something that cannot be compared with its earlier state."""


class Contents:
    """The contents of a function: everything its program depends on besides argument types.

    Attributes:
        key: equal for functions that trace to the same program, as long as `referents` live.
        referents: the objects that the key contains by identity.
        arrays: the identities of the arrays among the contents.
    """

    def __init__(self) -> None:
        self.key: list[Any] = []
        self.referents: list[Any] = []
        self.arrays: set[int] = set()
        self._seen: dict[Any, int] = {}
        self._names: tuple[str, ...] = ()  # in the code whose variables are looked at

    def add(self, x: Any) -> None:
        """Add a value that the code refers to.

        Raises:
            UnknownContents: it may change without notice.
        """
        cls = type(x)
        rule = _rules.get(cls)
        if rule is not None:
            rule(self, x)
        elif isinstance(x, type):
            self._add_class(x)
        elif isinstance(x, enum.Enum):
            self._add_class(cls)
            self.key.append(x.name)
        elif isinstance(x, np.generic):
            self.key += (cls, x.tobytes())
        elif isinstance(x, np.dtype | np.ufunc):
            self.key.append(x)
        elif isinstance(x, PjitFunction):
            self._add_jitted(x)
        elif isinstance(x, ModuleType):  # of a subclass
            self._add_module(x)
        elif isinstance(x, tuple) and cls.__basicsize__ == tuple.__basicsize__:  # a NamedTuple
            self._add_class(cls)
            self._add_items(x)
        else:
            self._add_instance(x)

    def _add_identity(self, x: Any) -> None:
        self.key.append(id(x))
        self.referents.append(x)

    def _is_again(self, identity: Any) -> bool:
        """Return True if this was added before: contents can contain themselves."""
        number = self._seen.get(identity)
        if number is not None:
            self.key += ("again", number)
            return True
        self._seen[identity] = len(self._seen)
        return False

    def _add_array(self, x: Array) -> None:
        if hasattr(x, "_deleted"):
            raise UnknownContents  # a call says what became of it
        self._add_identity(x)
        self.arrays.add(id(x))

    def _add_ref(self, x: Ref) -> None:
        raise UnknownContents

    def _add_numpy(self, x: np.ndarray[Any, Any]) -> None:
        if x.nbytes > _MOST_BYTES or x.dtype.hasobject:
            raise UnknownContents
        self.key += (np.ndarray, x.dtype, x.shape, x.tobytes())
        self.arrays.add(id(x))

    def _open(self, cls: type, size: int) -> None:
        """Begin a container of `size` items, unless comparing all of them would take too long."""
        if len(self.key) + size > _LONGEST_KEY:
            raise UnknownContents
        self.key += (cls, size)

    def _add_items(self, xs: Sequence[Any]) -> None:
        if self._is_again(id(xs)):
            return
        self._open(type(xs), len(xs))
        for x in xs:
            self.add(x)

    def _add_dict(self, xs: dict[Any, Any]) -> None:
        if self._is_again(id(xs)):
            return
        self._open(dict, len(xs))
        for name, x in xs.copy().items():
            self.add(name)
            self.add(x)

    def _add_function(self, f: FunctionType) -> None:
        if self._is_again(id(f)):
            return
        of_library = _is_of_library(f.__globals__.get("__name__"))
        if of_library and getattr(sys.modules.get(f.__module__), f.__name__, None) is f:
            self._add_identity(f)
            return
        self._open(FunctionType, 0)
        self._add_identity(f.__code__)
        outside, self._names = self._names, () if of_library else _names_in(f.__code__)
        for cell in f.__closure__ or ():
            try:
                x = cell.cell_contents
            except ValueError:  # not bound yet
                self.key.append(None)
            else:
                self.add(x)
        self.add(f.__defaults__)
        self.add(f.__kwdefaults__)
        for name in self._names:
            x = f.__globals__.get(name, _ABSENT)
            if x is _ABSENT:
                self.key.append(None)
            else:
                self.add(x)
        self._names = outside

    def _add_method(self, method: MethodType) -> None:
        self.key.append(MethodType)
        self.add(method.__func__)
        self.add(method.__self__)

    def _add_builtin(self, f: BuiltinFunctionType) -> None:
        self.key += (BuiltinFunctionType, f.__name__)
        self.add(f.__self__)

    def _add_partial(self, f: functools.partial[Any]) -> None:
        self.key.append(functools.partial)
        for part in (f.func, f.args, f.keywords):
            self.add(part)

    def _add_jitted(self, f: Any) -> None:
        """A jitted function counts by its traced program; an inlined one is traced again."""
        self._add_identity(f)
        if getattr(f, "is_users", True) and getattr(f, "_inside", None) is not None:
            self.add(f._inside)

    def _add_module(self, module: ModuleType) -> None:
        """A module counts by the attributes that the code names."""
        if self._is_again((id(module), self._names)):
            return
        self._add_identity(module)
        if _is_of_library(module.__name__):
            return
        for name in self._names:
            x = vars(module).get(name, _ABSENT)
            if x is not _ABSENT:
                self.key.append(name)
                self.add(x)
        self.key.append("end")

    def _add_class(self, cls: type) -> None:
        if self._is_again(id(cls)):
            return
        self._add_identity(cls)
        for each in cls.__mro__:
            if _is_of_library(each.__module__):
                continue
            for name, x in vars(each).copy().items():
                if isinstance(x, property):
                    x = x.fget
                elif isinstance(x, staticmethod | classmethod):
                    x = x.__func__
                is_special = name.startswith("__") and not isinstance(x, FunctionType)
                if not (is_special or name == "_abc_impl" or isinstance(x, _DESCRIPTORS)):
                    self.key.append(name)
                    self.add(x)
        self.key.append("end")

    def _add_instance(self, x: Any) -> None:
        """An object with attributes and no other state, such as slots or C data."""
        cls = type(x)
        is_plain = cls.__basicsize__ == _Plain.__basicsize__ and hasattr(x, "__dict__")
        if not is_plain or isinstance(x, Tracer):
            raise UnknownContents
        if not self._is_again(id(x)):
            self._add_class(cls)
            self._add_dict(vars(x))


_LIBRARIES = sys.stdlib_module_names | {"numpy", "jaxlib", "ml_dtypes", "minijax"}
_LIBRARIES |= {f"minijax_stage{number}" for number in range(1, 5)}
_LONGEST_KEY = 2_000
_MOST_BYTES = 4_096  # of an array of numpy
_ABSENT = object()


def _is_of_library(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


def _names_in(code: CodeType) -> tuple[str, ...]:
    """The names of variables and attributes in code, and in the functions that it defines."""
    names = code.co_names
    for const in code.co_consts:
        if type(const) is CodeType:
            names += _names_in(const)
    return names


class _Plain:
    """Has attributes and nothing else."""


class _Named(NamedTuple):
    field: Any


# What classes have for each of their fields.
_DESCRIPTORS = (MemberDescriptorType, GetSetDescriptorType, type(vars(_Named)["field"]))

_rules: dict[type, Callable[[Contents, Any], None]] = {
    Ref: Contents._add_ref,
    **dict.fromkeys(
        (int, bool, str, bytes, type(None), type(...), type(NotImplemented)),
        lambda contents, x: contents.key.extend((type(x), x)),
    ),
    float: lambda contents, x: contents.key.extend((float, x.hex())),
    complex: lambda contents, x: contents.key.extend((complex, x.real.hex(), x.imag.hex())),
    Array: Contents._add_array,
    np.ndarray: Contents._add_numpy,
    tuple: Contents._add_items,
    list: Contents._add_items,
    dict: Contents._add_dict,
    FunctionType: Contents._add_function,
    MethodType: Contents._add_method,
    BuiltinFunctionType: Contents._add_builtin,
    functools.partial: Contents._add_partial,
    ModuleType: Contents._add_module,
}
