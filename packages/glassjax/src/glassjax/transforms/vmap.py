"""`vmap`: a function mapped over an axis of its arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from typing import Any, ParamSpec, TypeVar

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors.arguments import require_flags, require_hashable
from glassjax.primitives.axes import axes_of_examples, axis_of_arrays, named_axis
from glassjax.runtime import refs as references
from glassjax.runtime.array import to_array, tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.config import Switch
from glassjax.settings.names import counted, wraps
from glassjax.transforms.custom_vmap import map_vmappables, vmappables
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import current_trace, tree_leaves, tree_map
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import MappedAxisError
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import broadcast_prefix
from glassjax_stage2.vmap import BatchTrace, mapped_axes, vmap_call

Function = Callable[..., Any]
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
) -> Callable[P, R]:
    """`vmap` of all examples at once, as documented in `glassjax.parallel.vmap`."""
    require_function("vmap", fun)
    require_hashable("vmap", axis_name=axis_name, spmd_axis_name=spmd_axis_name)
    require_flags("vmap", sum_match=sum_match)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    def mapping(fun: Function, in_axes: Any, out_axes: Any, axis_size: int | None) -> Function:
        @wraps(fun)
        def with_axis(*args: Any, **kwargs: Any) -> Any:
            trace: Any = current_trace()
            sharding: Any = nullcontext()
            if mesh_axes:
                sharding = axes_of_examples(axes_of_examples.value | {*mesh_axes})
            with sharding, named_axis(trace.axis):
                result = fun(*args, **kwargs)
            return _sum_unbatched(trace, out_axes, result) if sum_match else result

        def arrays_fun(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = tree_map(_numpy_to_array, (args, kwargs))
            if isinstance(in_axes, tuple) and len(in_axes) != len(args):
                raise MappedAxisError(
                    f"vmap of `{name_of(fun)}`: in_axes has {counted(len(in_axes), 'entry')}, "
                    f"{in_axes}, but the call has {counted(len(args), 'positional argument')}. "
                    "Give an entry for each of these, and none for arguments by keyword."
                )
            dims, size = mapped_axes("vmap", fun, in_axes, axis_size, args, kwargs)
            leaves = tree_leaves((args, kwargs))
            axis = axis_of_arrays(size, leaves, dims, axis_name, mesh_axes)
            mapped = fun if plain else with_axis
            return tree_to_arrays(vmap_call(mapped, args, kwargs, dims, axis, out_axes))

        return arrays_fun

    mesh_axes = spmd_axis_name if isinstance(spmd_axis_name, tuple) else (spmd_axis_name,)
    if spmd_axis_name is None:
        mesh_axes = ()
    plain = axis_name is None and not mesh_axes and not sum_match
    # Made once, not in each call; classes that are registered later are noticed below.
    mapped = None if vmappables else mapping(fun, in_axes, out_axes, axis_size)

    @evaluated_by_library
    @wraps(fun, f"`{name_of(fun)}`, mapped over an axis of its arguments.")
    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        if Switch.used and any(
            isinstance(leaf, references.Ref) for leaf in tree_leaves((args, kwargs))
        ):
            axes = broadcast_prefix(in_axes, args, lambda x: x is None)
            # `in_axes` covers positional arguments; others are mapped over their first axis.
            axes += [0] * len(tree_leaves(kwargs))
            mapping_of_values = functools.partial(
                vmap,
                in_axes=in_axes,
                axis_name=axis_name,
                axis_size=axis_size,
                spmd_axis_name=spmd_axis_name,
                sum_match=sum_match,
            )
            return _map_refs(mapping_of_values, fun, axes, out_axes, args, kwargs)
        if vmappables or mapped is None:
            return map_vmappables(mapping, fun, in_axes, out_axes, axis_size, args, kwargs)
        return mapped(*args, **kwargs)

    return on_arrays


def _map_refs(
    mapping: Callable[..., Any],
    fun: Function,
    axes: Sequence[Any],
    out_axes: Any,
    args: Any,
    kwargs: Any,
) -> Any:
    """`vmap` of a function with reference arguments: maps the arrays that they hold."""
    refs, rest, places = references.split_refs("vmap", (args, kwargs))
    args, kwargs = places.join(references.values_of(refs), rest)

    def values_fun(*args: Any, **kwargs: Any) -> Any:
        leaves = tree_leaves((args, kwargs))
        marked = [*zip(leaves, places.are_refs, strict=True)]
        inner = [references.Ref(leaf) for leaf, is_ref in marked if is_ref]
        args, kwargs = places.join(inner, [leaf for leaf, is_ref in marked if not is_ref])
        out = fun(*args, **kwargs)
        references.require_no_refs(fun, out)
        return references.values_of(inner), out

    axes_of_refs = [axis for axis, is_ref in zip(axes, places.are_refs, strict=True) if is_ref]
    values, out = mapping(values_fun, out_axes=(axes_of_refs, out_axes))(*args, **kwargs)
    references.write_all(refs, values)
    return out


def _sum_unbatched(trace: BatchTrace, out_axes: Any, result: Any) -> Any:
    """The result, with values that must not be batched summed over the examples."""

    def summed(axis: int | None, leaf: Any) -> Any:
        (value,), (dim,) = trace.unbox([leaf])
        if axis is not None or dim is None:
            return leaf
        with set_interpreter(trace.parent):
            return stage2.reduce_sum(value, dim)

    leaves, tree = stage2.tree_flatten(result)
    axes = broadcast_prefix(out_axes, result, is_leaf=lambda x: x is None, name="result")
    return stage2.tree_unflatten(tree, list(map(summed, axes, leaves)))


def _numpy_to_array(x: Any) -> Any:
    """A numpy array as an Array; numbers are unchanged, since they may be meant for Python."""
    return to_array(x) if isinstance(x, np.ndarray) else x
