"""Products of vectors and matrices."""

from typing import Any

import minijax_stage2 as stage2
from minijax import lax
from minijax.operation import operation
from minijax_stage2 import typeof


@operation
def matmul(a: Any, b: Any) -> Any:
    """`a @ b`: the matrix product, over leading axes that broadcast."""
    return stage2.matmul(a, b)


@operation
def dot(a: Any, b: Any) -> Any:
    """The sum of products over the last axis of `a` and the last but one, or only one, of `b`.

    With a scalar it is the product; for vectors and matrices it is `matmul`.
    """
    ndim_a, ndim_b = typeof(a).ndim, typeof(b).ndim
    if not ndim_a or not ndim_b:
        return lax.mul(a, b)
    contracted = ((ndim_a - 1,), (max(ndim_b - 2, 0),))
    return lax.dot_general(a, b, (contracted, ((), ())))


@operation
def outer(a: Any, b: Any) -> Any:
    """The products of each element of `a` with each element of `b`, as a matrix."""
    return lax.mul(lax.reshape(a, (-1, 1)), lax.reshape(b, (1, -1)))
