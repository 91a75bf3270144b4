"""`jit`, whose results are this library's Arrays."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import minijax_stage3 as stage3
from minijax.array import Array
from minijax.arrays import tree_on_device
from minijax_stage2.flat_function import require_function
from minijax_stage3.jit import JittedFunction as Stage3JittedFunction


class JittedFunction(Stage3JittedFunction):
    array_type = Array

    def bind(self, args: Any, kwargs: Any) -> Any:
        return tree_on_device(super().bind(args, kwargs))


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Any:
    static: Any = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    if fun is None:
        return functools.partial(jit, **static)
    require_function("jit", fun)
    return JittedFunction(fun, **static)


jit.__doc__ = stage3.jit.__doc__
