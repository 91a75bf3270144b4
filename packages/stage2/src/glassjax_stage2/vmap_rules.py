"""Batching rules: each takes values and their batch axes, and computes the whole batch.

A rule `(axis, values, dims, **params)` returns results and their batch axes; at least one
of the values is batched when it is called.
"""

from collections.abc import Callable, Sequence
from typing import Any

from glassjax_stage2 import primitives as p
from glassjax_stage2.functions import broadcast_in_dim, dot_general, reduce_sum, reshape, transpose
from glassjax_stage2.shaped_array import Shape, ShapedArray, typeof
from glassjax_stage2.trace import Primitive, bind
from glassjax_stage2.vmap import BatchAxis, BatchDim, Dims, move_batch_dim, vmap_rules

Values = Sequence[Any]
Batched = tuple[list[Any], list[BatchDim]]


def elementwise(primitive: Primitive, fills: bool = False) -> Callable[..., Batched]:
    """The rule of elementwise primitives: apply them once the batch axes are aligned.

    A scalar shared by all examples stays one. Other shared operands, and a batch of scalars, get
    axes of size 1 where the batch has more; with `fills`, of its size.

    >>> import numpy as np
    >>> from glassjax_stage2.primitives import add_p
    >>> elementwise(add_p)(BatchAxis(2), [np.array([1.0, 2.0]), 10.0], [0, None])
    ([array([11., 12.])], [0])
    """

    def elementwise_vmap(axis: BatchAxis, values: Values, dims: Dims, /, **params: Any) -> Batched:
        examples = [*map(axis.example, map(typeof, values), dims)]
        shape = p.broadcast_shape(primitive, *examples)
        shared, sizes = (axis, shape) if fills else (BatchAxis(1), (1,) * len(shape))

        def align(x: Any, dim: BatchDim, example: ShapedArray) -> Any:
            is_case = fills and example.dtype != bool
            if example.ndim == len(shape) and (shape or dim is not None or is_case):
                return move_batch_dim(x, shared, dim, 0)
            return x if dim is None else broadcast_in_dim(x, (axis.size, *sizes), (0,))

        outs = bind(primitive, *map(align, values, dims, examples), **params)
        return outs, [0] * len(outs)

    return elementwise_vmap


def examples_first(rule: Callable[..., Any]) -> Callable[..., Batched]:
    """The rule of a primitive of one operand, from `rule` for a batch along axis 0.

    Arguments:
        rule: function `(x, size, **params)` of a batch and its size that returns the results.
    """

    def batched(axis: BatchAxis, values: Values, dims: Dims, /, **params: Any) -> Batched:
        x = move_batch_dim(values[0], axis, dims[0], 0)
        return [rule(x, axis.size, **params)], [0]

    return batched


vmap_rules[p.reduce_sum_p] = examples_first(lambda x, n, axes: reduce_sum(x, _axes_after(axes)))
vmap_rules[p.transpose_p] = examples_first(
    lambda x, n, permutation: transpose(x, (0, *_axes_after(permutation)))
)
vmap_rules[p.reshape_p] = examples_first(lambda x, n, new_sizes: reshape(x, (n, *new_sizes)))
vmap_rules[p.broadcast_in_dim_p] = examples_first(
    lambda x, n, shape, broadcast_dimensions: broadcast_in_dim(
        x, (n, *shape), (0, *_axes_after(broadcast_dimensions))
    )
)


def _dot_general_vmap(
    axis: BatchAxis,
    values: Values,
    dims: Dims,
    *,
    dimension_numbers: p.DotDimensionNumbers,
    **params: Any,
) -> Batched:
    """Batching both operands adds a batch axis; batching one adds a free axis to it."""
    (x, y), (x_dim, y_dim) = values, dims
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    if x_dim is not None:
        x = move_batch_dim(x, axis, x_dim, 0)
        x_contract, x_batch = _axes_after(x_contract), _axes_after(x_batch)
    if y_dim is not None:
        y = move_batch_dim(y, axis, y_dim, 0)
        y_contract, y_batch = _axes_after(y_contract), _axes_after(y_batch)
    if x_dim is not None and y_dim is not None:
        x_batch, y_batch, out_dim = (0, *x_batch), (0, *y_batch), 0
    elif x_dim is not None:
        out_dim = len(x_batch)
    else:
        out_dim = len(x_batch) + len(p.free_axes(typeof(x).ndim, x_contract, x_batch))
    numbers = ((x_contract, y_contract), (x_batch, y_batch))
    return [dot_general(x, y, numbers, **params)], [out_dim]


def _axes_after(axes: Shape) -> Shape:
    """The numbers of these axes after an axis is inserted in front."""
    return tuple(axis + 1 for axis in axes)


for primitive in (*p.UNARY, *p.ARITHMETIC, *p.COMPARISONS, p.select_n_p, p.convert_element_type_p):
    vmap_rules[primitive] = elementwise(primitive, fills=primitive is p.select_n_p)

vmap_rules[p.dot_general_p] = _dot_general_vmap
