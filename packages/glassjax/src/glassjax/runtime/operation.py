"""Operations: the library's functions of arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from glassjax.errors.arguments import blame_argument, hints_of, is_of_numbers, require_fit
from glassjax.runtime import array
from glassjax.runtime.evaluation import library_evaluation
from glassjax.runtime.jit import PjitFunction
from glassjax.runtime.nesting import name_of_call, nests_calls
from glassjax.runtime.pipeline import CompileOptions
from glassjax.runtime.places import DefaultPlacement, Places
from glassjax.runtime.signature import StaticArguments
from glassjax.runtime.templates import Templates, not_copied
from glassjax.settings.number_types import letter_of, promote, set_number_types, types_in_function
from glassjax.settings.tracers import adopted, adopted_traces
from glassjax.shardings.sharding import Sharding, chosen_sharding
from glassjax.shardings.types import takes_out_sharding
from glassjax_stage2 import ShapedArray, tree_map, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints
from glassjax_stage2.promotion import to_inexact
from glassjax_stage2.shaped_array import dialect, numpys_dialect
from glassjax_stage2.source import name_of

Function = TypeVar("Function", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


class Operation(PjitFunction):
    """A function of arrays that is evaluated as one program.

    It is compiled as a whole, once for each combination of argument types. Under a transformation
    or staging, it is not a call but the primitives that it consists of.
    """

    is_users = False
    caller = ""

    __slots__ = ("static_names", "takes_types", "templates")

    def __init__(self, fun: Callable[..., Any], static: str | tuple[str, ...], types: bool = False):
        arguments = _ListsAsTuples(fun, None, static)
        super().__init__(fun, arguments, CompileOptions(), {}, inline=True)
        self.static_names = static
        self.takes_types = types
        self.templates = Templates(fun, arguments)

    def _call_inside(self, copies: Any, args: Any, kwargs: Any) -> Any:
        if copies is not None:
            out = self.templates.call(copies, args, kwargs)
            if out is not not_copied:
                return out
        here = dialect()
        args, kwargs = array.with_own_conversions(args, kwargs)
        is_call = nests_calls() and name_of_call(self._fun) is not None
        run = self._as_call if is_call else self._fun
        is_in_function = here is not numpys_dialect and here.in_function is here  # type: ignore[attr-defined]
        # Another function of the library calls: its number types are in force, and its arguments
        # were checked when the user passed them.
        if is_in_function:
            return run(*args, **kwargs)
        with set_number_types(types_in_function()):
            if here is not numpys_dialect:
                return run(*args, **kwargs)
            args, kwargs = tree_map(adopted, (args, kwargs))
            with adopted_traces():  # in a stage's transformation
                return run(*args, **kwargs)

    def _as_call(self, *args: Any, **kwargs: Any) -> Any:
        return self._bind(args, kwargs, name_of_call(self._fun))

    def __repr__(self) -> str:
        return f"<operation {self._name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fun, self.static_names, self.takes_types)

    def _explain(self, args: Any, kwargs: Any, error: Exception) -> None:
        blame_argument(self._fun, args, kwargs, error)

    def _find(self, settings: Any, args: Any, kwargs: Any) -> tuple[Any, Sequence[Any]]:
        args, kwargs = array.with_own_conversions(args, kwargs)
        if self.takes_types:
            first = args[0] if args else next(iter(kwargs.values()), None)
            if array.given_type(first):  # there is nothing to pass to a program
                return Uncompiled(lambda: array.to_array(self._fun(*args, **kwargs))), []
        with library_evaluation(types_in_function()):
            return super()._find(settings, args, kwargs)


class Uncompiled(NamedTuple):
    """Takes the place of a program, for a call without arguments that a program could take."""

    result: Callable[[], Any]
    execute: None = None

    def run(self, leaves: Sequence[Any]) -> Any:
        return self.result()


class Creation(Operation):
    """An operation whose result is placed by its argument `device`, `sharding` or `out_sharding`.

    Outside transformations, the program is compiled for these devices, so that each makes its own
    part. Inside, the function itself applies the argument. The default is the sharding of the first
    argument, if it is an array or a type of the result's shape.
    """

    def _call_inside(self, copies: Any, args: Any, kwargs: Any) -> Any:
        return array.to_array(super()._call_inside(copies, args, kwargs))

    def _find(self, settings: Any, args: Any, kwargs: Any) -> tuple[Any, Sequence[Any]]:
        rest = dict(kwargs)
        device, given, out = (
            rest.pop(name, None) for name in ("device", "sharding", "out_sharding")
        )
        if given is not None and not isinstance(given, Sharding):
            require_fit(name_of(self._fun), "sharding", given, Sharding)
        sharding = chosen_sharding(name_of(self._fun), given or device, out)
        if sharding is None and self.takes_types:
            sharding = self._sharding_of_first(args, kwargs)
        if sharding is None:
            return super()._find(settings, args, kwargs)
        if self.takes_types and args and array.given_type(args[0]):
            return Uncompiled(lambda: array.put_to(self._fun(*args, **rest), sharding)), []
        with library_evaluation(types_in_function()):
            signature, leaves = self._signature_of(settings, args, rest)
            # committed, and each result has this sharding
            where = Places((None,) * len(leaves), DefaultPlacement(sharding, True, True))
            return self._program((*signature, where), where, args, rest), leaves

    def _sharding_of_first(self, args: Any, kwargs: Any) -> Sharding | None:
        """The sharding of the first argument, unless the result has another shape."""
        given = inspect.signature(self._fun).bind(*args, **kwargs).arguments
        first = next(iter(given.values()), None)
        is_placed = type(first) is array.Array and first.is_placed
        if given.get("shape") is None and (is_placed or array.given_type(first)):
            found = getattr(first, "sharding", None)
            has_devices = isinstance(found, Sharding) and not found.is_abstract
            return found if has_devices else None
        return None


class _ListsAsTuples(StaticArguments):
    """Static arguments normalized: shapes and axes may be lists and arrays as well as tuples."""

    def split(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        return super().split(
            tuple([_names_tuple(x) if i in self.argnums else x for i, x in enumerate(args)]),
            {name: _names_tuple(x) if name in self.argnames else x for name, x in kwargs.items()},
        )

    def fill(self, static: Any) -> Callable[..., Any]:
        """The function with static values filled in, checked against the annotations.

        Raises:
            TypeError: one does not fit its annotation, or a flag is neither true nor false.
        """
        return super().fill(tuple([(at, cls, self._checked(at, x)) for at, cls, x in static]))

    def _checked(self, at: int | str, x: Any) -> Any:
        caller, name = name_of(self.fun), self._name(at)
        hint = hints_of(self.fun).get(name, Any)
        if isinstance(x, frozenset):  # axes, in any order
            require_fit(caller, name, x, Sequence if hint is Any else Any)
            x = tuple(x)
        is_default = x is inspect.signature(self.fun).parameters[name].default
        is_absent = x is None and hint in (bool, float)  # None counts as False
        is_checked = hint is not NoneType and (isinstance(x, tuple) or is_of_numbers(hint))
        if is_checked and not is_default and not is_absent:
            require_fit(caller, name, x, hint)
        return x

    def _name(self, at: int | str) -> str:
        return list(inspect.signature(self.fun).parameters)[at] if isinstance(at, int) else at

    def _unhashable(self, which: int | str, value: Any) -> Exception:
        """Users know operations as plain functions, not as jitted ones with static arguments."""
        found = typeof(value) if isinstance(value, array.Array | np.ndarray) else shown(value)
        return TypeError(
            f"{name_of(self.fun)}: {self._name(which)} must be an int, a tuple, a string or a "
            f"dtype, found {found} of type {type(value).__name__}. Are arguments swapped?"
        )


@overload
def operation(fun: Function) -> Function: ...
@overload
def operation(
    *,
    kinds: str | None = None,
    static: str | tuple[str, ...] = (),
    types: bool = False,
    creates: bool = False,
) -> Callable[[Function], Function]: ...
@overload
def operation(*, like: Callable[P, R]) -> Callable[[Callable[..., Any]], Callable[P, R]]: ...
def operation(
    fun: Any = None,
    *,
    kinds: str | None = None,
    static: str | tuple[str, ...] = (),
    types: bool = False,
    creates: bool = False,
    like: Any = None,
) -> Any:
    """Decorator: turn a function of arrays into an operation.

    Arguments:
        fun: the function.
        kinds: the kinds of dtypes of its operands, which must agree in dtype and, scalars aside, in
            rank; empty: any kinds. If None, the function itself sees to its operands.
        static: the names of arguments that are not arrays, such as axes, shapes and dtypes.
        types: whether the first argument, an array, may be a type instead.
        creates: whether it is a `Creation`, whose arguments place the result.
        like: an operation of the same module whose defaults and annotations the parameters have,
            which are named alike. It decides about `static`, `types` and `creates`, too.
    """
    if fun is None:
        options: Any = {"kinds": kinds, "static": static, "types": types, "creates": creates}
        return functools.partial(operation, **options, like=like)
    if like is not None:
        static, types, creates = like.static_names, like.takes_types, isinstance(like, Creation)
        plain: Any = inspect.unwrap(like)
        fun.__defaults__, fun.__kwdefaults__ = plain.__defaults__, plain.__kwdefaults__
        fun.__annotations__ = plain.__annotations__
    if kinds is not None:
        fun = _strict(fun, kinds, static)
    if creates:
        return Creation(fun, static, types)
    return Operation(takes_out_sharding(fun) if "out_sharding" in static else fun, static, types)


def _strict(fun: Callable[..., Any], kinds: str, static: str | tuple[str, ...]) -> Any:
    name, others = name_of(fun), {static} if isinstance(static, str) else {*static}

    @functools.wraps(fun)
    def strict(*operands: Any, **named: Any) -> Any:
        given = (*operands, *[x for key, x in named.items() if key not in others])
        require_alike(name, kinds, *map(typeof, given))
        here = dialect()
        if here.converts_weak:  # weak operands have the right dtype, too
            with set_number_types(here.keeping_weak):  # type: ignore[attr-defined]
                return fun(*operands, **named)
        return fun(*operands, **named)

    return strict


# What operations require of their operands.


KINDS = {"b": "boolean", "i": "integer", "u": "unsigned", "f": "real", "c": "complex"}


def require_kind(name: str, kinds: str, *avals: ShapedArray) -> None:
    """Raise TypeError if an operand is of another kind than these, which are letters of `KINDS`."""
    for aval in avals:
        if letter_of(aval.dtype) not in kinds:
            expected = ", ".join(KINDS[kind] for kind in kinds)
            raise TypeError(f"{name}: found {aval}; the dtypes it takes are {expected}")


@functools.lru_cache(maxsize=4096)
def require_alike(name: str, kinds: str, *avals: ShapedArray) -> None:
    """Raise TypeError unless operands have these kinds, one dtype, and, scalars aside, one rank.

    Empty `kinds` admit all.
    """
    if kinds:
        require_kind(name, kinds, *avals)
    require_dtypes_alike(name, *avals)
    require_ranks_alike(name, *avals)


@functools.lru_cache(maxsize=4096)
def require_dtypes_alike(name: str, *avals: ShapedArray) -> None:
    """Raise TypeError unless operands are of one dtype."""
    if len({aval.dtype for aval in avals}) > 1:
        found = ", ".join(map(str, avals))
        raise TypeError(
            f"{name}: operands must have one dtype, found {found}. glassjax.numpy promotes them, "
            "and lax.convert_element_type converts one"
        )


def require_ranks_alike(name: str, *avals: ShapedArray) -> None:
    """Raise TypeError unless operands, scalars aside, have the same number of axes."""
    shapes = [aval.shape for aval in avals if aval.shape]
    if len({len(shape) for shape in shapes}) > 1:
        raise TypeError(
            f"{name}: operands must have the same number of axes, scalars aside, found shapes "
            f"{', '.join(map(str, shapes))}. glassjax.numpy adds those that lack"
        )


def require_shapes_alike(name: str, *avals: ShapedArray) -> None:
    """Raise TypeError unless operands are of one shape."""
    shapes = [aval.shape for aval in avals]
    if len(set(shapes)) > 1:
        raise TypeError(
            f"{name}: operands must have one shape, found {', '.join(map(str, shapes))}. "
            "glassjax.numpy broadcasts them, and lax.full_like makes an array of a number"
        )


def require_counted_from_0(caller: str, role: str, given: Any) -> None:
    """Raise ValueError if one of these numbers of axes, or sizes, is negative."""
    if given is not None and any(number < 0 for number in ints(f"{caller}: {role}", given)):
        raise ValueError(
            f"{caller}: {role} must not be negative, found {given}; the function of glassjax.numpy "
            "counts from the end, too"
        )


class Unary(Protocol):
    """A function of one array."""

    def __call__(self, x: array.ArrayLike) -> array.Array: ...


class Binary(Protocol):
    """A function of two arrays."""

    def __call__(self, x: array.ArrayLike, y: array.ArrayLike) -> array.Array: ...


@overload
def promoting(function: Unary, inexact: bool = False) -> Unary: ...


@overload
def promoting(function: Binary, inexact: bool = False) -> Binary: ...


def promoting(function: Any, inexact: bool = False) -> Any:
    """The operation of `glassjax.numpy` for a strict one, whose one or two operands it promotes.

    Arguments:
        function: the strict operation.
        inexact: whether to promote to a real or complex dtype.
    """

    def unary(x: Any) -> Any:
        return function(to_inexact(x) if inexact else x)

    def binary(x: Any, y: Any) -> Any:
        return function(*promote(x, y, inexact=inexact))

    strict = function.__wrapped__
    signature = inspect.signature(strict)
    operands = [
        each for each in signature.parameters.values() if each.kind is not each.KEYWORD_ONLY
    ]
    promoted: Any = functools.wraps(strict)(unary if len(operands) == 1 else binary)
    promoted.__signature__ = signature.replace(parameters=operands)
    del promoted.__wrapped__  # it may have more arguments
    return operation(promoted)


def _names_tuple(x: Any) -> Any:
    if isinstance(x, set):
        return frozenset(x)
    if isinstance(x, list | tuple):
        items = map(_names_tuple, x)
        return x._make(items) if hasattr(x, "_make") else tuple(items)  # keeps NamedTuples
    if isinstance(x, np.ndarray | np.integer | array.Array) and letter_of(x.dtype) in "iu":
        return _names_tuple(x.tolist())
    if hasattr(x, "as_list"):  # TensorFlow's TensorShape
        return _names_tuple(x.as_list())
    return x
