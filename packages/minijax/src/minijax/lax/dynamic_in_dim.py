"""Slices along one axis that begin where the program says when it runs."""

from typing import Any

from minijax.lax.dynamic_slicing import dynamic_slice, dynamic_update_slice
from minijax.lax.structural import expand_dims, squeeze
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axis, one_int


def _starts_along(axis: int, ndim: int, index: Any) -> list[Any]:
    return [index if i == axis else 0 for i in range(ndim)]


@operation(static=("slice_size", "axis", "allow_negative_indices"))
def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_slice` along one axis, of which `slice_size` elements are taken.

    >>> lax.dynamic_slice_in_dim(jnp.arange(12).reshape(2, 6), 3, 2, axis=1)
    Array([[ 3,  4],
           [ 9, 10]], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = canonical_axis("dynamic_slice_in_dim", axis, len(shape))
    slice_size = one_int("dynamic_slice_in_dim: slice_size", slice_size)
    sizes = [slice_size if i == axis else size for i, size in enumerate(shape)]
    starts = _starts_along(axis, len(shape), start_index)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


@operation(static=("axis", "allow_negative_indices"))
def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_update_slice` along one axis, from `start_index` on.

    >>> lax.dynamic_update_slice_in_dim(jnp.zeros(5), jnp.array([7.0, 8.0]), 2, axis=0)
    Array([0., 0., 7., 8., 0.], dtype=float32)
    """
    ndim = typeof(operand).ndim
    axis = canonical_axis("dynamic_update_slice_in_dim", axis, ndim)
    starts = _starts_along(axis, ndim, start_index)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@operation(static=("axis", "keepdims", "allow_negative_indices"))
def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """What stands at one index of an axis, which stays with size 1 if `keepdims`.

    >>> lax.dynamic_index_in_dim(jnp.array([[1, 2], [3, 4]]), 1, axis=1, keepdims=False)
    Array([2, 4], dtype=int32)
    """
    out = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return out if keepdims else squeeze(out, axis)


@operation(static=("axis", "allow_negative_indices"))
def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`operand` with `update`, with or without that axis, at one index of an axis.

    >>> lax.dynamic_update_index_in_dim(jnp.zeros(4), 5.0, 2, axis=0)
    Array([0., 0., 5., 0.], dtype=float32)
    """
    ndim = typeof(operand).ndim
    axis = canonical_axis("dynamic_update_index_in_dim", axis, ndim)
    if typeof(update).ndim != ndim:
        update = expand_dims(update, axis)
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice_in_dim",
]
