"""`argnums`: the arguments of a function to differentiate."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minijax_stage2.errors import IntegerGradientError
from minijax_stage2.functions import ints
from minijax_stage2.shaped_array import is_inexact, typeof_named
from minijax_stage2.source import name_of
from minijax_stage2.tree import keystr, tree_flatten_with_path


def split_arguments(
    caller: str,
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> tuple[Any, Callable[[Any], Any]]:
    """Split a call of `fun` into the inputs to differentiate by, and the function of these alone.

    The inputs are one argument if `argnums` is an int, a tuple of arguments if it is a sequence.

    Arguments:
        caller: the transformation, for messages.
        fun: the function.
        argnums: the position of an argument, or several; the other arguments are constants.
        args: the positional arguments.
        kwargs: the arguments by keyword, which are constants.

    Raises:
        TypeError: there is no such argument, or one is chosen twice.

    >>> inputs, restricted = split_arguments("grad", pow, 1, (2.0, 3.0), {})
    >>> inputs, restricted(4.0)
    (3.0, 16.0)
    """
    chosen, count = ints(f"{caller}: argnums", argnums), len(args)
    positions = {i % count for i in chosen if -count <= i < count}
    if len(positions) < len(chosen):
        raise TypeError(
            f"{caller}: argnums {argnums} must name different arguments of `{name_of(fun)}`; given "
            f"by position: {count}. Count from 0, and pass by position what is differentiated."
        )
    several = isinstance(argnums, Sequence)

    def restricted(inputs: Any) -> Any:
        whole = list(args)
        for i, x in zip(chosen, inputs if several else (inputs,), strict=True):
            whole[i] = x
        return fun(*whole, **kwargs)

    restricted.__name__ = name_of(fun)  # for messages
    inputs = tuple([args[i] for i in chosen])
    return inputs if several else inputs[0], restricted


def require_inexact(caller: str, role: str, fun: Any, tree: Any) -> None:
    """Raise an error if a leaf of an argument or the result of `fun` is not real or complex."""
    for path, leaf in tree_flatten_with_path(tree)[0]:
        what = f"{caller}: {role}{keystr(path)} of `{name_of(fun)}`"
        aval = typeof_named(what, leaf)
        if not is_inexact(aval.dtype):
            raise IntegerGradientError(
                f"{what} must be real or complex, found {aval}. Convert it to a float, or leave "
                "it out."
            )
