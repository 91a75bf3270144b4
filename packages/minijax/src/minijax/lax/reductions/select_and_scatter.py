"""`select_and_scatter`, a primitive of XLA, for programs that bind it by JAX's name.

The derivatives of pooling have a primitive of their own, in `window_extremes`.
"""

from collections.abc import Sequence
from typing import Any

from minijax.lax.reductions.windows import for_examples, int_array, int_pairs, windowed_shape
from minijax.primitives.declare import declare, no_derivative
from minijax.primitives.regions import region, stage_computation
from minijax.shardings.types import division_of
from minijax_stage2 import Primitive, ShapedArray, bind1, tree_flatten
from minijax_stage2.shaped_array import Shape
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3 import Jaxpr, eval_jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value, signature
from minijax_stage3.staging import trace_to_jaxpr

# Puts each element of the second operand at the place that a program selects in its window of the
# first, and combines there what meets by another program, which begins with the third operand.
select_and_scatter_p = Primitive("select_and_scatter")


def _type(
    operand: ShapedArray,
    source: ShapedArray,
    init: ShapedArray,
    *,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[Sequence[int]],
    **programs: Any,
) -> list[ShapedArray]:
    ones = (1,) * operand.ndim
    window = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
        "base_dilation": ones,
        "window_dilation": ones,
    }
    try:
        shape = windowed_shape(operand.shape, window)
    except ValueError as error:
        raise TypeError(f"select_and_scatter: {error}") from None
    if (source.shape, init.shape) != (shape, ()) or len(
        {operand.dtype, source.dtype, init.dtype}
    ) > 1:
        raise TypeError(
            f"select_and_scatter: the windows of {operand} need a source of shape {shape}, and a "
            f"scalar to begin with, of the same dtype; found {source} and {init}"
        )
    return [operand.strip_weak_type()]


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *operands: Value,
    select_jaxpr: Any,
    select_consts: Sequence[Any],
    scatter_jaxpr: Any,
    scatter_consts: Sequence[Any],
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[Sequence[int]],
) -> list[Value]:
    scalar = ShapedArray((), operands[0].aval.dtype)

    def select(x: Any, y: Any) -> list[Any]:
        return _run(select_jaxpr, select_consts, x, y)

    closed = trace_to_jaxpr(select, [scalar] * 2, "select_and_scatter", None)
    if closed.consts:
        raise NotImplementedError(
            "select_and_scatter: select_jaxpr uses an array from outside; only numbers can be "
            "closed over"
        )
    combine = stage_computation(
        "select_and_scatter",
        lambda x, y: _run(scatter_jaxpr, scatter_consts, x, y)[0],
        [scalar],
        tree_flatten(0)[1],
    )
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f'"stablehlo.select_and_scatter"({names}) <{{'
        f"window_dimensions = {int_array(window_dimensions)}, "
        f"window_strides = {int_array(window_strides)}, padding = {int_pairs(padding)}}}> "
        f"({region(b, closed.jaxpr)}, {region(b, combine)}) : {signature(operands, out_avals)}",
        *out_avals,
    )


def _run(program: Any, consts: Sequence[Any], x: Any, y: Any) -> list[Any]:
    """The results of a jaxpr, closed or with its constants beside it."""
    jaxpr: Jaxpr = program.jaxpr
    return eval_jaxpr(jaxpr, consts or program.consts, x, y)


def _vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[Sequence[int]],
    **programs: Any,
) -> tuple[list[Any], list[BatchDim]]:
    *_, init_dim = dims
    if init_dim is not None:
        raise NotImplementedError(
            "select_and_scatter: the examples of vmap begin with one value; found one for each"
        )
    x, source = (
        move_batch_dim(x, axis, dim, 0) for x, dim in zip(values[:2], dims[:2], strict=True)
    )
    window = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
    }
    return [
        bind1(select_and_scatter_p, x, source, values[2], **for_examples(window), **programs)
    ], [0]


declare(
    select_and_scatter_p,
    abstract_eval=_type,
    lower=_lower,
    vmap=_vmap,
    sharding=lambda in_avals, out_avals, params: [division_of(in_avals[0])],
    jvp=[no_derivative("select_and_scatter", name) for name in ("operand", "source", "init_value")],
)

__all__: list[str] = []
