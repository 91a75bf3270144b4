"""Functions that move, select and rearrange the elements of a BCOO."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax import numpy as jnp
from glassjax.experimental.sparse import base
from glassjax.lax.gathering import GatherDimensionNumbers, GatherScatterMode
from glassjax.runtime.array import ArrayLike
from glassjax.transforms.vmap import vmap

# Changes of storage, which keep the array's value.


def _sort_indices(data: Any, indices: Any, *, spinfo: base.SparseInfo) -> Any:
    mat = base.BCOO((data, indices), shape=spinfo.shape)

    def sort_example(data: Any, indices: Any) -> tuple[Any, Any]:
        if not indices.shape[1]:
            return data, indices
        order = jnp.lexsort(indices.T[::-1])
        return data[order], indices[order]

    return base.nfold_vmap(sort_example, mat.n_batch)(*base.full_batches(mat))


bcoo_sort_indices_p = base.sparse_primitive("bcoo_sort_indices", _sort_indices, several=True)


def bcoo_sort_indices(mat: base.BCOO) -> base.BCOO:
    """The elements in lexicographic order of their coordinates."""
    pair = bcoo_sort_indices_p.bind(mat.data, mat.indices, spinfo=mat._info)
    return base.BCOO(pair, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: base.BCOO, nse: int | None = None) -> base.BCOO:
    """Sum elements with equal coordinates, and sort them.

    Arguments:
        mat: the array.
        nse: the number of elements to store; by default the number of distinct coordinates.

    Raises:
        ValueError: `nse` is not given within a transformation.

    >>> from glassjax.experimental import sparse
    >>> twice = sparse.BCOO((jnp.ones(2), jnp.array([[1], [1]])), shape=(3,))
    >>> sparse.bcoo_sum_duplicates(twice).data
    Array([2.], dtype=float32)
    """
    if nse is None:
        pair = sum_duplicates(mat.data, mat.indices, spinfo=mat._info, nse=None)
    else:
        pair = bcoo_sum_duplicates_p.bind(mat.data, mat.indices, spinfo=mat._info, nse=int(nse))
    return base.BCOO(pair, shape=mat.shape, indices_sorted=True, unique_indices=True)


def sum_duplicates(data: Any, indices: Any, *, spinfo: base.SparseInfo, nse: int | None) -> Any:
    """The function of `bcoo_sum_duplicates_p`, also used by other primitives."""
    mat = base.BCOO(_sort_indices(data, indices, spinfo=spinfo), shape=spinfo.shape)
    sizes = mat.sparse_shape

    def number(indices: Any) -> tuple[Any, Any]:
        """The index of each element's coordinates among the distinct ones; and their number."""
        inside = base.is_inside(indices, sizes)
        if not indices.shape[0]:
            return jnp.zeros(0, np.int32), jnp.zeros((), np.int32)
        if not sizes:
            return jnp.zeros(indices.shape[0], np.int32), jnp.ones((), np.int32)
        differs = jnp.any(indices[1:] != indices[:-1], -1)
        is_new = jnp.concatenate([jnp.ones(1, bool), differs]) & inside
        numbers = jnp.cumsum(is_new) - 1
        return jnp.where(inside, numbers, indices.shape[0]), jnp.sum(is_new)

    numbers, counts = base.nfold_vmap(number, mat.n_batch)(mat.indices)
    if nse is None:
        nse = base.concrete("bcoo_sum_duplicates", jnp.max(counts, initial=0))

    def sum_example(data: Any, indices: Any, numbers: Any) -> tuple[Any, Any]:
        numbers = jnp.where(numbers < nse, numbers, nse)
        outside = jnp.broadcast_to(jnp.asarray(sizes, indices.dtype), (nse, len(sizes)))
        total = jnp.zeros((nse, *data.shape[1:]), data.dtype)
        return (
            total.at[numbers].add(data, mode="drop"),
            outside.at[numbers].set(indices, mode="drop"),
        )

    return base.nfold_vmap(sum_example, mat.n_batch)(mat.data, mat.indices, numbers)


bcoo_sum_duplicates_p = base.sparse_primitive("bcoo_sum_duplicates", sum_duplicates, several=True)


def bcoo_eliminate_zeros(mat: base.BCOO, nse: int | None = None) -> base.BCOO:
    """Remove zero elements, and sum elements with equal coordinates.

    Arguments:
        mat: the array.
        nse: the number of elements to store; by default the number of distinct coordinates of
            nonzeros.

    Raises:
        ValueError: `nse` is not given within a transformation.
    """
    data, indices = base.full_batches(mat)
    axes = tuple(range(mat.n_batch + 1, data.ndim))
    is_zero = jnp.all(data == 0, axes) if axes else data == 0
    outside = jnp.asarray(mat.sparse_shape, indices.dtype)
    indices = jnp.where(is_zero[..., None], outside, indices)
    return bcoo_sum_duplicates(base.BCOO((data, indices), shape=mat.shape), nse)


def bcoo_update_layout(
    mat: base.BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> base.BCOO:
    """The same array with other numbers of batch and dense axes.

    Arguments:
        mat: the array.
        n_batch: the number of batch axes; as before by default.
        n_dense: the number of axes of elements; as before by default.
        on_inefficient: the reaction if more elements would be stored than before: "error", "warn"
            or None.

    Raises:
        ValueError: there are too few axes, or `on_inefficient` is something else.
        SparseEfficiencyError: more would be stored, and `on_inefficient` is "error".
    """
    new_batch = mat.n_batch if n_batch is None else n_batch
    new_dense = mat.n_dense if n_dense is None else n_dense
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            "bcoo_update_layout: on_inefficient must be 'error', 'warn' or None, found "
            f"{on_inefficient!r}"
        )
    if new_batch < 0 or new_dense < 0 or new_batch + new_dense > mat.ndim:
        raise ValueError(
            f"bcoo_update_layout: an array of {mat.ndim} axes cannot have {new_batch} batch and "
            f"{new_dense} dense ones"
        )
    grows = new_batch > mat.n_batch or new_dense > mat.n_dense
    if grows and on_inefficient is not None and max(mat.shape, default=0) > 1:
        message = (
            f"bcoo_update_layout: {mat} would store zeros with n_batch={new_batch} and n_dense="
            f"{new_dense}; on_inefficient=None allows it"
        )
        if on_inefficient == "error":
            raise base.SparseEfficiencyError(message)
        warnings.warn(message, base.SparseEfficiencyWarning, stacklevel=2)
    while mat.n_batch > new_batch:
        mat = _batch_to_sparse(mat)
    while mat.n_dense > new_dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch < new_batch:
        mat = _sparse_to_batch(mat)
    while mat.n_dense < new_dense:
        mat = _sparse_to_dense(mat)
    return mat


def bcoo_eye(
    N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32", n_batch: int = 0,
    n_dense: int = 0,
) -> base.BCOO:  # fmt: skip
    """The matrix of `N` rows and `M` columns with ones on the `k`-th diagonal."""
    count = max(min(N + min(k, 0), M - max(k, 0)), 0)
    rows = np.arange(count) - min(k, 0)
    indices = jnp.asarray(np.stack([rows, rows + k], 1), index_dtype)
    data = jnp.ones(count, dtype)
    eye = base.BCOO((data, indices), shape=(N, M), indices_sorted=True, unique_indices=True)
    return bcoo_update_layout(eye, n_batch=n_batch, n_dense=n_dense, on_inefficient=None)


def _batch_to_sparse(mat: base.BCOO) -> base.BCOO:
    """Turn the last batch axis into the first sparse one."""
    data, indices = base.full_batches(mat)
    at = mat.n_batch - 1
    count, nse = indices.shape[at : at + 2]
    number = jnp.arange(count, dtype=indices.dtype)[:, None, None]
    number = jnp.broadcast_to(number, (*indices.shape[:-1], 1))
    inside = base.is_inside(indices, mat.sparse_shape)[..., None]
    number = jnp.where(inside, number, jnp.asarray(count, indices.dtype))
    indices = jnp.concatenate([number, indices], -1)
    indices = indices.reshape(*indices.shape[:at], count * nse, indices.shape[-1])
    data = data.reshape(*data.shape[:at], count * nse, *data.shape[at + 2 :])
    return base.BCOO((data, indices), shape=mat.shape, unique_indices=mat.unique_indices)


def _dense_to_sparse(mat: base.BCOO) -> base.BCOO:
    """Turn the first dense axis into the last sparse one."""
    data, indices = base.full_batches(mat)
    at = mat.n_batch
    nse, count = data.shape[at : at + 2]
    number = jnp.broadcast_to(
        jnp.arange(count, dtype=indices.dtype)[:, None], (*indices.shape[:-1], count, 1)
    )
    repeated = jnp.broadcast_to(
        indices[..., None, :], (*indices.shape[:-1], count, indices.shape[-1])
    )
    indices = jnp.concatenate([repeated, number], -1)
    indices = indices.reshape(*indices.shape[:at], nse * count, indices.shape[-1])
    data = data.reshape(*data.shape[:at], nse * count, *data.shape[at + 2 :])
    return mat._with_arrays(data, indices, mat.shape)


def _sparse_to_batch(mat: base.BCOO) -> base.BCOO:
    """Turn the first sparse axis into the last batch axis; each entry has room for all elements."""
    data, indices = base.full_batches(mat)
    count, rest = mat.sparse_shape[0], mat.sparse_shape[1:]

    def batch_rows(data: Any, indices: Any) -> tuple[Any, Any]:
        is_here = indices[None, :, 0] == jnp.arange(count, dtype=indices.dtype)[:, None]
        every = jnp.broadcast_to(data, (count, *data.shape))
        outside = jnp.asarray(rest, indices.dtype)
        return base.masked(is_here, every), jnp.where(
            is_here[..., None], indices[None, :, 1:], outside
        )

    mat = base.BCOO(
        base.nfold_vmap(batch_rows, mat.n_batch)(data, indices),
        shape=mat.shape,
        unique_indices=mat.unique_indices,
    )
    least = math.prod(rest)
    return bcoo_sum_duplicates(mat, nse=least) if least < mat.nse else mat


def _sparse_to_dense(mat: base.BCOO) -> base.BCOO:
    """Turn the last sparse axis into the first dense one."""
    data, indices = base.full_batches(mat)
    count = mat.sparse_shape[-1]

    def dense_rows(data: Any, indices: Any) -> tuple[Any, Any]:
        is_here = indices[:, -1:] == jnp.arange(count, dtype=indices.dtype)
        every = jnp.broadcast_to(data[:, None], (data.shape[0], count, *data.shape[1:]))
        return base.masked(is_here, every), indices[:, :-1]

    return base.BCOO(base.nfold_vmap(dense_rows, mat.n_batch)(data, indices), shape=mat.shape)


# Rearrangement and selection of elements.


def _transpose_indices(
    data: Any, indices: Any, *, permutation: Sequence[int], spinfo: base.SparseInfo
) -> tuple[Any, Any]:
    b, s = indices.ndim - 2, indices.shape[-1]
    batch, sparse, dense = permutation[:b], permutation[b : b + s], permutation[b + s :]
    elements = (*batch, b, *(axis - s + 1 for axis in dense))
    indices = jnp.transpose(indices, (*batch, b, b + 1))
    return jnp.transpose(data, elements), indices[..., [axis - b for axis in sparse]]


bcoo_transpose_p = base.sparse_primitive("bcoo_transpose", _transpose_indices, several=True)


def bcoo_transpose(mat: base.BCOO, *, permutation: Sequence[int]) -> base.BCOO:
    """The array with its axes permuted, within the batch, the sparse and the dense axes.

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
    return base.BCOO(
        pair,
        shape=tuple(mat.shape[axis] for axis in order),
        indices_sorted=mat.indices_sorted and sparse == tuple(range(b, b + s)),
        unique_indices=mat.unique_indices,
    )


def bcoo_reshape(
    mat: base.BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None,
    sharding: None = None,
) -> base.BCOO:  # fmt: skip
    """The array with another shape of the same size. Batch axes of unchanged sizes remain.

    Arguments:
        mat: the array.
        new_sizes: the shape.
        dimensions: the order of its axes before the reshape.
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
    inside = base.is_inside(indices, old)[..., None]
    places = jnp.where(inside, places, jnp.asarray(new, indices.dtype))
    data = mat.data
    if not new:  # without sparse axes no coordinate is out of bounds
        data = base.masked(jnp.broadcast_to(inside[..., 0], data.shape), data)
    return mat._with_arrays(data, places, sizes)


def bcoo_broadcast_in_dim(
    mat: base.BCOO,
    *,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    sharding: None = None,
) -> base.BCOO:
    """The array repeated along new axes and along axes of size 1.

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
        # All new axes are batch axes: they share one list of elements.
        data, indices = (
            array.reshape(
                *(array.shape[axes.index(n)] if n in axes else 1 for n in range(lead)),
                *array.shape[b:],
            )
            for array in (mat.data, mat.indices)
        )
        return mat._with_arrays(data, indices, sizes)
    mat = bcoo_update_layout(mat, n_batch=0, n_dense=0)
    repeated = [
        axis for axis in range(len(sizes))
        if axis not in axes or mat.shape[axes.index(axis)] != sizes[axis]
    ]  # fmt: skip
    counts = tuple(sizes[axis] for axis in repeated)
    grid = np.indices(counts).reshape(len(counts), -1)
    times = grid.shape[1]
    columns = []
    inside = jnp.repeat(base.is_inside(mat.indices, mat.shape), times)
    for axis, size in enumerate(sizes):
        if axis in repeated:
            column = jnp.tile(jnp.asarray(grid[repeated.index(axis)], mat.indices.dtype), mat.nse)
            columns.append(jnp.where(inside, column, size))
        else:
            columns.append(jnp.repeat(mat.indices[:, axes.index(axis)], times))
    places = jnp.stack(columns, -1) if columns else mat.indices
    return base.BCOO(
        (jnp.repeat(mat.data, times, 0), places), shape=sizes, unique_indices=mat.unique_indices
    )


def bcoo_concatenate(operands: Sequence[base.BCOO], *, dimension: int) -> base.BCOO:
    """The arrays joined along an axis.

    Raises:
        ValueError: there are none, or they differ in other axes or in batch and dense axes.
        NotImplementedError: the axis is a dense one.
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
    pairs = [base.full_batches(mat) for mat in mats]
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
            inside = base.is_inside(indices, mat.sparse_shape)
            shifted = jnp.where(inside, indices[..., column] + offset, size)
            moved.append((data, indices.at[..., column].set(shifted.astype(indices.dtype))))
            offset += mat.shape[dimension]
        pairs = moved
    data, indices = (jnp.concatenate(parts, axis) for parts in zip(*pairs, strict=True))
    return base.BCOO(
        (data, indices), shape=shape, unique_indices=all(m.unique_indices for m in mats)
    )


def bcoo_rev(operand: base.BCOO, dimensions: Sequence[int]) -> base.BCOO:
    """The array with the order of the elements along some axes reversed."""
    data, indices = base.full_batches(operand)
    b, s = operand.n_batch, operand.n_sparse
    for axis in dimensions:
        if axis < b:
            data, indices = jnp.flip(data, axis), jnp.flip(indices, axis)
        elif axis < b + s:
            column = indices[..., axis - b]
            inside = base.is_inside(indices, operand.sparse_shape)
            turned = jnp.where(inside, operand.shape[axis] - 1 - column, column)
            indices = indices.at[..., axis - b].set(turned)
        else:
            data = jnp.flip(data, axis - s + 1)
    return base.BCOO((data, indices), shape=operand.shape, unique_indices=operand.unique_indices)


def bcoo_squeeze(arr: base.BCOO, *, dimensions: Sequence[int]) -> base.BCOO:
    """The array without some axes, which must have size 1.

    Raises:
        ValueError: one of them has another size.
    """
    gone = {axis % arr.ndim for axis in dimensions}
    if any(arr.shape[axis] != 1 for axis in gone):
        raise ValueError(f"bcoo_squeeze: axes {sorted(gone)} of {arr} are not all of size 1")
    b, s = arr.n_batch, arr.n_sparse
    inside = base.is_inside(arr.indices, arr.sparse_shape)
    data = arr.data
    if any(b <= axis < b + s for axis in gone):
        lead = jnp.broadcast_shapes(inside.shape, data.shape[: b + 1])
        data = base.masked(jnp.broadcast_to(inside, lead), data)
    batch = tuple(axis for axis in gone if axis < b)
    dense = tuple(axis - s + 1 for axis in gone if axis >= b + s)
    kept = [axis - b for axis in range(b, b + s) if axis not in gone]
    indices = jnp.squeeze(arr.indices, batch)[..., kept]
    shape = tuple(n for axis, n in enumerate(arr.shape) if axis not in gone)
    return arr._with_arrays(jnp.squeeze(data, batch + dense), indices, shape)


def _sliced_bcoo(
    mat: base.BCOO, starts: Sequence[Any], sizes: Sequence[int], steps: Sequence[int]
) -> base.BCOO:
    """Every `steps`-th element of each sparse axis from `starts` on, `sizes` of them."""
    data, indices = base.full_batches(mat)
    columns, is_in = [], base.is_inside(indices, mat.sparse_shape)
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        distance = indices[..., axis] - jnp.asarray(start, indices.dtype)
        column, rest = distance // step, distance % step
        is_in = is_in & (distance >= 0) & (rest == 0) & (column < size)
        columns.append(column)
    places = jnp.stack(columns, -1) if columns else indices
    places = jnp.where(is_in[..., None], places, jnp.asarray(tuple(sizes), indices.dtype))
    b, s = mat.n_batch, mat.n_sparse
    out = base.BCOO(
        (base.masked(is_in, data), places),
        shape=(*mat.shape[:b], *sizes, *mat.shape[b + s :]),
        unique_indices=mat.unique_indices,
    )
    most = math.prod(sizes)
    return bcoo_sum_duplicates(out, nse=most) if most < out.nse else out


def bcoo_slice(
    mat: base.BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> base.BCOO:  # fmt: skip
    """The slice of a sparse array.

    Arguments:
        mat: the array.
        start_indices: where the slice begins, along each axis.
        limit_indices: where it ends, exclusive.
        strides: the steps between indices; None: 1.

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
    data, indices = base.full_batches(mat)
    pair = (
        data[(*slices[:b], slice(None), *slices[b + s :])],
        indices[tuple(slices[:b])],
    )
    sizes = [len(range(*each.indices(n))) for each, n in zip(slices, mat.shape, strict=True)]
    part = base.BCOO(
        pair,
        shape=(*sizes[:b], *mat.sparse_shape, *sizes[b + s :]),
        unique_indices=mat.unique_indices,
    )
    middle = slice(b, b + s)
    return _sliced_bcoo(part, starts[middle], sizes[middle], steps[middle])


def bcoo_dynamic_slice(
    mat: base.BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]
) -> base.BCOO:
    """A slice of a sparse array, from start indices that may be traced.

    A slice that would extend beyond the array starts earlier.

    Arguments:
        mat: the array.
        start_indices: an integer for each axis; negative ones count from the end.
        slice_sizes: the size of the slice along each axis.

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
    data, indices = base.full_batches(mat)
    for axis in range(b):
        rows = starts[axis] + jnp.arange(sizes[axis])
        data, indices = jnp.take(data, rows, axis), jnp.take(indices, rows, axis)
    for axis in range(b + s, mat.ndim):
        rows = starts[axis] + jnp.arange(sizes[axis])
        data = jnp.take(data, rows, axis - s + 1)
    part = base.BCOO(
        (data, indices),
        shape=(*sizes[:b], *mat.sparse_shape, *sizes[b + s :]),
        unique_indices=mat.unique_indices,
    )
    return _sliced_bcoo(part, starts[b : b + s], sizes[b : b + s], (1,) * s)


def get_item(mat: base.BCOO, item: Any) -> base.BCOO:
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


# Slices of a sparse array at the positions in an array of indices.


def bcoo_gather(
    operand: base.BCOO,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> base.BCOO:
    """`lax.gather` of a sparse array: slices that start at `start_indices`.

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

    >>> from glassjax.experimental import sparse
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

    def gather_slice(start: Any) -> base.BCOO:
        first: list[Any] = [jnp.zeros((), starts.dtype)] * operand.ndim
        for column, axis in enumerate(numbers.start_index_map):
            first[axis] = start[column]
        part = bcoo_dynamic_slice(operand, first, sizes)
        return bcoo_squeeze(part, dimensions=numbers.collapsed_slice_dims)

    count = math.prod(lead)
    out = vmap(gather_slice)(starts.reshape(count, starts.shape[-1]))
    window = out.shape[1:]
    if lead != (count,):
        out = bcoo_reshape(out, new_sizes=(*lead, *window))
    # Move the window axes to their positions.
    offsets = numbers.offset_dims
    others = [axis for axis in range(out.ndim) if axis not in offsets]
    order = [0] * out.ndim
    for axis, place in enumerate((*others, *offsets)):
        order[place] = axis
    if order == list(range(out.ndim)):
        return out
    return bcoo_transpose(bcoo_update_layout(out, n_batch=0), permutation=order)
