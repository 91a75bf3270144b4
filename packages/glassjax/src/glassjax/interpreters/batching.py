"""Rules of vmap, under the names of `jax.interpreters.batching`.

A rule takes the operands, the batch axis of each or None, and the parameters by keyword; it returns
results and their batch axes, in lists if `primitive.multiple_results`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from glassjax.core import Jaxpr, jaxpr_as_fun
from glassjax.extend import linear_util as lu
from glassjax.interpreters.ad import Rule, RulesByJAX
from glassjax.primitives.axes import AxisData, axis_data, map_flat
from glassjax.primitives.methods import as_list, as_result
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.transforms.custom_vmap import register_vmappable, unregister_vmappable
from glassjax_stage2 import Primitive, bind, vmap_rules
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage2.vmap_rules import elementwise
from glassjax_stage3.staging import trace_to_jaxpr

not_mapped = None
zero_if_mapped = object()  # a place for the batch axis: first, or none if the result has none


def _dims(primitive: Any, out_dims: Any, outs: Any) -> list[Any]:
    if not primitive.multiple_results:
        return [out_dims]
    return list(out_dims) if isinstance(out_dims, list | tuple) else [out_dims] * len(outs)


def _rules_given(arguments: Callable[[BatchAxis], tuple[Any, ...]]) -> RulesByJAX:
    """A table in a convention whose rules take further arguments first.

    Arguments:
        arguments: returns these for the axis of the examples.
    """

    def to_ours(primitive: Primitive, rule: Rule) -> Rule:
        def adapted_vmap(
            axis: BatchAxis, values: Sequence[Any], dims: Sequence[Any], /, **params: Any
        ) -> tuple[list[Any], list[Any]]:
            outs, out_dims = rule(*arguments(axis), tuple(values), tuple(dims), **params)
            return as_list(primitive, outs), _dims(primitive, out_dims, outs)

        return adapted_vmap

    def to_jax(primitive: Primitive, rule: Rule) -> Rule:
        def by_jax(*args: Any, **params: Any) -> Any:
            values, dims = args[-2:]
            outs, out_dims = rule(_axis_from(args), values, dims, **params)
            return as_result(primitive, outs), as_result(primitive, out_dims)

        return by_jax

    return RulesByJAX(vmap_rules, to_ours, to_jax)


def _axis_from(args: Sequence[Any]) -> BatchAxis:
    given, values, dims = args[:-2], *args[-2:]
    if given:
        return given[0] if isinstance(given[0], BatchAxis) else BatchAxis(given[0])
    return BatchAxis(next(x.shape[d] for x, d in zip(values, dims, strict=True) if d is not None))


primitive_batchers = _rules_given(lambda axis: ())
fancy_primitive_batchers = _rules_given(lambda axis: (axis_data(axis),))
# The older convention: the size and name of the axis, and values that no rule needs.
axis_primitive_batchers = _rules_given(lambda axis: (axis.size, None, None))


def defvectorized(prim: Primitive) -> None:
    """Give an elementwise primitive of one operand its rule."""
    vmap_rules[prim] = elementwise(prim)


def defbroadcasting(prim: Primitive) -> None:
    """Give an elementwise primitive of several operands its rule."""
    vmap_rules[prim] = elementwise(prim)


def defreducer(prim: Primitive) -> None:
    """Give a primitive that reduces its operand along the axes `axes` its rule."""

    def reducer_vmap(
        values: Sequence[Any], dims: Sequence[Any], *, axes: Any, **params: Any
    ) -> Any:
        (x,), (dim,) = values, dims
        moved = tuple(axis + (axis >= dim) for axis in axes)
        out_dim = dim - sum(axis < dim for axis in moved)
        (out,) = bind(prim, x, axes=moved, **params)
        return out, out_dim

    primitive_batchers[prim] = reducer_vmap


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """`x` with its batch axis first, broadcast if it has none.

    Arguments:
        x: the array.
        bdim: the position of its batch axis; None if it has none.
        size: the size of the batch axis.
        mesh_axis: ignored.
    """
    return move_batch_dim(x, BatchAxis(size), bdim, 0)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """`x` broadcast along a new axis.

    Arguments:
        x: the array.
        sz: the size of the new axis.
        axis: its position.
        mesh_axis: ignored.
    """
    return BatchAxis(sz).broadcast(x, axis)


@lu.transformation_with_aux2
@evaluated_by_library
def batch_subtrace(
    f: Callable[..., Sequence[Any]],
    store: lu.Store,
    tag: Any,
    axis_data: AxisData,
    in_dims: Any,
    *in_vals: Any,
) -> list[Any]:
    """Map a `WrappedFun` of arrays that returns a list over batch axes.

    Arguments:
        f: the function.
        tag: ignored: tracers know their interpreter.
        axis_data: the axis.
        in_dims: the batch axis of each argument, or None; or a function that returns these.

    Returns:
        The mapped function, and a function that gives the batch axes of the results once it ran.
    """
    dims = in_dims() if callable(in_dims) else in_dims
    outs, out_dims = map_flat(f, in_vals, dims, axis_data)
    store.store(out_dims)
    return outs


@evaluated_by_library
def batch_jaxpr_axes(
    closed_jaxpr: Jaxpr,
    axis_data: AxisData,
    in_axes: Sequence[BatchDim],
    out_axes_dest: Sequence[Any],
) -> tuple[Jaxpr, list[bool]]:
    """The program of whole batches.

    Arguments:
        closed_jaxpr: the program of one example.
        axis_data: the axis of the examples.
        in_axes: the batch axis of each argument; None where all examples share it.
        out_axes_dest: the position of each result's batch axis, or a list of one for all;
            `zero_if_mapped`; or None for results that must not have one.

    Returns:
        The program, and a flag for each result, True if it has a batch axis.

    Raises:
        ValueError: a result has a batch axis that must have none.
    """
    batched: list[bool] = []

    def move_axis(out: Any, dim: BatchDim, wanted: Any) -> Any:
        place = (None if dim is None else 0) if wanted is zero_if_mapped else wanted
        if place is None and dim is not None:
            raise ValueError("batch_jaxpr_axes: a result depends on the example, and has an axis")
        batched.append(place is not None)
        return out if place is None else move_batch_dim(out, axis_data, dim, place)

    def batched_program(*args: Any) -> list[Any]:
        outs, dims = map_flat(jaxpr_as_fun(closed_jaxpr), args, in_axes, axis_data)
        wanted = list(out_axes_dest)
        wanted = wanted if len(wanted) == len(outs) else wanted * len(outs)
        return [move_axis(*each) for each in zip(outs, dims, wanted, strict=True)]

    in_avals = list(map(axis_data.batch, closed_jaxpr.in_avals, in_axes))
    return trace_to_jaxpr(batched_program, in_avals, "batch_jaxpr_axes", batched_program), batched


__all__ = [
    "AxisData", "axis_primitive_batchers", "batch_jaxpr_axes", "batch_subtrace", "bdim_at_front",
    "broadcast", "defbroadcasting", "defreducer", "defvectorized", "fancy_primitive_batchers",
    "not_mapped", "primitive_batchers", "register_vmappable", "unregister_vmappable",
    "zero_if_mapped",
]  # fmt: skip
