"""Functions of trees as functions of leaves, under the names of `jax.api_util`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from glassjax.extend import linear_util as lu
from glassjax.extend.linear_util import WrappedFun
from glassjax.runtime.array import type_of
from glassjax.runtime.printed_jaxpr import DebugInfo
from glassjax.settings.number_types import library_number_types, set_number_types
from glassjax_stage2 import ShapedArray
from glassjax_stage2.arguments import argument_names
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import PyTreeDef, broadcast_prefix, tree_flatten, tree_unflatten


@lu.transformation_with_aux
def flatten_fun(in_tree: PyTreeDef, *leaves: Any) -> Iterator[Any]:
    """`fun` as a function of leaves that returns a list of leaves.

    Arguments:
        fun: a `WrappedFun`.
        in_tree: the tree structure of `(args, kwargs)`.

    Returns:
        The function, and a function that returns the tree structure of its result after a call.
    """
    args, kwargs = tree_unflatten(in_tree, leaves)
    result = yield args, kwargs
    yield tree_flatten(result)


@lu.transformation_with_aux
def flatten_fun_nokwargs(in_tree: PyTreeDef, *leaves: Any) -> Iterator[Any]:
    """As `flatten_fun`, for the tree structure of positional arguments only."""
    result = yield tree_unflatten(in_tree, leaves), {}
    yield tree_flatten(result)


@lu.transformation
def _with_arguments(fixed: Mapping[int, Any], *dynamic: Any) -> Iterator[Any]:
    rest = iter(dynamic)
    count = len(fixed) + len(dynamic)
    args = tuple(fixed[i] if i in fixed else next(rest) for i in range(count))
    result = yield args, {}
    yield result


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Fix all positional arguments except some.

    Arguments:
        f: the function.
        dyn_argnums: the remaining arguments, by position; negative ones count from the end.
        args: the arguments.
        require_static_args_hashable: whether fixed arguments must be hashable.

    Returns:
        A function of the remaining arguments, and these.

    Raises:
        ValueError: a fixed argument is not hashable.
    """
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    dynamic = sorted({number % len(args) for number in numbers})
    fixed = {i: x for i, x in enumerate(args) if i not in dynamic}
    for i, x in fixed.items():
        if require_static_args_hashable and getattr(type(x), "__hash__", None) is None:
            raise ValueError(
                f"argnums_partial: argument {i} of `{name_of(f)}` is fixed, so it must be "
                f"hashable, found {x!r} of type {type(x).__name__}"
            )
    return _with_arguments(f, fixed), tuple(args[i] for i in dynamic)


def debug_info(
    traced_for: str, fun: Callable[..., Any], args: Any, kwargs: Any, **options: Any
) -> DebugInfo:
    """A description of a function, for messages.

    Arguments:
        traced_for: the transformation.
        fun: the function.
        args: its positional arguments.
        kwargs: its arguments by keyword.
        options: ignored.
    """

    try:
        names = tuple(argument_names(fun, tuple(args), dict(kwargs)))
    except (TypeError, ValueError):
        names = None
    return DebugInfo(traced_for, name_of(fun), names)


def shaped_abstractify(x: Any) -> ShapedArray:
    """The type of an array, a number, or anything with a shape and a dtype.

    Raises:
        TypeError: it has no type.
    """
    with set_number_types(library_number_types()):
        return type_of(x)


def flatten_axes(
    name: str, treedef: PyTreeDef, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False
) -> list[Any]:
    """The entry of `axis_tree`, a prefix of a tree, for each leaf of that tree.

    Arguments:
        name: the name of the caller, for messages.
        treedef: the structure of the tree.
        axis_tree: the prefix.
        kws, tupled_args: ignored.

    Raises:
        ValueError: it is not a prefix.
    """
    leaf = object()
    tree = tree_unflatten(treedef, [leaf] * treedef.num_leaves)
    return broadcast_prefix(axis_tree, tree, is_leaf=lambda x: x is None, name=name)


def donation_vector(
    donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: PyTreeDef
) -> tuple[bool, ...]:
    """For each leaf of `(args, kwargs)` whether it is donated.

    Arguments:
        donate_argnums: positions of donated arguments.
        donate_argnames: names of donated arguments.
        in_tree: the tree structure of `(args, kwargs)`.
    """
    args, kwargs = tree_unflatten(in_tree, [None] * in_tree.num_leaves)

    def leaves_of(tree: Any) -> list[Any]:
        return tree_flatten(tree, is_leaf=lambda x: x is None)[0]

    given = [(i in donate_argnums, leaves_of(arg)) for i, arg in enumerate(args)]
    given += [(name in donate_argnames, leaves_of(kwargs[name])) for name in sorted(kwargs)]
    return tuple(donated for donated, leaves in given for _ in leaves)


def rebase_donate_argnums(
    donate_argnums: Sequence[int], static_argnums: Sequence[int]
) -> tuple[int, ...]:
    """The positions of donated arguments among those that are not static.

    Raises:
        ValueError: an argument is both.
    """
    if both := sorted({*donate_argnums} & {*static_argnums}):
        raise ValueError(f"arguments cannot be both static and donated: {both}")
    return tuple(sorted(d - sum(s < d for s in static_argnums) for d in donate_argnums))


def safe_map(f: Callable[..., Any], *args: Sequence[Any]) -> list[Any]:
    """`f` of the items of sequences, which have to be of one length, as a list.

    Raises:
        ValueError: they differ in length.
    """
    return [f(*items) for items in zip(*args, strict=True)]


__all__ = [
    "DebugInfo", "argnums_partial", "debug_info", "donation_vector", "flatten_axes",
    "flatten_fun", "flatten_fun_nokwargs", "rebase_donate_argnums", "safe_map",
    "shaped_abstractify",
]  # fmt: skip
