"""Products of vectors and matrices, as strict as those of the array API."""

from __future__ import annotations

from typing import Any

from minijax.lax.dot import HOW
from minijax.lax.precision import PrecisionLike
from minijax.numpy import products
from minijax.numpy.products import vecdot
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_one_dtype
from minijax_stage2 import typeof


@operation(static="axis")
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three elements.

    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    require_one_dtype(x1, x2)
    return products.cross(x1, x2, axis=axis)


@operation(static=("precision", "preferred_element_type"))
def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The matrix product, over leading axes that broadcast.

    >>> jnp.linalg.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    require_one_dtype(x1, x2)
    return products.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


@operation
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of each element of the vector `x1` with each of `x2`, as a matrix.

    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([10, 20]))
    Array([[10, 20],
           [20, 40]], dtype=int32)
    """
    require_one_dtype(x1, x2)
    if typeof(x1).ndim != 1 or typeof(x2).ndim != 1:
        raise ValueError(f"outer: takes vectors, found {typeof(x1)} and {typeof(x2)}")
    return products.outer(x1, x2)


@operation(static=("axes", *HOW))
def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: Any = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> Array:
    """The sums of products over several axes; see `minijax.numpy.tensordot`.

    >>> jnp.linalg.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5)), axes=2).shape
    (2, 5)
    """
    return products.tensordot(
        x1,
        x2,
        axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


__all__ = ["cross", "matmul", "outer", "tensordot", "vecdot"]
