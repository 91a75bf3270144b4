"""Loops outside programs: run from a cache, or by Python if jit is disabled."""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple, TypeVar

import numpy as np

from glassjax.errors import ConcretizationTypeError
from glassjax.lax.slicing import stack
from glassjax.primitives.loops import LoweredProgram, stage_body
from glassjax.runtime.array import Array, is_evaluating, tree_to_arrays
from glassjax.runtime.jit import PjitFunction
from glassjax.runtime.lowering import lower
from glassjax.runtime.partitioning import has_shardings
from glassjax.runtime.places import Places, argument_places
from glassjax.runtime.program import Executor, executor
from glassjax.runtime.refs import Ref
from glassjax.settings.config import Switch, config
from glassjax.xla.trees import fast_flatten, fast_unflatten
from glassjax_stage2 import ShapedArray, Tracer, tree_map, typeof
from glassjax_stage2.arguments import FlatFunction
from glassjax_stage2.shaped_array import dialect
from glassjax_stage2.tree import tree_structure
from glassjax_stage3.array import to_buffer
from glassjax_stage3.jaxpr import consts_as_invars

# Contents of functions: everything their programs depend on besides argument types.
#
# Contents are: variables that a function closes over, its defaults, the global variables that its
# code names, and the same for the functions found there; the instance of a method, and its
# attributes; the attributes of classes, and the attributes of modules that the code names; items
# of tuples, lists and dicts. Code, Arrays, classes, modules and objects of libraries compare by
# identity, the rest by value.
#
# Not included are: the insides of libraries, numpy and the standard library among them; imports
# made while a function runs; attributes by computed names; a variable of a module inside a
# module; the function of a `jit`, which has its own programs.


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
        self._names: tuple[str, ...] = ()  # names in the current code

    def add(self, x: Any) -> None:
        """Add a value that the code refers to.

        Raises:
            UnknownContents: changes of it cannot be detected.
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
        elif isinstance(x, ModuleType):  # an instance of a subclass
            self._add_module(x)
        elif isinstance(x, tuple) and cls.__basicsize__ == tuple.__basicsize__:  # a NamedTuple
            self._add_class(cls)
            self._add_items(x)
        else:
            self._add_instance(x)

    def _add_identity(self, x: Any) -> None:
        # An entry is dropped when a referent dies (`KeptPrograms.keep`), so an id that Python
        # reuses cannot match.
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
            raise UnknownContents  # its state may differ in each call
        self._add_identity(x)
        self.arrays.add(id(x))

    def _add_ref(self, x: Ref) -> None:
        raise UnknownContents

    def _add_numpy(self, x: np.ndarray[Any, Any]) -> None:
        if x.nbytes > _MOST_BYTES or x.dtype.hasobject:
            raise UnknownContents
        # By content: a numpy array may be written to in place.
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
        in_library = _is_of_library(f.__globals__.get("__name__"))
        # A function that a module of the library has under its own name always does the same.
        if in_library and getattr(sys.modules.get(f.__module__), f.__name__, None) is f:
            self._add_identity(f)
            return
        self._open(FunctionType, 0)
        self._add_identity(f.__code__)
        outside, self._names = self._names, () if in_library else _names_in(f.__code__)
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


_LIBRARIES = sys.stdlib_module_names | {"numpy", "jaxlib", "ml_dtypes", "glassjax"}
_LIBRARIES |= {f"glassjax_stage{number}" for number in range(1, 5)}
_LONGEST_KEY = 2_000
_MOST_BYTES = 4_096  # the largest numpy array in a key
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
    """A class whose instances have only attributes."""


class _Named(NamedTuple):
    field: Any


# Types of descriptors that classes have for fields.
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


# A cache of the programs of loops and conditionals that are called outside of transformations.
#
# Tracing takes longer than running most such programs. A program can be reused if the types of
# the operands and the settings are the same, and the functions have the same contents. These are
# compared at each call, so that a changed variable is noticed, unless tracing itself changed it.
# A call is traced again if some content cannot be compared, such as a set or a large numpy array.


Function = TypeVar("Function", bound=Callable[..., Any])


class KeptPrograms:
    """A cache of recently used executors, keyed by everything their programs depend on.

    There are two generations. When the younger is full, the older is dropped, without iterating
    over entries: an entry can vanish at any moment, in any thread, when a referent dies.
    """

    def __init__(self, size: int):
        self.size = size
        self.young: dict[Any, _Kept] = {}
        self.old: dict[Any, _Kept] = {}

    def find(self, key: Any) -> Executor | None:
        kept = self.young.get(key)
        if kept is None:
            kept = self.old.get(key)
            if kept is None:
                return None
            self._put(key, kept)
        return kept.execute

    def keep(self, key: Any, referents: Iterable[Any], execute: Executor) -> None:
        """Keep an entry as long as all of the referents live."""

        def forget(_: Any) -> None:
            self.young.pop(key, None)
            self.old.pop(key, None)

        try:
            references = [weakref.ref(x, forget) for x in referents]
        except TypeError:  # not weak-referenceable
            return
        self._put(key, _Kept(execute, references))

    def _put(self, key: Any, kept: _Kept) -> None:
        if len(self.young) >= self.size:
            self.old, self.young = self.young, {}
        self.young[key] = kept
        if any(reference() is None for reference in kept.references):  # died since
            self.young.pop(key, None)

    def clear(self) -> None:
        self.young, self.old = {}, {}


class _Kept(NamedTuple):
    execute: Executor
    references: list[Any]


kept_programs = KeptPrograms(512)


def keeps_programs(*static: str) -> Callable[[Function], Function]:
    """Decorator: cache the programs of a loop or a conditional called outside of transformations.

    Arguments:
        static: the parameters that are functions, or values that the program depends on. All others
            are pytrees of arrays.
    """

    def cache_programs(function: Function) -> Function:
        parameters = list(inspect.signature(function).parameters)
        positions = frozenset(parameters.index(name) for name in static)

        def contents_of(args: Any, kwargs: Any) -> Contents:
            contents = Contents()
            for position in positions:
                if position < len(args):
                    contents.add(args[position])
            for name, x in kwargs.items():
                contents.add(name)
                if name in static:
                    contents.add(x)
            return contents

        @functools.wraps(function)
        def cached_call(*args: Any, **kwargs: Any) -> Any:
            if not is_evaluating() or _is_watched():
                return function(*args, **kwargs)
            try:
                contents = contents_of(args, kwargs)
                operands = (
                    [x for position, x in enumerate(args) if position not in positions],
                    {name: x for name, x in kwargs.items() if name not in static},
                )
                leaves, tree = fast_flatten(operands)
                avals = tuple([x.aval if type(x) is Array else typeof(x) for x in leaves])
                where = argument_places(leaves)
                rest = function, tree, avals, dialect(), len(args), where
                key = *rest, *contents.key
                execute = kept_programs.find(key)
            except Exception:  # unknown contents, or the function itself raises a better error
                execute = key = None
            if key is None:
                return function(*args, **kwargs)

            def operands_fun(operands: Any, named: Any) -> Any:
                others = iter(operands)
                given = [x if i in positions else next(others) for i, x in enumerate(args)]
                return function(*given, **kwargs | named)

            if execute is None:
                flat = FlatFunction(operands_fun, tree_structure(operands))
                execute, is_reusable = _trace(flat, avals, where, function.__name__, contents)
                if execute is None:
                    return function(*args, **kwargs)
                if is_reusable:
                    kept_programs.keep(key, contents.referents, execute)
                    with suppress(Exception):  # changes by tracing itself do not count
                        contents = contents_of(args, kwargs)
                        kept_programs.keep((*rest, *contents.key), contents.referents, execute)
            return execute(leaves if where.is_given else list(map(to_buffer, leaves, avals)))

        return cached_call  # type: ignore[return-value]

    return cache_programs


def _trace(
    f: FlatFunction,
    avals: tuple[ShapedArray, ...],
    where: Places,
    name: str,
    contents: Contents,
) -> tuple[Executor | None, bool]:
    """Return the executor of a call, None if it has tracers; and whether to cache it.

    It takes the operands themselves if `where` is given, otherwise their buffers.
    """
    closed = stage_body(f, avals, name, None)
    consts = closed.consts
    if any(isinstance(x, Tracer) for x in consts):
        return None, False
    is_reusable = all(id(x) in contents.arrays for x in _known_elsewhere(consts))
    jaxpr = consts_as_invars(closed)
    text = lower(jaxpr, name)
    program = LoweredProgram(text, jaxpr, name)
    if not where.is_given and not has_shardings(jaxpr):
        return executor(program.compile(), consts, f.out_tree), is_reusable
    unflatten = fast_unflatten(f.out_tree)

    def execute(leaves: Sequence[Any]) -> Any:
        arrays = leaves if where.is_given else map(Array, leaves, avals)
        return unflatten(program.evaluate([*consts, *arrays]))

    return execute, is_reusable


def _known_elsewhere(consts: Sequence[Any]) -> list[Any]:
    """The constants referenced elsewhere, which may change: not those made while tracing."""
    everything = [*consts, np.empty(())]
    # The last object is referred to by `everything` alone; a constant made while tracing by
    # `consts`, too; all others have more references.
    *counts, new_count = [sys.getrefcount(x) for x in everything]
    return [x for x, count in zip(consts, counts, strict=True) if count > new_count + 1]


def _is_watched() -> bool:
    """Return True if a setting adds work to calls."""
    return Switch.used and any(
        option.value for option in config.options.values() if isinstance(option, Switch)
    )


# Loops run by Python, for `disable_jit`.


def scan_in_python(
    f: Callable[[Any, Any], Any], init: Any, xs: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """`lax.scan` of at least one iteration."""
    carry, results = init, []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_map(lambda x, i=i: x[i], xs))
        results.append(y)
    if reverse:
        results.reverse()
    return carry, tree_map(lambda *ys: stack(ys), *map(tree_to_arrays, results))


def while_in_python(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any
) -> tuple[Any] | None:
    """The result of `lax.while_loop`; None if its condition is unknown."""
    carry = init
    try:
        while cond_fun(carry):
            carry = body_fun(carry)
    except ConcretizationTypeError:
        return None
    return (carry,)


def known_truth(pred: Any) -> bool | None:
    """Return the value of a predicate; None if it is unknown."""
    try:
        return bool(pred)
    except ConcretizationTypeError:
        return None


def known_number(index: Any) -> int | None:
    """Return the value of an integer; None if it is unknown."""
    try:
        return int(index)
    except ConcretizationTypeError:
        return None
