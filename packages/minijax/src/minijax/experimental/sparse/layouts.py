"""The same sparse array, stored in another way."""

import math
import warnings
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.experimental.sparse.base import (
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    sparse_primitive,
)
from minijax.experimental.sparse.bcoo_array import BCOO, SparseInfo
from minijax.experimental.sparse.conversion import (
    concrete,
    full_batches,
    is_inside,
    masked,
    nfold_vmap,
)


def _sort_indices(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    mat = BCOO((data, indices), shape=spinfo.shape)

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        if not indices.shape[1]:
            return data, indices
        order = jnp.lexsort(indices.T[::-1])
        return data[order], indices[order]

    return nfold_vmap(one, mat.n_batch)(*full_batches(mat))


bcoo_sort_indices_p = sparse_primitive("bcoo_sort_indices", _sort_indices, several=True)


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The elements in lexicographic order of their coordinates."""
    pair = bcoo_sort_indices_p.bind(mat.data, mat.indices, spinfo=mat._info)
    return BCOO(pair, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The elements of one place added up, in order.

    Arguments:
        mat: the array.
        nse: how many elements are stored; by default as many as there are places.

    Raises:
        ValueError: `nse` is not given within a transformation.

    >>> from minijax.experimental import sparse
    >>> twice = sparse.BCOO((jnp.ones(2), jnp.array([[1], [1]])), shape=(3,))
    >>> sparse.bcoo_sum_duplicates(twice).data
    Array([2.], dtype=float32)
    """
    if nse is None:
        pair = sum_duplicates(mat.data, mat.indices, spinfo=mat._info, nse=None)
    else:
        pair = bcoo_sum_duplicates_p.bind(mat.data, mat.indices, spinfo=mat._info, nse=int(nse))
    return BCOO(pair, shape=mat.shape, indices_sorted=True, unique_indices=True)


def sum_duplicates(data: Any, indices: Any, *, spinfo: SparseInfo, nse: int | None) -> Any:
    """The function of `bcoo_sum_duplicates_p`, of which parts of other primitives consist."""
    mat = BCOO(_sort_indices(data, indices, spinfo=spinfo), shape=spinfo.shape)
    sizes = mat.sparse_shape

    def number(indices: Any) -> tuple[Any, Any]:
        """The number of the place of each element; and how many there are."""
        inside = is_inside(indices, sizes)
        if not indices.shape[0]:
            return jnp.zeros(0, np.int32), jnp.zeros((), np.int32)
        if not sizes:
            return jnp.zeros(indices.shape[0], np.int32), jnp.ones((), np.int32)
        differs = jnp.any(indices[1:] != indices[:-1], -1)
        is_new = jnp.concatenate([jnp.ones(1, bool), differs]) & inside
        numbers = jnp.cumsum(is_new) - 1
        return jnp.where(inside, numbers, indices.shape[0]), jnp.sum(is_new)

    numbers, counts = nfold_vmap(number, mat.n_batch)(mat.indices)
    if nse is None:
        nse = concrete("bcoo_sum_duplicates", jnp.max(counts, initial=0))

    def one(data: Any, indices: Any, numbers: Any) -> tuple[Any, Any]:
        numbers = jnp.where(numbers < nse, numbers, nse)
        outside = jnp.broadcast_to(jnp.asarray(sizes, indices.dtype), (nse, len(sizes)))
        total = jnp.zeros((nse, *data.shape[1:]), data.dtype)
        return (
            total.at[numbers].add(data, mode="drop"),
            outside.at[numbers].set(indices, mode="drop"),
        )

    return nfold_vmap(one, mat.n_batch)(mat.data, mat.indices, numbers)


bcoo_sum_duplicates_p = sparse_primitive("bcoo_sum_duplicates", sum_duplicates, several=True)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """The array without the elements that are zero, and those of one place added up.

    Arguments:
        mat: the array.
        nse: how many elements are stored; by default as many as there are places of others.

    Raises:
        ValueError: `nse` is not given within a transformation.
    """
    data, indices = full_batches(mat)
    axes = tuple(range(mat.n_batch + 1, data.ndim))
    is_zero = jnp.all(data == 0, axes) if axes else data == 0
    outside = jnp.asarray(mat.sparse_shape, indices.dtype)
    indices = jnp.where(is_zero[..., None], outside, indices)
    return bcoo_sum_duplicates(BCOO((data, indices), shape=mat.shape), nse)


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """The same array with other numbers of batch and dense axes.

    Arguments:
        mat: the array.
        n_batch: the number of batch axes; as before by default.
        n_dense: the number of axes of elements; as before by default.
        on_inefficient: what happens if more would be stored than before: "error", "warn" or None.

    Raises:
        ValueError: there are not as many axes, or `on_inefficient` is something else.
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
            f"bcoo_update_layout: an array of {mat.ndim} axes has not {new_batch} batch and "
            f"{new_dense} dense ones"
        )
    grows = new_batch > mat.n_batch or new_dense > mat.n_dense
    if grows and on_inefficient is not None and max(mat.shape, default=0) > 1:
        message = (
            f"bcoo_update_layout: {mat} would store zeros with n_batch={new_batch} and n_dense="
            f"{new_dense}; on_inefficient=None allows it"
        )
        if on_inefficient == "error":
            raise SparseEfficiencyError(message)
        warnings.warn(message, SparseEfficiencyWarning, stacklevel=2)
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
) -> BCOO:  # fmt: skip
    """The matrix of `N` rows and `M` columns with ones on the `k`-th diagonal."""
    count = max(min(N + min(k, 0), M - max(k, 0)), 0)
    rows = np.arange(count) - min(k, 0)
    indices = jnp.asarray(np.stack([rows, rows + k], 1), index_dtype)
    data = jnp.ones(count, dtype)
    eye = BCOO((data, indices), shape=(N, M), indices_sorted=True, unique_indices=True)
    return bcoo_update_layout(eye, n_batch=n_batch, n_dense=n_dense, on_inefficient=None)


def _batch_to_sparse(mat: BCOO) -> BCOO:
    """The last batch axis becomes the first sparse one."""
    data, indices = full_batches(mat)
    at = mat.n_batch - 1
    count, nse = indices.shape[at : at + 2]
    number = jnp.arange(count, dtype=indices.dtype)[:, None, None]
    number = jnp.broadcast_to(number, (*indices.shape[:-1], 1))
    inside = is_inside(indices, mat.sparse_shape)[..., None]
    number = jnp.where(inside, number, jnp.asarray(count, indices.dtype))
    indices = jnp.concatenate([number, indices], -1)
    indices = indices.reshape(*indices.shape[:at], count * nse, indices.shape[-1])
    data = data.reshape(*data.shape[:at], count * nse, *data.shape[at + 2 :])
    return BCOO((data, indices), shape=mat.shape, unique_indices=mat.unique_indices)


def _dense_to_sparse(mat: BCOO) -> BCOO:
    """The first axis of elements becomes the last sparse one."""
    data, indices = full_batches(mat)
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
    return BCOO(
        (data, indices),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _sparse_to_batch(mat: BCOO) -> BCOO:
    """The first sparse axis becomes the last batch one: each of the batch has room for all."""
    data, indices = full_batches(mat)
    count, rest = mat.sparse_shape[0], mat.sparse_shape[1:]

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        is_here = indices[None, :, 0] == jnp.arange(count, dtype=indices.dtype)[:, None]
        every = jnp.broadcast_to(data, (count, *data.shape))
        outside = jnp.asarray(rest, indices.dtype)
        return masked(is_here, every), jnp.where(is_here[..., None], indices[None, :, 1:], outside)

    mat = BCOO(
        nfold_vmap(one, mat.n_batch)(data, indices),
        shape=mat.shape,
        unique_indices=mat.unique_indices,
    )
    least = math.prod(rest)
    return bcoo_sum_duplicates(mat, nse=least) if least < mat.nse else mat


def _sparse_to_dense(mat: BCOO) -> BCOO:
    """The last sparse axis becomes the first of the elements."""
    data, indices = full_batches(mat)
    count = mat.sparse_shape[-1]

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        is_here = indices[:, -1:] == jnp.arange(count, dtype=indices.dtype)
        every = jnp.broadcast_to(data[:, None], (data.shape[0], count, *data.shape[1:]))
        return masked(is_here, every), indices[:, :-1]

    return BCOO(nfold_vmap(one, mat.n_batch)(data, indices), shape=mat.shape)


__all__ = [
    "bcoo_eliminate_zeros", "bcoo_sort_indices", "bcoo_sort_indices_p", "bcoo_sum_duplicates",
    "bcoo_sum_duplicates_p", "bcoo_update_layout",
]  # fmt: skip
