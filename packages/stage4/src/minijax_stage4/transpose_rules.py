"""The transposes of the linear primitives, and of those that are linear in each operand.

In a formula `ct` is the cotangent of the result; linear operands are known by their type only.
"""

from typing import Any

import numpy as np

from minijax_stage2 import (
    astype,
    broadcast_in_dim,
    div,
    dot_general,
    full_like,
    mul,
    neg,
    reduce_sum,
    reshape,
    select_n,
    transpose,
    typeof,
)
from minijax_stage2.primitives import (
    DotDimensionNumbers,
    add_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    div_p,
    dot_general_p,
    free_axes,
    mul_p,
    neg_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    sub_p,
    transpose_p,
)
from minijax_stage2.shaped_array import Shape
from minijax_stage4.transpose import UndefPrimal, deftranspose


def _spread_back(ct: Any, x: UndefPrimal, *, axes: Shape) -> Any:
    """The transpose of a sum repeats the cotangent along the axes that were summed."""
    kept = [axis for axis in range(x.aval.ndim) if axis not in axes]
    return broadcast_in_dim(ct, x.aval.shape, kept)


def _sum_back(ct: Any, x: UndefPrimal, *, shape: Shape, broadcast_dimensions: Shape) -> Any:
    """The transpose of repetition sums over the axes along which the operand was repeated."""
    kept = [
        axis
        for axis, size in zip(broadcast_dimensions, x.aval.shape, strict=True)
        if size == shape[axis]
    ]
    summed = [axis for axis in range(len(shape)) if axis not in kept]
    return reshape(reduce_sum(ct, summed) if summed else ct, x.aval.shape)


def _dot_x(ct: Any, x: UndefPrimal, y: Any, *, dimension_numbers: DotDimensionNumbers) -> Any:
    """The cotangent of the first operand: that of the result times the second operand.

    The axes of `ct` are batch axes, free axes of x, free axes of y. The last are contracted,
    and the axes of the product put where those of x stood.
    """
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    ndim_x, ndim_y = x.aval.ndim, typeof(y).ndim
    y_free = free_axes(ndim_y, y_contract, y_batch)
    x_free = free_axes(ndim_x, x_contract, x_batch)
    ct_batch = tuple(range(len(x_batch)))
    ct_y_free = tuple(range(len(x_batch) + len(x_free), len(x_batch) + len(x_free) + len(y_free)))
    product = dot_general(ct, y, ((ct_y_free, y_free), (ct_batch, y_batch)))
    # The axes of the product: batch, free axes of x, contracted axes in the order they have in y.
    contracted = [x_contract[y_contract.index(axis)] for axis in sorted(y_contract)]
    axes_of_x = [*x_batch, *x_free, *contracted]
    return transpose(product, np.argsort(axes_of_x).tolist())


def _dot_y(ct: Any, x: Any, y: UndefPrimal, *, dimension_numbers: DotDimensionNumbers) -> Any:
    """The same for the second operand, as the first one of the product in the other order."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    ndim_x = typeof(x).ndim
    batch = len(x_batch)
    rows = len(free_axes(ndim_x, x_contract, x_batch))
    ndim_ct = batch + rows + len(free_axes(y.aval.ndim, y_contract, y_batch))
    swapped = [*range(batch), *range(batch + rows, ndim_ct), *range(batch, batch + rows)]
    numbers = ((y_contract, x_contract), (y_batch, x_batch))
    return _dot_x(transpose(ct, swapped), y, x, dimension_numbers=numbers)


# --8<-- [start:table]
deftranspose(neg_p, lambda ct, x: neg(ct))

deftranspose(add_p, lambda ct, x, y: ct, lambda ct, x, y: ct, jointly=True)
deftranspose(sub_p, lambda ct, x, y: ct, lambda ct, x, y: neg(ct), jointly=True)
deftranspose(mul_p, lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct))
deftranspose(div_p, lambda ct, x, y: div(ct, y), None)

deftranspose(
    select_n_p,
    None,
    lambda ct, which, x, y: select_n(which, ct, full_like(ct, 0)),
    lambda ct, which, x, y: select_n(which, full_like(ct, 0), ct),
    jointly=True,
)
deftranspose(convert_element_type_p, lambda ct, x, *, new_dtype, **weak: astype(ct, x.aval.dtype))

deftranspose(reduce_sum_p, _spread_back)
deftranspose(
    transpose_p, lambda ct, x, *, permutation: transpose(ct, np.argsort(permutation).tolist())
)
deftranspose(reshape_p, lambda ct, x, *, new_sizes: reshape(ct, x.aval.shape))
deftranspose(broadcast_in_dim_p, _sum_back)
deftranspose(dot_general_p, _dot_x, _dot_y)
# --8<-- [end:table]
