"""Arguments and results of functions: flattened, chosen for derivatives, named for messages."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from glassjax_stage1.interpreter import Boxed, leaked_value_error
from glassjax_stage2.errors import IntegerGradientError, shown
from glassjax_stage2.functions import ints
from glassjax_stage2.shaped_array import is_inexact, typeof, typeof_named
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path


class FlatFunction:
    """`fun` with its arguments and its result flattened.

    The structure of the result, `out_tree`, is known once the function has been called.

    Arguments:
        fun: function of pytrees.
        in_tree: structure of the tuple of its positional arguments; or, with `has_kwargs`, of
            the pair of that tuple and the dict of its keyword arguments.

    >>> leaves, tree = tree_flatten(({"x": 1.0, "y": 2.0},))
    >>> total = FlatFunction(lambda point: [point["x"] + point["y"]], tree)
    >>> total(*leaves), total.out_tree
    ([3.0], PyTreeDef([*]))
    """

    def __init__(self, fun: Callable[..., Any], in_tree: PyTreeDef, has_kwargs: bool = False):
        self.fun = fun
        self.in_tree = in_tree
        self.has_kwargs = has_kwargs
        self.out_tree: PyTreeDef

    def __call__(self, *leaves: Any) -> list[Any]:
        args = self.in_tree.unflatten(leaves)
        args, kwargs = args if self.has_kwargs else (args, {})
        outs, self.out_tree = flatten_result(self.fun, self.fun(*args, **kwargs))
        return outs


def require_function(caller: str, fun: Any) -> None:
    """Raise an error if `fun` is not a function."""
    if not callable(fun):
        raise TypeError(f"{caller}: expected a function, found {shown(fun)}")


def flatten_result(fun: Callable[..., Any], result: Any) -> tuple[list[Any], PyTreeDef]:
    """Flatten the result of `fun`, which must be a pytree of arrays and numbers.

    Raises:
        TypeError: it is not, or holds a tracer of a trace that has ended; the message says where.
    """
    outs, out_tree = tree_flatten(result)
    for i, out in enumerate(outs):
        try:
            typeof(out)
        except (TypeError, OverflowError):
            path, _ = tree_flatten_with_path(result)[0][i]
            typeof_named(f"result{keystr(path)} of `{name_of(fun)}`", out)
        if isinstance(out, Boxed) and out.interpreter.ended:
            raise leaked_value_error(out, out.interpreter, out.source)
    return outs, out_tree


def split_arguments(
    caller: str, fun: Callable[..., Any], argnums: int | Sequence[int], args: Any, kwargs: Any
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


def check_inexact(caller: str, role: str, fun: Any, tree: Any) -> None:
    """Raise an error if a leaf of an argument or the result of `fun` is not real or complex."""
    for path, leaf in tree_flatten_with_path(tree)[0]:
        name = f"{caller}: {role}{keystr(path)} of `{name_of(fun)}`"
        aval = typeof_named(name, leaf)
        if not is_inexact(aval.dtype):
            raise IntegerGradientError(
                f"{name} must be real or complex, found {aval}. Make it a float, or leave it out."
            )


def argument_names(fun: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> list[str]:
    """The names of all leaves of the arguments of `fun`, such as `params['w'][0]`, for messages."""
    try:
        named = inspect.signature(fun).bind_partial(*args).arguments
    except (TypeError, ValueError):  # builtins may have no signature; there may be too many
        named = {"args": args}
    return [
        name + keystr(path)
        for name, arg in (*named.items(), *sorted(kwargs.items()))
        for path, _ in tree_flatten_with_path(arg)[0]
    ]
