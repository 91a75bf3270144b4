"""Names of arguments in messages, from the signature of the function."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from minijax_stage2.tree import keystr, tree_flatten_with_path


def argument_names(fun: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> list[str]:
    """The names of all leaves of the arguments of `fun`, such as `params['w'][0]`."""
    named = [*zip(positional_names(fun, len(args)), args, strict=True), *sorted(kwargs.items())]
    return [
        name + keystr(path) for name, arg in named for path, _ in tree_flatten_with_path(arg)[0]
    ]


def positional_names(fun: Callable[..., Any], count: int) -> list[str]:
    """The names that `fun` gives to its first `count` positional arguments."""
    names: list[str] = []
    for name, parameter in _parameters(fun):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind in _POSITIONAL:
            names.append(name)
    return [*names, *(f"args[{i}]" for i in range(len(names), count))][:count]


_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


def _parameters(fun: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    try:
        return list(inspect.signature(fun).parameters.items())
    except (TypeError, ValueError):  # builtins may have no signature
        return []
