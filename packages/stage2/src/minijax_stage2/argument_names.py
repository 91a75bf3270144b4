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
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):  # builtins may have no signature
        parameters = []
    names: list[str] = []
    for each in parameters:
        if each.kind is each.VAR_POSITIONAL:
            names += [f"{each.name}[{i}]" for i in range(count - len(names))]
        elif each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            names.append(each.name)
    return [*names, *(f"args[{i}]" for i in range(len(names), count))][:count]
