"""Sparse arrays from dense ones, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.experimental.sparse.base import sparse_primitive
from minijax.experimental.sparse.bcoo_array import BCOO, SparseInfo
from minijax.runtime.array import Array, ArrayLike
from minijax.transforms.transformations import vmap
from minijax_stage2 import Tracer


def nfold_vmap(fun: Callable[..., Any], count: int) -> Callable[..., Any]:
    """`fun`, mapped over the first `count` axes of its arguments."""
    for _ in range(count):
        fun = vmap(fun)
    return fun


def full_batches(mat: BCOO) -> tuple[Any, Any]:
    """The elements and their coordinates, with all batch axes of full size."""
    batch = mat.shape[: mat.n_batch]
    data, indices = mat.data, mat.indices
    return (
        jnp.broadcast_to(data, (*batch, *data.shape[mat.n_batch :])),
        jnp.broadcast_to(indices, (*batch, *indices.shape[mat.n_batch :])),
    )


def place(indices: Any) -> tuple[Any, ...]:
    """The coordinates of elements, as indices of an array."""
    return tuple(indices[:, i] for i in range(indices.shape[1]))


def is_inside(indices: Any, sizes: tuple[int, ...]) -> Any:
    """True for the coordinates that are within an array of this shape."""
    return jnp.all(indices < jnp.asarray(sizes, indices.dtype), -1)


def masked(mask: Any, data: Any) -> Any:
    """The elements where `mask` is true, else zeros."""
    return jnp.where(jnp.expand_dims(mask, range(mask.ndim, data.ndim)), data, 0)


def concrete(caller: str, count: Any) -> int:
    """A number of elements, which is a shape, and so must not depend on traced arrays."""
    if isinstance(count, Tracer):
        raise ValueError(
            f"{caller}: nse must be given within jit, vmap and other transformations, because the "
            "number of nonzero elements is not known there"
        )
    return int(count)


def _todense(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    mat = BCOO((data, indices), shape=spinfo.shape)
    sizes, dense = mat.sparse_shape, mat.shape[mat.n_batch + mat.n_sparse :]

    def one(data: Any, indices: Any) -> Any:
        if not sizes:
            return jnp.sum(data, 0, dtype=data.dtype)
        out = jnp.zeros((*sizes, *dense), data.dtype)
        return out.at[place(indices)].add(data, mode="drop")

    return nfold_vmap(one, mat.n_batch)(*full_batches(mat))


bcoo_todense_p = sparse_primitive("bcoo_todense", _todense, [True, False])


def bcoo_todense(mat: BCOO) -> Array:
    """The array with its zeros.

    >>> from minijax.experimental import sparse
    >>> sparse.bcoo_todense(sparse.eye(2))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    dense: Array = bcoo_todense_p.bind(mat.data, mat.indices, spinfo=mat._info)
    return dense


def _stored(array: Any, n_batch: int, n_dense: int) -> Any:
    """True for the elements of an array that are stored."""
    mask = array != 0
    return jnp.any(mask, tuple(range(array.ndim - n_dense, array.ndim))) if n_dense else mask


def _fromdense(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> tuple[Any, Any]:
    sizes = mat.shape[n_batch : mat.ndim - n_dense]

    def one(mask: Any) -> Any:
        if not sizes:
            return jnp.zeros((nse, 0), index_dtype)
        found = jnp.nonzero(mask, size=nse, fill_value=sizes)
        return jnp.stack(found, -1).astype(index_dtype)

    indices = nfold_vmap(one, n_batch)(_stored(mat, n_batch, n_dense))
    return _extract(indices, mat, assume_unique=True), indices


bcoo_fromdense_p = sparse_primitive("bcoo_fromdense", _fromdense, None, several=True)


def bcoo_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCOO:
    """The nonzero elements of an array.

    Arguments:
        mat: the array.
        nse: how many are stored, for each of the batch; as many as there are by default. If there
            are fewer, the others lie outside; if there are more, the last are lost.
        n_batch: the number of batch axes.
        n_dense: the number of axes of the elements.
        index_dtype: the dtype of the coordinates.

    Raises:
        ValueError: `nse` is not given within a transformation, or there are too few axes.

    >>> from minijax.experimental import sparse
    >>> sparse.bcoo_fromdense(jnp.array([[0, 3], [0, 0]])).indices
    Array([[0, 1]], dtype=int32)
    """
    array = jnp.asarray(mat)
    n_sparse = array.ndim - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(
            f"bcoo_fromdense: an array of {array.ndim} axes has not {n_batch} batch and {n_dense} "
            "dense ones"
        )
    if nse is None:
        mask = _stored(array, n_batch, n_dense)
        counts = jnp.sum(mask, tuple(range(n_batch, mask.ndim)))
        nse = concrete("bcoo_fromdense", jnp.max(counts, initial=0))
    pair = bcoo_fromdense_p.bind(
        array, nse=int(nse), n_batch=n_batch, n_dense=n_dense, index_dtype=np.dtype(index_dtype)
    )
    return BCOO(pair, shape=array.shape, indices_sorted=True, unique_indices=True)


def _extract(indices: Any, arr: Any, *, assume_unique: bool) -> Any:
    n_batch = indices.ndim - 2

    def one(indices: Any, array: Any) -> Any:
        if not indices.shape[1]:
            rows = jnp.arange(indices.shape[0])
            return masked(rows == 0, jnp.broadcast_to(array, (*rows.shape, *array.shape)))
        data = array.at[place(indices)].get(mode="fill", fill_value=0)
        if not assume_unique:
            same = jnp.all(indices[:, None] == indices[None], -1)
            data = masked(~jnp.any(jnp.tril(same, -1), 1), data)
        return data

    every = jnp.broadcast_to(indices, (*arr.shape[:n_batch], *indices.shape[n_batch:]))
    return nfold_vmap(one, n_batch)(every, arr)


bcoo_extract_p = sparse_primitive("bcoo_extract", _extract, [False, True])


def bcoo_extract(sparr: BCOO, arr: ArrayLike, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the places of those of a sparse one.

    Arguments:
        sparr: the sparse array.
        arr: a dense array of its shape.
        assume_unique: whether no two elements have the same place; `sparr.unique_indices` by
            default. If not, only the first of them gets the element.

    Raises:
        ValueError: the shapes differ.
    """
    array = jnp.asarray(arr)
    if array.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: expected shape {sparr.shape}, found {array.shape}")
    unique = sparr.unique_indices if assume_unique is None else assume_unique

    data = bcoo_extract_p.bind(sparr.indices, array, assume_unique=bool(unique))
    return sparr._with_data(data)


__all__ = [
    "bcoo_extract", "bcoo_extract_p", "bcoo_fromdense", "bcoo_fromdense_p", "bcoo_todense",
    "bcoo_todense_p",
]  # fmt: skip
