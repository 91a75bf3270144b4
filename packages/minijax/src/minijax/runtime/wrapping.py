"""Functions around a function of the user, with its name and documentation."""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def wraps(fun: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorator: `functools.wraps(fun)`, without attributes of types that no function may have."""
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
