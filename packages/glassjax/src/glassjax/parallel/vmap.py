"""`vmap`, of all examples at once or in chunks."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar

import glassjax_stage2 as stage2
from glassjax.lax.control_flow.scan import in_chunks
from glassjax.runtime import refs as references
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import wraps
from glassjax.transforms.vmap import vmap as vmap_at_once
from glassjax_stage2 import typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axis, moveaxis, one_int
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import tree_flatten, tree_map, tree_unflatten
from glassjax_stage2.vmap import axes_of_leaves, mapped_axes

P = ParamSpec("P")
R = TypeVar("R")


def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
    batch_size: int | None = None,
) -> Callable[P, R]:
    """Map `fun` over an axis of its arguments, as one batched program.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        in_axes: the axis to map for each positional argument: an int for all of them, or a tuple
            with an int, None (not mapped, whatever it is) or a pytree prefix for each. Keyword
            arguments are mapped along axis 0.
        out_axes: the position of the mapped axis in each result: an int, None (only for results
            that are the same for all examples), or a pytree prefix of the result.
        axis_name: a name of the axis, by which collectives such as `lax.psum` combine the examples.
        axis_size: the size of the mapped axis, required if no argument is mapped.
        spmd_axis_name: the name of a mesh axis, or a tuple of names, that the examples are sharded
            over, also where the mapped function gives arrays a sharding, by
            `lax.with_sharding_constraint` or by `shard_map`.
        sum_match: whether a result that differs between examples is summed over them where
            `out_axes` is None; otherwise it is an error.
        batch_size: the number of examples to compute at once, to save memory; None: all of them.
            A loop runs over chunks of this size, and the remainder is a chunk of its own.

    Returns:
        A function of arguments with an additional axis at `in_axes`, whose results have an
        additional axis at `out_axes`.

    Raises:
        MappedAxisError: sizes of the mapped axes differ (the message lists argument, shape and
            axis), an argument has no such axis, or nothing is mapped.
        ValueError: `out_axes` is out of range for a result; or `batch_size` is not positive, or
            given together with an axis name or `sum_match`, which combine all examples.
        TreeMismatchError: `in_axes` is not a prefix of the arguments, or `out_axes` of the result.

    >>> distance = lambda x, y: jnp.sqrt(jnp.sum((x - y) ** 2))
    >>> xs, y = jnp.array([[3.0, 4.0], [6.0, 8.0]]), jnp.zeros(2)
    >>> glassjax.vmap(distance, in_axes=(0, None))(xs, y)
    Array([ 5., 10.], dtype=float32)
    >>> glassjax.vmap(lambda x: x / lax.psum(x, "batch"), axis_name="batch")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    whole = vmap_at_once(fun, in_axes, out_axes, axis_name, axis_size, spmd_axis_name, sum_match)
    if batch_size is None:
        return whole
    size = chunk_size("vmap", batch_size)
    for name, given in (
        ("axis_name", axis_name is not None),
        ("spmd_axis_name", spmd_axis_name is not None),
        ("sum_match", sum_match),
    ):
        if given:
            raise ValueError(
                f"vmap of `{name_of(fun)}`: {name} and batch_size exclude each other: {name} "
                "combines all examples, and a chunk has only some of them. Leave out batch_size; "
                "or leave out the axis, and combine the results"
            )
    return _in_chunks(fun, whole, in_axes, out_axes, axis_size, size)


def chunk_size(caller: str, batch_size: Any) -> int:
    """Return `batch_size` as a positive int.

    Raises:
        TypeError: it is not an int.
        ValueError: it is not positive.
    """
    if isinstance(batch_size, bool):
        raise TypeError(f"{caller}: batch_size must be an int, found {shown(batch_size)}")
    size = one_int(f"{caller}: batch_size", batch_size)
    if size < 1:
        raise ValueError(f"{caller}: batch_size must be positive, found {size}")
    return size


def _in_chunks(
    fun: Callable[..., Any],
    whole: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    axis_size: int | None,
    size: int,
) -> Callable[..., Any]:
    require_function("vmap", fun)
    role = f"vmap of `{name_of(fun)}`"
    # In a chunk, results have the examples first, wherever they are to be in the end.
    leading = tree_map(lambda x: x if x is None else 0, out_axes, is_leaf=lambda x: x is None)

    @evaluated_by_library
    @wraps(fun, f"`{name_of(fun)}`, mapped over an axis of its arguments, {size} at a time.")
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        if any(isinstance(leaf, references.Ref) for leaf in leaves):
            raise TypeError(
                f"{role}: references cannot be mapped in chunks. Pass their values, or leave out "
                "batch_size"
            )
        if isinstance(in_axes, tuple | list) and len(in_axes) != len(args):
            return whole(*args, **kwargs)  # an error
        axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        dims, length = mapped_axes("vmap", fun, axes, axis_size, args, kwargs)
        places = {i: dim for i, dim in enumerate(dims) if dim is not None}
        if length <= size or not places:
            return whole(*args, **kwargs)
        wanted: list[Any] = []

        def example_fun(xs: list[Any]) -> Any:
            filled = list(leaves)
            for i, x in zip(places, xs, strict=True):
                filled[i] = x
            args, kwargs = tree_unflatten(tree, filled)
            return fun(*args, **kwargs)

        def chunk_fun(xs: list[Any]) -> Any:
            result = vmap_at_once(example_fun, 0, leading)(xs)
            wanted[:] = axes_of_leaves(f"{role}: out_axes", out_axes, result, "result")
            outs, out_tree = tree_flatten(result)
            # What is the same for all examples is the same for all chunks.
            outs = [
                stage2.reshape(out, (1, *typeof(out).shape)) if axis is None else out
                for out, axis in zip(outs, wanted, strict=True)
            ]
            return tree_unflatten(out_tree, outs)

        examples = tree_to_arrays([moveaxis(leaves[i], dim, 0) for i, dim in places.items()])
        outs, out_tree = tree_flatten(in_chunks(chunk_fun, examples, length, size))
        return tree_unflatten(
            out_tree, [_placed(role, x, axis) for x, axis in zip(outs, wanted, strict=True)]
        )

    return mapped


def _placed(role: str, x: Any, axis: int | None) -> Any:
    """A result with its examples along `axis`; None: the first one, as they are all the same."""
    if axis is None:
        return x[0]
    return moveaxis(x, 0, canonical_axis(f"{role}: out_axes", axis, typeof(x).ndim))
