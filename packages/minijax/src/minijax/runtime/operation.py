"""Operations: the library's functions of arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from minijax.errors.arguments import blame_argument, hints_of, is_of_numbers, require_fit
from minijax.runtime.array import Array, given_type, place, with_own_conversions
from minijax.runtime.evaluation import library_evaluation
from minijax.runtime.jit import PjitFunction
from minijax.runtime.pipeline import CompileOptions
from minijax.runtime.places import DefaultPlacement, Places
from minijax.runtime.signature import StaticArguments
from minijax.runtime.templates import Templates, not_copied
from minijax.settings.number_types import set_number_types, types_in_function
from minijax.settings.tracers import adopted, adopted_traces
from minijax.shardings.sharding import Sharding, chosen_sharding
from minijax.shardings.types import dividing
from minijax_stage2 import tree_map, typeof
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import dialect, numpys_dialect
from minijax_stage2.source import name_of

Function = TypeVar("Function", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


# --8<-- [start:operation]
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
        args, kwargs = with_own_conversions(args, kwargs)
        is_in_function = here is not numpys_dialect and here.in_function is here  # type: ignore[attr-defined]
        if is_in_function:
            return self._fun(*args, **kwargs)
        with set_number_types(types_in_function()):
            if here is not numpys_dialect:
                return self._fun(*args, **kwargs)
            args, kwargs = tree_map(adopted, (args, kwargs))
            with adopted_traces():  # in a stage's transformation
                return self._fun(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<operation {self._name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fun, self.static_names, self.takes_types)

    def _explain(self, args: Any, kwargs: Any, error: Exception) -> None:
        blame_argument(self._fun, args, kwargs, error)

    def _find(self, settings: Any, args: Any, kwargs: Any) -> tuple[Any, Sequence[Any]]:
        args, kwargs = with_own_conversions(args, kwargs)
        if self.takes_types:
            first = args[0] if args else next(iter(kwargs.values()), None)
            if given_type(first):  # there is nothing to pass to a program
                return Uncompiled(lambda: self._fun(*args, **kwargs)), []
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
        if self.takes_types and args and given_type(args[0]):
            return Uncompiled(lambda: place(self._fun(*args, **rest), sharding)), []
        with library_evaluation(types_in_function()):
            signature, leaves = self._signature_of(settings, args, rest)
            where = Places((None,) * len(leaves), DefaultPlacement(sharding, True, True))
            return self._program((*signature, where), where, args, rest), leaves

    def _sharding_of_first(self, args: Any, kwargs: Any) -> Sharding | None:
        """The sharding of the first argument, unless the result has another shape."""
        given = inspect.signature(self._fun).bind(*args, **kwargs).arguments
        first = next(iter(given.values()), None)
        is_placed = type(first) is Array and first.is_placed
        if given.get("shape") is None and (is_placed or given_type(first)):
            found = getattr(first, "sharding", None)
            has_devices = isinstance(found, Sharding) and not found.is_abstract
            return found if has_devices else None
        return None


class _ListsAsTuples(StaticArguments):
    """Static arguments normalized: shapes and axes may be lists and arrays as well as tuples."""

    def split(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        return super().split(
            tuple([_as_tuple(x) if i in self.argnums else x for i, x in enumerate(args)]),
            {name: _as_tuple(x) if name in self.argnames else x for name, x in kwargs.items()},
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

    def _refuse_unhashable(self, static: Any) -> None:
        """Users know operations as plain functions, not as jitted ones with static arguments."""
        for which, _, value in static:
            try:
                hash(value)
            except TypeError:
                found = typeof(value) if isinstance(value, Array | np.ndarray) else shown(value)
                raise TypeError(
                    f"{name_of(self.fun)}: {self._name(which)} must be an int, a tuple, a string "
                    f"or a dtype, found {found} of type {type(value).__name__}. "
                    "Are arguments swapped?"
                ) from None


@overload
def operation(fun: Function) -> Function: ...
@overload
def operation(
    *, static: str | tuple[str, ...], types: bool = False, creates: bool = False
) -> Callable[[Function], Function]: ...
@overload
def operation(*, like: Callable[P, R]) -> Callable[[Callable[..., Any]], Callable[P, R]]: ...
def operation(
    fun: Any = None,
    *,
    static: str | tuple[str, ...] = (),
    types: bool = False,
    creates: bool = False,
    like: Any = None,
) -> Any:
    """Decorator: turn a function of arrays into an operation.

    Arguments:
        fun: the function.
        static: the names of arguments that are not arrays, such as axes, shapes and dtypes.
        types: whether the first argument, an array, may be a type instead.
        creates: whether it is a `Creation`, whose arguments place the result.
        like: an operation of the same module whose defaults and annotations the parameters have,
            which are named alike. It decides about `static`, `types` and `creates`, too.
    """
    if fun is None:
        return functools.partial(operation, static=static, types=types, creates=creates, like=like)
    if like is not None:
        static, types, creates = like.static_names, like.takes_types, isinstance(like, Creation)
        plain: Any = inspect.unwrap(like)
        fun.__defaults__, fun.__kwdefaults__ = plain.__defaults__, plain.__kwdefaults__
        fun.__annotations__ = plain.__annotations__
    if creates:
        return Creation(fun, static, types)
    return Operation(dividing(fun) if "out_sharding" in static else fun, static, types)


# --8<-- [end:operation]


def _as_tuple(x: Any) -> Any:
    if isinstance(x, set):
        return frozenset(x)
    if isinstance(x, list | tuple):
        items = map(_as_tuple, x)
        return x._make(items) if hasattr(x, "_make") else tuple(items)  # keeps NamedTuples
    if isinstance(x, np.ndarray | np.integer | Array) and x.dtype.kind in "iu":
        return _as_tuple(x.tolist())
    if hasattr(x, "as_list"):  # TensorFlow's TensorShape
        return _as_tuple(x.as_list())
    return x
