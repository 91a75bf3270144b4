"""The axes that a function is mapped over: one for each leaf of its arguments and its result."""

from typing import Any

from minijax_stage2.errors import MappedAxisError, shown
from minijax_stage2.flat_function import argument_names
from minijax_stage2.functions import canonical_axis
from minijax_stage2.shaped_array import typeof, typeof_named
from minijax_stage2.source import name_of, user_source
from minijax_stage2.tree import broadcast_prefix, tree_leaves


def mapped_axes(
    caller: str, fun: Any, in_axes: Any, axis_size: int | None, args: Any, kwargs: Any
) -> tuple[list[int | None], int]:
    """The axis to map of each leaf of the arguments, and the size that these axes have.

    Arguments:
        caller: the transformation, for messages.
        fun: the function to map.
        in_axes: the axes as `vmap` takes them.
        axis_size: the size, if given.
        args: the positional arguments.
        kwargs: the arguments by keyword.
    """
    role = f"{caller} of `{name_of(fun)}`"
    if not isinstance(axis_size, int | None):
        raise TypeError(f"{role}: axis_size must be an int, found {shown(axis_size)}")
    axes = axes_of_leaves(f"{role}: in_axes", in_axes, args, "args")
    axes += [0] * len(tree_leaves(kwargs))
    rows: list[Any] = [] if axis_size is None else [("axis_size", "", "", axis_size)]
    leaves = zip(argument_names(fun, args, kwargs), tree_leaves((args, kwargs)), strict=True)
    for i, (label, leaf) in enumerate(leaves):
        axis = axes[i]
        if axis is None:  # so it need not be an array: `fun` gets it as it is
            continue
        aval = typeof_named(f"{role}: {label}", leaf)
        if not -aval.ndim <= axis < aval.ndim:
            raise MappedAxisError(
                f"{role}: {label} of type {aval} has no axis {axis} to map over. Give it None in "
                "in_axes where it is the same for all examples."
            )
        axes[i] = axis % aval.ndim
        rows.append((label, str(aval.shape), axes[i], aval.shape[axis]))
    sizes = {size for *_, size in rows}
    if len(sizes) != 1:
        problem = "mapped axes differ in size" if sizes else "nothing is mapped"
        table = [("argument", "shape", "axis", "size"), *rows]
        lines = "\n".join(f"    {a:<20} {b:<14} {c!s:<5} {d}" for a, b, c, d in table)
        raise MappedAxisError(
            f"{caller}: {problem}\n{lines}\n  in call of `{name_of(fun)}` at {user_source()}\n"
            "Give in_axes an axis for at least one argument, all of one size, and None for those "
            "that are not mapped; or give axis_size."
        )
    return axes, sizes.pop()


def axes_of_leaves(role: str, axes: Any, tree: Any, name: str) -> list[int | None]:
    """The axis for each leaf of a tree, of which `axes` are for a prefix."""
    prefix = f"{role}, a prefix of {name}"
    found = broadcast_prefix(axes, tree, is_leaf=lambda x: x is None, name=prefix)
    for axis in found:
        if isinstance(axis, bool) or not isinstance(axis, int | None):
            raise TypeError(f"{role} must hold ints and None, found {shown(axis)}")
    return found


def axis_of_result(role: str, out: Any, dim: int | None, axis: int | None) -> int | None:
    """The mapped axis of a result, as `out_axes` has it; `dim` is the one that it has now."""
    if axis is None:
        if dim is not None:
            raise MappedAxisError(
                f"{role}: out_axes is None for a result that differs between examples. Give "
                "out_axes an int there, the axis along which they are to lie."
            )
        return None
    return canonical_axis(f"{role}: out_axes", axis, typeof(out).ndim + (dim is None))
