"""The largest and smallest elements of windows; the gradient goes to one element of each.

A tangent is gathered from the selected element; a cotangent is scattered to it. Each is the
transpose of the other. In a tie, the first element is selected.
"""

from collections.abc import Callable, Sequence
from typing import Any

import minijax.lax.elementwise.arithmetic as elementwise
import minijax.lax.elementwise.extremes as extremes
import minijax.lax.elementwise.selection as selection
import minijax.lax.reductions.standard as reductions
from minijax.lax.elementwise.comparisons import ge, le
from minijax.lax.reductions.windows import (
    declare_window,
    for_examples,
    int_array,
    int_pairs,
    lower_window,
    pad_or_crop,
    windowed_shape,
)
from minijax.lax.shapes.creation import full
from minijax.primitives.declare import declare
from minijax.primitives.regions import region, stage_computation
from minijax.primitives.sharding_rules import as_any
from minijax.shardings.types import division_of
from minijax_stage2 import Primitive, ShapedArray, bind1, tree_flatten, typeof
from minijax_stage2.shaped_array import Shape
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3.lowering import FunctionBuilder, Value, signature
from minijax_stage3.staging import trace_to_jaxpr
from minijax_stage4 import UndefPrimal

select_and_gather_add_p = Primitive("select_and_gather_add")
select_and_scatter_add_p = Primitive("select_and_scatter_add")

Avals = Sequence[ShapedArray]
Values = Sequence[Any]

# By the name of the comparison that selects: the comparison, and the number never selected.
SELECTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "ge": (ge, reductions.smallest),
    "le": (le, reductions.largest),
}


def _gather(tangents: Any, operand: Any, select: str, **window: Any) -> Any:
    """The tangents of those elements that a comparison selects in each window of `operand`."""
    return bind1(select_and_gather_add_p, tangents, operand, select=select, **window)


def _type_of_gathered(
    tangents: ShapedArray, operand: ShapedArray, *, select: str, **window: Any
) -> list[ShapedArray]:
    if tangents.shape != operand.shape or tangents.dtype != operand.dtype:
        raise TypeError(
            f"select_and_gather_add: tangents of {operand} have its type, found {tangents}"
        )
    return [ShapedArray(windowed_shape(operand.shape, window), tangents.dtype)]


def _lower_gather(
    b: FunctionBuilder, out_avals: Avals, tangents: Value, x: Value, *, select: str, **window: Any
) -> list[Value]:
    (out,) = out_avals
    compare, never = SELECTIONS[select]
    scalar = ShapedArray((), out.dtype)

    def computation(x: Any, t: Any, y: Any, u: Any) -> list[Any]:
        which = compare(x, y)
        return [selection.select(which, x, y), selection.select(which, t, u)]

    jaxpr = trace_to_jaxpr(computation, [scalar] * 4, "lowering", None).jaxpr
    inits = [b.constant(never(out.dtype), scalar), b.constant(0, scalar)]
    return lower_window(b, [out, out], [x, tangents, *inits], jaxpr, window)[1:]


def _scatter_back(
    ct: Any, tangents: UndefPrimal, operand: Any, *, select: str, **window: Any
) -> Any:
    if {*window["base_dilation"], *window["window_dilation"]} - {1}:
        raise NotImplementedError(
            "reduce_window: the gradient of the largest or smallest elements of windows with "
            "base_dilation or window_dilation in reverse mode; forward mode (jvp, jacfwd) has it"
        )
    return _scatter(
        ct,
        operand,
        select,
        window["window_dimensions"],
        window["window_strides"],
        window["padding"],
    )


def _examples_first(axis: BatchAxis, values: Values, dims: Sequence[BatchDim]) -> list[Any]:
    return [move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True)]


def _vmap_gather(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, select: str, **window: Any
) -> tuple[list[Any], list[BatchDim]]:
    tangents, operand = _examples_first(axis, values, dims)
    return [_gather(tangents, operand, select, **for_examples(window))], [0]


declare(
    select_and_gather_add_p,
    abstract_eval=_type_of_gathered,
    lower=_lower_gather,
    vmap=_vmap_gather,
    sharding=as_any(select_and_gather_add_p),
    jvp=[
        lambda t, out, tangents, x, *, select, **window: _gather(t, x, select, **window),
        None,
    ],
    transpose=[_scatter_back, None],
)


def _scatter(
    source: Any,
    operand: Any,
    select: str,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[Sequence[int]],
) -> Any:
    """Add each element of `source` at the position that a comparison selects in its window."""
    dtype = typeof(operand).dtype
    never = full((), SELECTIONS[select][1](dtype), dtype)
    config = [(low, high, 0) for low, high in padding]
    padded = pad_or_crop(operand, never, config) if any(map(any, padding)) else operand
    scattered = bind1(
        select_and_scatter_add_p,
        source,
        padded,
        select=select,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
    )
    if padded is operand:
        return scattered
    return pad_or_crop(scattered, full((), 0, dtype), [(-low, -high, 0) for low, high in padding])


def _whole(shape: Shape, window_dimensions: Shape, window_strides: Shape) -> dict[str, Any]:
    """The window parameters other than padding and dilation."""
    return {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": ((0, 0),) * len(shape),
        "base_dilation": (1,) * len(shape),
        "window_dilation": (1,) * len(shape),
    }


def _type_of_scattered(
    source: ShapedArray, operand: ShapedArray, *, select: str, **sizes: Shape
) -> list[ShapedArray]:
    expected = ShapedArray(
        windowed_shape(operand.shape, _whole(operand.shape, **sizes)), operand.dtype
    )
    if source.strip_weak_type() is not expected:
        raise TypeError(
            f"select_and_scatter_add: {operand} has windows of {expected}, found {source}"
        )
    return [ShapedArray(operand.shape, source.dtype)]


def _lower_scatter(
    b: FunctionBuilder, out_avals: Avals, source: Value, x: Value, *, select: str, **sizes: Shape
) -> list[Value]:
    scalar = ShapedArray((), x.aval.dtype)
    compare = SELECTIONS[select][0]
    which = trace_to_jaxpr(lambda x, y: [compare(x, y)], [scalar] * 2, "lowering", None).jaxpr
    add = stage_computation("add", elementwise.add, [scalar], tree_flatten(0)[1])
    zero = b.constant(0, scalar)
    operands = [x, source, zero]
    names = ", ".join(operand.name for operand in operands)
    padding = int_pairs([(0, 0)] * x.aval.ndim)
    return b.emit(
        f'"stablehlo.select_and_scatter"({names}) <{{'
        f"window_dimensions = {int_array(sizes['window_dimensions'])}, "
        f"window_strides = {int_array(sizes['window_strides'])}, padding = {padding}}}> "
        f"({region(b, which)}, {region(b, add)}) : {signature(operands, out_avals)}",
        *out_avals,
    )


def _vmap_scatter(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, select: str, **sizes: Shape
) -> tuple[list[Any], list[BatchDim]]:
    operands = _examples_first(axis, values, dims)
    return [bind1(select_and_scatter_add_p, *operands, select=select, **for_examples(sizes))], [0]


declare(
    select_and_scatter_add_p,
    abstract_eval=_type_of_scattered,
    lower=_lower_scatter,
    vmap=_vmap_scatter,
    sharding=lambda in_avals, out_avals, params: [division_of(in_avals[1])],
    jvp=[
        lambda t, out, source, x, **params: bind1(select_and_scatter_add_p, t, x, **params),
        None,
    ],
    transpose=[
        lambda ct, source, x, *, select, **sizes: _gather(
            ct, x, select, **_whole(typeof(x).shape, **sizes)
        ),
        None,
    ],
)

reduce_window_max = declare_window(
    "reduce_window_max",
    extremes.max,
    reductions.smallest,
    kinds="biuf",
    jvp=lambda t, out, x, **window: _gather(t, x, "ge", **window),
)
reduce_window_min = declare_window(
    "reduce_window_min",
    extremes.min,
    reductions.largest,
    kinds="biuf",
    jvp=lambda t, out, x, **window: _gather(t, x, "le", **window),
)

__all__: list[str] = []
