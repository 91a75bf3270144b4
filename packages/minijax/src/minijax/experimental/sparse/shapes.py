"""Moving and choosing the elements of sparse arrays."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.experimental.sparse.base import sparse_primitive
from minijax.experimental.sparse.bcoo_array import BCOO, SparseInfo
from minijax.experimental.sparse.conversion import full_batches, is_inside, masked
from minijax.experimental.sparse.layouts import bcoo_sum_duplicates, bcoo_update_layout


def _transpose(
    data: Any, indices: Any, *, permutation: Sequence[int], spinfo: SparseInfo
) -> tuple[Any, Any]:
    b, s = indices.ndim - 2, indices.shape[-1]
    batch, sparse, dense = permutation[:b], permutation[b : b + s], permutation[b + s :]
    elements = (*batch, b, *(axis - s + 1 for axis in dense))
    indices = jnp.transpose(indices, (*batch, b, b + 1))
    return jnp.transpose(data, elements), indices[..., [axis - b for axis in sparse]]


bcoo_transpose_p = sparse_primitive("bcoo_transpose", _transpose, several=True)


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its axes permuted, batch axes, sparse axes and dense axes each among them.

    Raises:
        ValueError: `permutation` is not one of the axes.
        NotImplementedError: it mixes batch, sparse and dense axes.
    """
    order = tuple(int(axis) for axis in permutation)
    if sorted(order) != list(range(mat.ndim)):
        raise ValueError(
            f"bcoo_transpose: expected a permutation of {mat.ndim} axes, found {order}"
        )
    b, s = mat.n_batch, mat.n_sparse
    batch, sparse = order[:b], order[b : b + s]
    if sorted(batch) != list(range(b)) or sorted(sparse) != list(range(b, b + s)):
        raise NotImplementedError(
            f"bcoo_transpose: {order} mixes {b} batch, {s} sparse and {mat.n_dense} dense axes; "
            "update_layout changes what they are"
        )
    pair = bcoo_transpose_p.bind(mat.data, mat.indices, permutation=order, spinfo=mat._info)
    return BCOO(
        pair,
        shape=tuple(mat.shape[axis] for axis in order),
        indices_sorted=mat.indices_sorted and sparse == tuple(range(b, b + s)),
        unique_indices=mat.unique_indices,
    )


def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None,
    sharding: None = None,
) -> BCOO:  # fmt: skip
    """The array with another shape of the same size. Batch axes stay if their sizes do.

    Arguments:
        mat: the array.
        new_sizes: the shape.
        dimensions: the order of its axes before.
        sharding: must be None.

    Raises:
        ValueError: the sizes differ.
        NotImplementedError: `sharding` is given.
    """
    if sharding is not None:
        raise NotImplementedError("bcoo_reshape: sharding must be None")
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    sizes = tuple(int(n) for n in new_sizes)
    if math.prod(sizes) != mat.size:
        raise ValueError(f"bcoo_reshape: {mat.shape} and {sizes} differ in size")
    kept = mat.n_batch if sizes[: mat.n_batch] == mat.shape[: mat.n_batch] else 0
    mat = bcoo_update_layout(mat, n_batch=kept, n_dense=0)
    old, new = mat.sparse_shape, sizes[kept:]
    indices = mat.indices
    number: Any = jnp.zeros(indices.shape[:-1], indices.dtype)
    for axis, size in enumerate(old):
        number = number * size + indices[..., axis]
    parts = []
    rest = number
    for size in reversed(new):
        rest, part = jnp.divmod(rest, max(size, 1))
        parts.append(part)
    places = jnp.stack(parts[::-1], -1) if parts else jnp.zeros((*number.shape, 0), indices.dtype)
    inside = is_inside(indices, old)[..., None]
    places = jnp.where(inside, places, jnp.asarray(new, indices.dtype))
    data = mat.data
    if not new:  # where no place is outside
        data = masked(jnp.broadcast_to(inside[..., 0], data.shape), data)
    return BCOO(
        (data, places),
        shape=sizes,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCOO:
    """The array repeated along new axes, and along those of size 1.

    Arguments:
        mat: the array.
        shape: the shape of the result.
        broadcast_dimensions: which axis of the result each axis becomes, in order.
        sharding: must be None.

    Returns:
        An array whose new axes are batch axes if they come before all sparse ones. Otherwise all
        axes are sparse.

    Raises:
        ValueError: the shapes do not fit.
        NotImplementedError: `sharding` is given.
    """
    if sharding is not None:
        raise NotImplementedError("bcoo_broadcast_in_dim: sharding must be None")
    sizes, axes = tuple(shape), tuple(broadcast_dimensions)
    fits = (
        len(axes) == mat.ndim
        and list(axes) == sorted(set(axes))
        and set(axes) <= set(range(len(sizes)))
    )
    if not fits or any(n not in (1, sizes[axis]) for n, axis in zip(mat.shape, axes, strict=True)):
        raise ValueError(
            f"bcoo_broadcast_in_dim: {mat.shape} has no axes {axes} in the shape {sizes}"
        )
    b = mat.n_batch
    lead = len(sizes) - (mat.ndim - b)
    if axes[b:] == tuple(range(lead, len(sizes))) and mat.shape[b:] == sizes[lead:]:
        # Only batch axes are new, for which one list of elements serves.
        data, indices = (
            array.reshape(
                *(array.shape[axes.index(n)] if n in axes else 1 for n in range(lead)),
                *array.shape[b:],
            )
            for array in (mat.data, mat.indices)
        )
        return BCOO(
            (data, indices),
            shape=sizes,
            indices_sorted=mat.indices_sorted,
            unique_indices=mat.unique_indices,
        )
    mat = bcoo_update_layout(mat, n_batch=0, n_dense=0)
    repeated = [
        axis for axis in range(len(sizes))
        if axis not in axes or mat.shape[axes.index(axis)] != sizes[axis]
    ]  # fmt: skip
    counts = tuple(sizes[axis] for axis in repeated)
    grid = np.indices(counts).reshape(len(counts), -1)
    times = grid.shape[1]
    columns = []
    inside = jnp.repeat(is_inside(mat.indices, mat.shape), times)
    for axis, size in enumerate(sizes):
        if axis in repeated:
            column = jnp.tile(jnp.asarray(grid[repeated.index(axis)], mat.indices.dtype), mat.nse)
            columns.append(jnp.where(inside, column, size))
        else:
            columns.append(jnp.repeat(mat.indices[:, axes.index(axis)], times))
    places = jnp.stack(columns, -1) if columns else mat.indices
    return BCOO(
        (jnp.repeat(mat.data, times, 0), places), shape=sizes, unique_indices=mat.unique_indices
    )


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """The arrays joined along an axis.

    Raises:
        ValueError: there are none, or they differ in other axes or in batch and dense axes.
        NotImplementedError: the axis is of the elements.
    """
    mats = list(operands)
    layouts = {(mat.ndim, mat.n_batch, mat.n_dense) for mat in mats}
    rests = {(*mat.shape[:dimension], *mat.shape[dimension + 1 :]) for mat in mats}
    if len(layouts) != 1 or len(rests) != 1:
        raise ValueError(
            "bcoo_concatenate: expected arrays that differ in one axis only, found "
            f"{', '.join(map(repr, mats)) or 'none'}"
        )
    first = mats[0]
    at = first.n_batch
    if not 0 <= dimension < first.ndim:
        raise ValueError(f"bcoo_concatenate: {first} has no axis {dimension}")
    if dimension >= at + first.n_sparse:
        raise NotImplementedError("bcoo_concatenate: the axis must not be one of the elements")
    size = sum(mat.shape[dimension] for mat in mats)
    shape = (*first.shape[:dimension], size, *first.shape[dimension + 1 :])
    pairs = [full_batches(mat) for mat in mats]
    if dimension < at:
        nse = max(mat.nse for mat in mats)
        padded = []
        for data, indices in pairs:
            missing = nse - indices.shape[at]
            pad = [(0, missing if axis == at else 0) for axis in range(data.ndim)]
            outside = jnp.asarray(first.sparse_shape, indices.dtype)
            outside = jnp.broadcast_to(outside, (*indices.shape[:at], missing, indices.shape[-1]))
            padded.append((jnp.pad(data, pad), jnp.concatenate([indices, outside], at)))
        axis, pairs = dimension, padded
    else:
        axis, moved, offset = at, [], 0
        column = dimension - at
        for mat, (data, indices) in zip(mats, pairs, strict=True):
            inside = is_inside(indices, mat.sparse_shape)
            shifted = jnp.where(inside, indices[..., column] + offset, size)
            moved.append((data, indices.at[..., column].set(shifted.astype(indices.dtype))))
            offset += mat.shape[dimension]
        pairs = moved
    data, indices = (jnp.concatenate(parts, axis) for parts in zip(*pairs, strict=True))
    return BCOO((data, indices), shape=shape, unique_indices=all(m.unique_indices for m in mats))


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array with the order of the elements along some axes reversed."""
    data, indices = full_batches(operand)
    b, s = operand.n_batch, operand.n_sparse
    for axis in dimensions:
        if axis < b:
            data, indices = jnp.flip(data, axis), jnp.flip(indices, axis)
        elif axis < b + s:
            column = indices[..., axis - b]
            inside = is_inside(indices, operand.sparse_shape)
            turned = jnp.where(inside, operand.shape[axis] - 1 - column, column)
            indices = indices.at[..., axis - b].set(turned)
        else:
            data = jnp.flip(data, axis - s + 1)
    return BCOO((data, indices), shape=operand.shape, unique_indices=operand.unique_indices)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without some axes, which must have size 1.

    Raises:
        ValueError: one has another size.
    """
    gone = {axis % arr.ndim for axis in dimensions}
    if any(arr.shape[axis] != 1 for axis in gone):
        raise ValueError(f"bcoo_squeeze: axes {sorted(gone)} of {arr} are not all of size 1")
    b, s = arr.n_batch, arr.n_sparse
    inside = is_inside(arr.indices, arr.sparse_shape)
    data = arr.data
    if any(b <= axis < b + s for axis in gone):
        shape = (*data.shape[:b], data.shape[b])
        data = masked(jnp.broadcast_to(inside, jnp.broadcast_shapes(inside.shape, shape)), data)
    batch = tuple(axis for axis in gone if axis < b)
    dense = tuple(axis - s + 1 for axis in gone if axis >= b + s)
    kept = [axis - b for axis in range(b, b + s) if axis not in gone]
    return BCOO(
        (jnp.squeeze(data, batch + dense), jnp.squeeze(arr.indices, batch)[..., kept]),
        shape=tuple(n for axis, n in enumerate(arr.shape) if axis not in gone),
        indices_sorted=arr.indices_sorted,
        unique_indices=arr.unique_indices,
    )


def _chosen(mat: BCOO, starts: Sequence[Any], sizes: Sequence[int], steps: Sequence[int]) -> BCOO:
    """Every `steps`-th element of each sparse axis from `starts` on, `sizes` of them."""
    data, indices = full_batches(mat)
    columns, is_in = [], is_inside(indices, mat.sparse_shape)
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        distance = indices[..., axis] - jnp.asarray(start, indices.dtype)
        column, rest = distance // step, distance % step
        is_in = is_in & (distance >= 0) & (rest == 0) & (column < size)
        columns.append(column)
    places = jnp.stack(columns, -1) if columns else indices
    places = jnp.where(is_in[..., None], places, jnp.asarray(tuple(sizes), indices.dtype))
    b, s = mat.n_batch, mat.n_sparse
    out = BCOO(
        (masked(is_in, data), places),
        shape=(*mat.shape[:b], *sizes, *mat.shape[b + s :]),
        unique_indices=mat.unique_indices,
    )
    most = math.prod(sizes)
    return bcoo_sum_duplicates(out, nse=most) if most < out.nse else out


def bcoo_slice(
    mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:  # fmt: skip
    """The elements from `start_indices` up to `limit_indices`, every `strides`-th.

    Raises:
        ValueError: there is not one number for each axis, or the slice is not within the array.
    """
    starts, limits = tuple(start_indices), tuple(limit_indices)
    steps = (1,) * mat.ndim if strides is None else tuple(strides)
    fits = len(starts) == len(limits) == len(steps) == mat.ndim and all(
        0 <= start <= limit <= n and step > 0
        for start, limit, step, n in zip(starts, limits, steps, mat.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"bcoo_slice: {starts} to {limits} by {steps} is not a slice of {mat}")
    b, s = mat.n_batch, mat.n_sparse
    slices = [slice(*each) for each in zip(starts, limits, steps, strict=True)]
    data, indices = full_batches(mat)
    pair = (
        data[(*slices[:b], slice(None), *slices[b + s :])],
        indices[tuple(slices[:b])],
    )
    sizes = [len(range(*each.indices(n))) for each, n in zip(slices, mat.shape, strict=True)]
    part = BCOO(
        pair,
        shape=(*sizes[:b], *mat.sparse_shape, *sizes[b + s :]),
        unique_indices=mat.unique_indices,
    )
    middle = slice(b, b + s)
    return _chosen(part, starts[middle], sizes[middle], steps[middle])


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """The part of `slice_sizes` that begins at `start_indices`, which may be traced.

    A part that would reach beyond the array begins earlier.

    Raises:
        ValueError: there is not one number for each axis, or a size is larger than the array.
    """
    sizes = tuple(slice_sizes)
    if len(sizes) != mat.ndim or len(start_indices) != mat.ndim:
        raise ValueError(f"bcoo_dynamic_slice: expected {mat.ndim} starts and sizes")
    if any(not 0 <= size <= n for size, n in zip(sizes, mat.shape, strict=True)):
        raise ValueError(f"bcoo_dynamic_slice: sizes {sizes} are not within {mat.shape}")
    starts = [
        jnp.clip(jnp.where(jnp.asarray(x) < 0, jnp.asarray(x) + n, x), 0, n - size)
        for x, n, size in zip(start_indices, mat.shape, sizes, strict=True)
    ]
    b, s = mat.n_batch, mat.n_sparse
    data, indices = full_batches(mat)
    for axis in range(b):
        rows = starts[axis] + jnp.arange(sizes[axis])
        data, indices = jnp.take(data, rows, axis), jnp.take(indices, rows, axis)
    for axis in range(b + s, mat.ndim):
        rows = starts[axis] + jnp.arange(sizes[axis])
        data = jnp.take(data, rows, axis - s + 1)
    part = BCOO(
        (data, indices),
        shape=(*sizes[:b], *mat.sparse_shape, *sizes[b + s :]),
        unique_indices=mat.unique_indices,
    )
    return _chosen(part, starts[b : b + s], sizes[b : b + s], (1,) * s)


def element(mat: BCOO, item: Any) -> BCOO:
    """`mat[item]`, for ints, slices, None and an ellipsis.

    Raises:
        NotImplementedError: `item` is something else, such as an array.
        IndexError: there are more indices than axes, or one is out of bounds.
    """
    items = item if isinstance(item, tuple) else (item,)
    if any(not isinstance(i, int | np.integer | slice | type(None) | type(...)) for i in items):
        raise NotImplementedError(
            "BCOO: indices must be ints, slices, None or an ellipsis; todense() makes an array, "
            "which takes others"
        )
    count = sum(i is not None and i is not ... for i in items)
    if count > mat.ndim:
        raise IndexError(f"BCOO: found {count} indices for {mat.ndim} axes")
    at = next((n for n, i in enumerate(items) if i is ...), len(items))
    items = (*items[:at], *[slice(None)] * (mat.ndim - count), *items[at + 1 :])
    starts, limits, steps, reverse = [], [], [], []
    gone: list[int] = []
    added: list[int] = []
    axis = 0
    for i in items:
        if i is None:
            added.append(axis - len(gone) + len(added))
            continue
        n = mat.shape[axis]
        if isinstance(i, slice):
            numbers = range(n)[i]
            if numbers.step < 0:
                reverse.append(axis)
                numbers = numbers[::-1]
            start, step = numbers.start, numbers.step
            limit = numbers[-1] + 1 if len(numbers) else start
        else:
            if not -n <= i < n:
                raise IndexError(f"BCOO: index {i} is out of bounds for an axis of size {n}")
            start, step = int(i) % n, 1
            limit = start + 1
            gone.append(axis)
        starts.append(min(start, n))
        limits.append(min(limit, n))
        steps.append(step)
        axis += 1
    out = bcoo_slice(mat, start_indices=starts, limit_indices=limits, strides=steps)
    if reverse:
        out = bcoo_rev(out, reverse)
    if gone:
        out = bcoo_squeeze(out, dimensions=gone)
    if added:
        shape = list(out.shape)
        for where in added:
            shape.insert(where, 1)
        kept = [axis for axis in range(len(shape)) if axis not in added]
        out = bcoo_broadcast_in_dim(out, shape=shape, broadcast_dimensions=kept)
    return out


__all__ = [
    "bcoo_broadcast_in_dim", "bcoo_concatenate", "bcoo_dynamic_slice", "bcoo_reshape", "bcoo_rev",
    "bcoo_slice", "bcoo_squeeze", "bcoo_transpose", "bcoo_transpose_p",
]  # fmt: skip
