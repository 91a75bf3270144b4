"""Functions of trees as functions of leaves."""

import inspect
from collections.abc import Iterable
from typing import Any

from minijax.api_util import *  # noqa: F403


def infer_argnums_and_argnames(
    sig: inspect.Signature, argnums: Any, argnames: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and the names of arguments of a signature, of which one may be None."""
    if argnums is None and argnames is None:
        return (), ()
    numbers = None if argnums is None else _tuple(argnums)
    names = None if argnames is None else _tuple(argnames)
    count = len(sig.parameters)
    both = [
        (i, name)
        for i, (name, parameter) in enumerate(sig.parameters.items())
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        and (name in (names or ()) if numbers is None else {i, i - count} & {*numbers})
    ]
    return (
        tuple(i for i, _ in both) if numbers is None else numbers,
        tuple(name for _, name in both) if names is None else names,
    )


def _tuple(given: Any) -> tuple[Any, ...]:
    is_many = isinstance(given, Iterable) and not isinstance(given, str)
    return tuple(given) if is_many else (given,)
