"""Products of matrices of few bits, with a scale for each block of their numbers."""

from __future__ import annotations

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.scaled_dot import scaled
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof


@operation(static="preferred_element_type")
def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """The product of matrices and transposed matrices, each times the scales of its blocks.

    Arguments:
        lhs: matrices, of shape `(b, m, k)`.
        rhs: matrices, of shape `(b, n, k)`.
        lhs_scales: the scales of blocks of rows, of shape `(b, m, k / size)`.
        rhs_scales: the same for `rhs`; the sizes may differ.
        preferred_element_type: the dtype of the result.

    Returns:
        An array of shape `(b, m, n)`, summed in float32.

    Raises:
        ValueError: the shapes do not match.

    >>> ones = jnp.ones((1, 2, 4))
    >>> print(scaled_matmul(ones, ones, jnp.full((1, 2, 2), 3.0), jnp.ones((1, 2, 1)))[0])
    [[12. 12.]
     [12. 12.]]
    """
    shapes = [typeof(x).shape for x in (lhs, rhs, lhs_scales, rhs_scales)]
    first, second, *sizes = shapes
    fits = all(len(shape) == 3 for shape in shapes) and first[::2] == second[::2]
    if not fits or first[:2] != sizes[0][:2] or second[:2] != sizes[1][:2]:
        raise ValueError(
            "scaled_matmul: expected shapes (b, m, k), (b, n, k), (b, m, k / size) and "
            f"(b, n, k / size), found {', '.join(map(str, shapes))}"
        )
    wide = [
        scaled("scaled_matmul", operand, scales, np.float32)
        for operand, scales in ((lhs, lhs_scales), (rhs, rhs_scales))
    ]
    product = lax.dot_general(wide[0], wide[1], (((2,), (2,)), ((0,), (0,))))
    return lax.convert_element_type(product, preferred_element_type)


__all__ = ["scaled_matmul"]
