"""Slices of a sparse array at the positions in an array of indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minijax import numpy as jnp
from minijax.experimental.sparse.bcoo_array import BCOO
from minijax.experimental.sparse.layouts import bcoo_update_layout
from minijax.experimental.sparse.shapes import (
    bcoo_dynamic_slice,
    bcoo_reshape,
    bcoo_squeeze,
    bcoo_transpose,
)
from minijax.lax.indexing.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from minijax.runtime.array import ArrayLike
from minijax.transforms.transformations import vmap


def bcoo_gather(
    operand: BCOO,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> BCOO:
    """`lax.gather` of a sparse array: slices of it that begin at `start_indices`.

    Arguments:
        operand: the array.
        start_indices: integers; their last axis holds the start of one slice.
        dimension_numbers: as for `lax.gather`, without batching axes.
        slice_sizes: the size of a slice along each axis of `operand`.
        unique_indices: ignored.
        indices_are_sorted: ignored.
        mode: "promise_in_bounds", the default.
        fill_value: ignored.

    Raises:
        NotImplementedError: there is another `mode`, or `dimension_numbers` have batching axes.
        ValueError: there is not one size for each axis.

    >>> from minijax.experimental import sparse
    >>> numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> rows = sparse.bcoo_gather(sparse.eye(3), jnp.array([[2], [0]]), numbers, (1, 3))
    >>> rows.todense()
    Array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    if mode is not None:
        mode = GatherScatterMode.from_any(mode)
        if mode is not GatherScatterMode.PROMISE_IN_BOUNDS:
            raise NotImplementedError(
                f"bcoo_gather: mode must be 'promise_in_bounds', found {mode}; todense() makes an "
                "array, which takes others"
            )
    numbers = GatherDimensionNumbers(*map(tuple, dimension_numbers))
    if numbers.operand_batching_dims:
        raise NotImplementedError("bcoo_gather: dimension_numbers must not have batching axes")
    sizes = tuple(int(size) for size in slice_sizes)
    if len(sizes) != operand.ndim:
        raise ValueError(f"bcoo_gather: expected {operand.ndim} slice sizes, found {sizes}")
    starts = jnp.asarray(start_indices)
    lead = starts.shape[:-1]

    def one(start: Any) -> BCOO:
        first: list[Any] = [jnp.zeros((), starts.dtype)] * operand.ndim
        for column, axis in enumerate(numbers.start_index_map):
            first[axis] = start[column]
        part = bcoo_dynamic_slice(operand, first, sizes)
        return bcoo_squeeze(part, dimensions=numbers.collapsed_slice_dims)

    count = math.prod(lead)
    out = vmap(one)(starts.reshape(count, starts.shape[-1]))
    window = out.shape[1:]
    if lead != (count,):
        out = bcoo_reshape(out, new_sizes=(*lead, *window))
    # The axes of windows are moved to where they belong.
    offsets = numbers.offset_dims
    others = [axis for axis in range(out.ndim) if axis not in offsets]
    order = [0] * out.ndim
    for axis, place in enumerate((*others, *offsets)):
        order[place] = axis
    if order == list(range(out.ndim)):
        return out
    return bcoo_transpose(bcoo_update_layout(out, n_batch=0), permutation=order)


__all__ = ["bcoo_gather"]
