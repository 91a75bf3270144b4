"""Names of arguments in messages, from the signature of the function."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from minijax_stage2.tree import keystr, tree_flatten_with_path


def argument_names(fun: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> list[str]:
    """The names of all leaves of the arguments of `fun`, such as `params['w'][0]`."""
    try:
        named = inspect.signature(fun).bind_partial(*args).arguments
    except (TypeError, ValueError):  # builtins may have no signature; there may be too many
        named = {"args": args}
    return [
        name + keystr(path)
        for name, arg in (*named.items(), *sorted(kwargs.items()))
        for path, _ in tree_flatten_with_path(arg)[0]
    ]
