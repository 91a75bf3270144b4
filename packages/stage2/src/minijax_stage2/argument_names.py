"""Names of arguments in messages: those that the function gives them."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from minijax_stage2.tree import keystr, tree_flatten_with_path


def argument_names(fun: Callable[..., Any], args: Any, kwargs: Any) -> list[str]:
    """The names of all leaves of the arguments `fun` is called with."""
    paths_and_leaves, _ = tree_flatten_with_path((args, kwargs))
    return [argument_name(fun, path) for path, _ in paths_and_leaves]


def argument_name(fun: Callable[..., Any], path: Sequence[Any]) -> str:
    """The name of a leaf of the arguments of `fun`, such as `params['w'][0]`.

    Arguments:
        fun: the function that is called.
        path: where the leaf stands in the pair `(args, kwargs)` of the call.
    """
    part, which, *rest = path
    below = keystr(tuple(rest))
    if part.idx == 1:
        return f"{which.key}{below}"
    position = which.idx
    for name, parameter in _parameters(fun):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return f"{name}[{position}]{below}"
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            break
        if position == 0:
            return f"{name}{below}"
        position -= 1
    return f"args[{which.idx}]{below}"


def _parameters(fun: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    try:
        return list(inspect.signature(fun).parameters.items())
    except (TypeError, ValueError):  # builtins do not say
        return []
