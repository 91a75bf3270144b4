"""Operations: the functions of this library that users call on arrays."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from minijax.argument_errors import blame_argument
from minijax.array import Array
from minijax.evaluation import library_evaluation
from minijax.jit import JittedFunction
from minijax.number_types import types_in_function
from minijax_stage1.source import name_of
from minijax_stage2 import typeof
from minijax_stage2.shown import shown
from minijax_stage3.jit import Executor
from minijax_stage3.staging import as_type
from minijax_stage3.static_arguments import StaticArguments

Function = TypeVar("Function", bound=Callable[..., Any])


# --8<-- [start:operation]
class Operation(JittedFunction):
    """A function of arrays that is one program where it is evaluated.

    It is compiled as a whole, once for the types of its arguments. Where something transforms or
    stages it, it is no call of a program but the primitives that it is made of.
    """

    is_users = False
    caller = ""

    def __init__(self, fun: Callable[..., Any], static: str | tuple[str, ...], types: bool = False):
        functools.update_wrapper(self, fun, updated=())
        self._inside = self._fun = fun
        self._static_names = static
        self._takes_types = types

    def __getattr__(self, name: str) -> Any:
        """Makes what evaluation needs when it first does: an import makes hundreds of these."""
        if "_executors" in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._make_ready()
        return getattr(self, name)

    def _explain(self, args: Any, kwargs: Any, error: Exception) -> None:
        blame_argument(self._fun, args, kwargs, error)

    def _make_ready(self) -> None:
        super().__init__(self._fun, static_argnames=self._static_names, inline=True)
        self._static = _ListsAsTuples(self._fun, argnames=self._static_names)

    def _prepare_trees(self, args: Any, kwargs: Any) -> tuple[Executor, list[Any]]:
        if self._takes_types:
            first = args[0] if args else next(iter(kwargs.values()), None)
            if as_type(first):  # there is nothing to pass to a program
                return lambda buffers: self._fun(*args, **kwargs), []
        with library_evaluation(types_in_function()):
            return super()._prepare_trees(args, kwargs)


class _ListsAsTuples(StaticArguments):
    """Static arguments: lists and arrays say shapes and axes as well as tuples of ints do."""

    def split(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        return super().split(
            tuple([_as_tuple(x) if i in self.argnums else x for i, x in enumerate(args)]),
            {name: _as_tuple(x) if name in self.argnames else x for name, x in kwargs.items()},
        )

    def _refuse_unhashable(self, static: Any) -> None:
        """Users know operations as functions, not as jitted ones with static arguments."""
        for which, _, value in static:
            try:
                hash(value)
            except TypeError:
                names = list(inspect.signature(self.fun).parameters)
                name = names[which] if isinstance(which, int) else which
                found = typeof(value) if isinstance(value, Array | np.ndarray) else shown(value)
                raise TypeError(
                    f"{name_of(self.fun)}: {name} must be an int, a tuple, a string or a dtype, "
                    f"found {found} of type {type(value).__name__}. Are arguments swapped?"
                ) from None


@overload
def operation(fun: Function) -> Function: ...
@overload
def operation(
    *, static: str | tuple[str, ...], types: bool = False
) -> Callable[[Function], Function]: ...
def operation(fun: Any = None, *, static: str | tuple[str, ...] = (), types: bool = False) -> Any:
    """Decorator: makes a function of arrays an operation.

    Arguments:
        fun: the function.
        static: the names of arguments that are no arrays, such as axes, shapes and dtypes.
        types: whether a type may stand for the array that is the first argument.
    """
    if fun is None:
        return functools.partial(operation, static=static, types=types)
    return Operation(fun, static, types)


# --8<-- [end:operation]


def _as_tuple(x: Any) -> Any:
    if isinstance(x, set | frozenset):  # of axes, whose order makes no difference
        return _as_tuple(tuple(x))
    if isinstance(x, list | tuple):
        items = map(_as_tuple, x)
        return x._make(items) if hasattr(x, "_make") else tuple(items)  # of a NamedTuple, one
    if isinstance(x, np.ndarray | np.integer | Array) and x.dtype.kind in "iu":
        return _as_tuple(x.tolist())
    return x
