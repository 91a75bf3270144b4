"""Products of matrices that come with a scale for each block of their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax.lax.dot import DotDimensionNumbers, dot_general
from minijax.lax.elementwise.arithmetic import mul
from minijax.lax.elementwise.conversion import convert_element_type
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.lax.shapes.reshaping import reshape
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof


def scaled(name: str, operand: Any, scale: Any, dtype: Any) -> Any:
    """`operand` times its scales, each for a block of as many numbers as fit.

    Raises:
        ValueError: an axis of `operand` is not a multiple of that of `scale`.
    """
    operand = convert_element_type(operand, dtype)
    if scale is None:
        return operand
    shape, sizes = typeof(operand).shape, typeof(scale).shape
    if len(shape) != len(sizes) or any(not s or n % s for n, s in zip(shape, sizes, strict=True)):
        raise ValueError(
            f"{name}: each axis of an operand must be a multiple of that of its scale, found "
            f"shapes {shape} and {sizes}"
        )
    blocks = [x for n, s in zip(shape, sizes, strict=True) for x in (s, n // s)]
    axes = tuple(range(0, 2 * len(shape), 2))
    spread = broadcast_in_dim(convert_element_type(scale, dtype), tuple(blocks), axes)
    return mul(operand, reshape(spread, shape))


@operation(static=("dimension_numbers", "preferred_element_type"))
def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`dot_general` of two arrays, each times the scales of its blocks.

    Arguments:
        lhs: an array.
        rhs: an array.
        lhs_scale: the scales of `lhs`, each for a block of its numbers; 1 by default.
        rhs_scale: those of `rhs`.
        dimension_numbers: as for `dot_general`; by default the last axis of `lhs` meets the last
            but one of `rhs`, after batch axes.
        preferred_element_type: the dtype of the result; bfloat16 by default.

    Raises:
        ValueError: an axis is not a multiple of that of its scale.

    >>> x, scale = jnp.ones((1, 2, 4)), jnp.full((1, 2, 2), 3.0)
    >>> print(scaled_dot(x, jnp.ones((1, 4, 1)), lhs_scale=scale).ravel())
    [12 12]
    """
    dtype: Any = "bfloat16" if preferred_element_type is None else preferred_element_type
    if dimension_numbers is None:
        axes = tuple(range(typeof(lhs).ndim - 2))
        ndim = typeof(lhs).ndim
        dimension_numbers = (((ndim - 1,), (ndim - 2,)), (axes, axes))
    wide = [
        scaled("scaled_dot", operand, scale, np.float32)
        for operand, scale in ((lhs, lhs_scale), (rhs, rhs_scale))
    ]
    return convert_element_type(dot_general(wide[0], wide[1], dimension_numbers), dtype)


__all__ = ["scaled_dot"]
