"""COO: sparse matrices as a list of elements with their row and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minijax import numpy as jnp
from minijax.experimental.sparse.base import JAXSparse, sparse_primitive
from minijax.experimental.sparse.bcoo_array import BCOO
from minijax.experimental.sparse.conversion import bcoo_fromdense
from minijax.experimental.sparse.layouts import bcoo_eye
from minijax.runtime.array import Array, ArrayLike


class COOInfo(NamedTuple):
    """The properties of a matrix other than its arrays."""

    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


class COO(JAXSparse):
    """A sparse matrix: its elements, with the row and the column of each.

    Arguments:
        args: `data`, `row` and `col`, all of shape `(nse,)`.
        shape: the shape of the matrix.
        rows_sorted: whether the rows are in order.
        cols_sorted: whether the columns are in order.

    >>> from minijax.experimental import sparse
    >>> sparse.COO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]])) @ jnp.ones(2)
    Array([1., 2.], dtype=float32)
    """

    buffers = ("data", "row", "col")
    settings = ("rows_sorted", "cols_sorted")
    row: Any
    col: Any

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ):
        self.data, self.row, self.col = (jnp.asarray(x) for x in args)
        self.shape = tuple(shape)
        self.rows_sorted, self.cols_sorted = rows_sorted, cols_sorted

    @property
    def _info(self) -> COOInfo:
        return COOInfo(self.shape, self.rows_sorted, self.cols_sorted)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """The nonzero elements of a matrix; see `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def from_bcoo(cls, mat: BCOO) -> COO:
        """The matrix, which has neither batch nor dense axes."""
        return cls(
            (mat.data, mat.indices[:, 0], mat.indices[:, 1]),
            shape=mat.shape,
            rows_sorted=mat.indices_sorted,
        )

    @classmethod
    def _empty(cls, shape: Sequence[int], **kwds: Any) -> COO:
        return cls.from_bcoo(BCOO._empty(shape, **kwds))

    @classmethod
    def _eye(cls, N: int, M: int, k: int, **kwds: Any) -> COO:
        return cls.from_bcoo(bcoo_eye(N, M, k, **kwds))

    def to_bcoo(self) -> BCOO:
        """The matrix as a BCOO."""
        return BCOO((self.data, jnp.stack([self.row, self.col], 1)), shape=self.shape)

    def todense(self) -> Array:
        """The matrix with its zeros."""
        return coo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """The transpose.

        Raises:
            NotImplementedError: `axes` are given.
        """
        if axes is not None:
            raise NotImplementedError("COO.transpose: axes must be None")
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self.cols_sorted,
            cols_sorted=self.rows_sorted,
        )

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            self._lacks("product of two sparse matrices")
        return coo_matvec(self, other)


def _fromdense(mat: Any, *, nse: int, index_dtype: Any) -> tuple[Any, Any, Any]:
    out = COO.from_bcoo(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype))
    return out.data, out.row, out.col


coo_fromdense_p = sparse_primitive("coo_fromdense", _fromdense, None, several=True)


def coo_fromdense(mat: ArrayLike, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """The nonzero elements of a matrix, `nse` of them: all by default.

    Raises:
        ValueError: `nse` is not given within a transformation.
    """
    if nse is None:
        return COO.from_bcoo(bcoo_fromdense(mat, index_dtype=index_dtype))
    array = jnp.asarray(mat)
    arrays = coo_fromdense_p.bind(array, nse=int(nse), index_dtype=np.dtype(index_dtype))
    return COO(arrays, shape=array.shape, rows_sorted=True)


def _todense(data: Any, row: Any, col: Any, *, spinfo: COOInfo) -> Any:
    return COO((data, row, col), shape=spinfo.shape).to_bcoo().todense()


coo_todense_p = sparse_primitive("coo_todense", _todense, [True, False, False])


def coo_todense(mat: COO) -> Array:
    """The matrix with its zeros."""
    dense: Array = coo_todense_p.bind(mat.data, mat.row, mat.col, spinfo=mat._info)
    return dense


def _product(data: Any, row: Any, col: Any, v: Any, *, spinfo: COOInfo, transpose: bool) -> Any:
    mat = COO((data, row, col), shape=spinfo.shape)
    return (mat.T if transpose else mat).to_bcoo() @ v


coo_matvec_p = sparse_primitive("coo_matvec", _product, [True, False, False, True])
coo_matmat_p = sparse_primitive("coo_matmat", _product, [True, False, False, True])


def coo_matvec(mat: COO, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of the matrix, or its transpose, with a vector."""
    array = jnp.asarray(v)
    product_p = coo_matvec_p if array.ndim == 1 else coo_matmat_p
    product: Array = product_p.bind(
        mat.data, mat.row, mat.col, array, spinfo=mat._info, transpose=bool(transpose)
    )
    return product


def coo_matmat(mat: COO, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of the matrix, or its transpose, with a dense matrix."""
    return coo_matvec(mat, B, transpose)


__all__ = [
    "COO", "coo_fromdense", "coo_fromdense_p", "coo_matmat", "coo_matmat_p", "coo_matvec",
    "coo_matvec_p", "coo_todense", "coo_todense_p",
]  # fmt: skip
