"""The matrices COO, CSR and CSC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from glassjax import numpy as jnp
from glassjax.experimental.sparse.base import BCOO, JAXSparse, bcoo_fromdense, sparse_primitive
from glassjax.experimental.sparse.bcoo_products import bcoo_dot_general
from glassjax.experimental.sparse.bcoo_shapes import bcoo_eye
from glassjax.experimental.sparse.bcsr import BCSR, bcsr_fromdense
from glassjax.runtime.array import Array, ArrayLike

# COO: sparse matrices as lists of elements with row and column.


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

    >>> from glassjax.experimental import sparse
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
        """The dense matrix that equals this one."""
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


def _coo_fromdense(mat: Any, *, nse: int, index_dtype: Any) -> tuple[Any, Any, Any]:
    out = COO.from_bcoo(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype))
    return out.data, out.row, out.col


coo_fromdense_p = sparse_primitive("coo_fromdense", _coo_fromdense, None, several=True)


def coo_fromdense(mat: ArrayLike, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """The nonzero elements of a matrix.

    Arguments:
        mat: the matrix.
        nse: the number of elements; None: all.
        index_dtype: the dtype of the coordinates.

    Raises:
        ValueError: `nse` is not given within a transformation.
    """
    if nse is None:
        return COO.from_bcoo(bcoo_fromdense(mat, index_dtype=index_dtype))
    array = jnp.asarray(mat)
    arrays = coo_fromdense_p.bind(array, nse=int(nse), index_dtype=np.dtype(index_dtype))
    return COO(arrays, shape=array.shape, rows_sorted=True)


def _coo_todense(data: Any, row: Any, col: Any, *, spinfo: COOInfo) -> Any:
    return COO((data, row, col), shape=spinfo.shape).to_bcoo().todense()


coo_todense_p = sparse_primitive("coo_todense", _coo_todense, [True, False, False])


def coo_todense(mat: COO) -> Array:
    """The dense matrix that equals this one."""
    dense: Array = coo_todense_p.bind(mat.data, mat.row, mat.col, spinfo=mat._info)
    return dense


def _coo_product(data: Any, row: Any, col: Any, v: Any, *, spinfo: COOInfo, transpose: bool) -> Any:
    mat = COO((data, row, col), shape=spinfo.shape)
    return (mat.T if transpose else mat).to_bcoo() @ v


coo_matvec_p = sparse_primitive("coo_matvec", _coo_product, [True, False, False, True])
coo_matmat_p = sparse_primitive("coo_matmat", _coo_product, [True, False, False, True])


def coo_matvec(mat: COO, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a sparse matrix with a vector.

    Arguments:
        mat: the sparse matrix.
        v: the vector.
        transpose: whether to transpose the matrix.
    """
    array = jnp.asarray(v)
    product_p = coo_matvec_p if array.ndim == 1 else coo_matmat_p
    product: Array = product_p.bind(
        mat.data, mat.row, mat.col, array, spinfo=mat._info, transpose=bool(transpose)
    )
    return product


def coo_matmat(mat: COO, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of a sparse matrix with a dense one.

    Arguments:
        mat: the sparse matrix.
        B: the dense matrix.
        transpose: whether to transpose `mat`.
    """
    return coo_matvec(mat, B, transpose)


# CSR and CSC: sparse matrices row by row, and column by column.


class _Compressed(JAXSparse):
    """The elements of each row of a matrix, or of each column, one after another."""

    buffers = ("data", "indices", "indptr")
    indices: Any
    indptr: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]):
        self.data, self.indices, self.indptr = (jnp.asarray(x) for x in args)
        self.shape = tuple(shape)

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """The transpose, of the same arrays: of a CSR a CSC, of a CSC a CSR.

        Raises:
            NotImplementedError: `axes` are given.
        """
        if axes is not None:
            raise NotImplementedError(f"{type(self).__name__}.transpose: axes must be None")
        other = CSC if isinstance(self, CSR) else CSR
        return other((self.data, self.indices, self.indptr), shape=self.shape[::-1])


class CSR(_Compressed):
    """A sparse matrix: the elements of each row, one row after another.

    Arguments:
        args: the elements `data`, their columns `indices`, and `indptr`: where each row begins, and
            where the last ends.
        shape: the shape of the matrix.

    >>> from glassjax.experimental import sparse
    >>> sparse.CSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]])) @ jnp.ones(2)
    Array([1., 2.], dtype=float32)
    """

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """The nonzero elements of a matrix; see `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def from_bcsr(cls, mat: BCSR) -> CSR:
        """The matrix, which has neither batch nor dense axes."""
        return cls((mat.data, mat.indices, mat.indptr), shape=mat.shape)

    @classmethod
    def _empty(cls, shape: Sequence[int], **kwds: Any) -> CSR:
        return cls.from_bcsr(BCSR._empty(shape, **kwds))

    @classmethod
    def _eye(cls, N: int, M: int, k: int, **kwds: Any) -> CSR:
        return cls.from_bcsr(BCSR._eye(N, M, k, **kwds))

    def to_bcsr(self) -> BCSR:
        """The matrix as a BCSR."""
        return BCSR((self.data, self.indices, self.indptr), shape=self.shape)

    def todense(self) -> Array:
        """The dense matrix that equals this one."""
        return csr_todense(self)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            self._lacks("product of two sparse matrices")
        return csr_matvec(self, other)


class CSC(_Compressed):
    """A sparse matrix: the elements of each column, one column after another.

    Arguments:
        args: the elements `data`, their rows `indices`, and `indptr`: where each column begins, and
            where the last ends.
        shape: the shape of the matrix.
    """

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """The nonzero elements of a matrix; `nse` of them, by default all."""
        return csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T

    @classmethod
    def _empty(cls, shape: Sequence[int], **kwds: Any) -> CSC:
        return CSR._empty(tuple(shape)[::-1], **kwds).T

    @classmethod
    def _eye(cls, N: int, M: int, k: int, **kwds: Any) -> CSC:
        return CSR._eye(M, N, -k, **kwds).T

    def to_bcoo(self) -> BCOO:
        """The matrix as a BCOO."""
        return self.T.to_bcsr().to_bcoo().T

    def todense(self) -> Array:
        """The dense matrix that equals this one."""
        return self.T.todense().T

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            self._lacks("product of two sparse matrices")
        return self.to_bcoo() @ other


def _csr_fromdense(mat: Any, *, nse: int, index_dtype: Any) -> tuple[Any, Any, Any]:
    out = bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype)
    return out.data, out.indices, out.indptr


csr_fromdense_p = sparse_primitive("csr_fromdense", _csr_fromdense, None, several=True)


def csr_fromdense(mat: ArrayLike, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """The nonzero elements of a matrix.

    Arguments:
        mat: the matrix.
        nse: the number of elements; None: all.
        index_dtype: the dtype of the coordinates.

    Raises:
        ValueError: `nse` is not given within a transformation.
    """
    if nse is None:
        return CSR.from_bcsr(bcsr_fromdense(mat, index_dtype=index_dtype))
    array = jnp.asarray(mat)
    arrays = csr_fromdense_p.bind(array, nse=int(nse), index_dtype=np.dtype(index_dtype))
    return CSR(arrays, shape=array.shape)


def _csr_todense(data: Any, indices: Any, indptr: Any, *, shape: tuple[int, ...]) -> Any:
    return CSR((data, indices, indptr), shape=shape).to_bcsr().todense()


csr_todense_p = sparse_primitive("csr_todense", _csr_todense, [True, False, False])


def csr_todense(mat: CSR) -> Array:
    """The dense matrix that equals this one."""
    dense: Array = csr_todense_p.bind(mat.data, mat.indices, mat.indptr, shape=mat.shape)
    return dense


def _csr_product(
    data: Any, indices: Any, indptr: Any, v: Any, *, shape: tuple[int, ...], transpose: bool
) -> Any:
    mat = CSR((data, indices, indptr), shape=shape).to_bcsr().to_bcoo()
    numbers = (((0 if transpose else 1,), (0,)), ((), ()))
    return bcoo_dot_general(mat, v, dimension_numbers=numbers)


csr_matvec_p = sparse_primitive("csr_matvec", _csr_product, [True, False, False, True])
csr_matmat_p = sparse_primitive("csr_matmat", _csr_product, [True, False, False, True])


def csr_matvec(mat: CSR, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a sparse matrix with a vector.

    Arguments:
        mat: the sparse matrix.
        v: the vector.
        transpose: whether to transpose the matrix.
    """
    array = jnp.asarray(v)
    product_p = csr_matvec_p if array.ndim == 1 else csr_matmat_p
    product: Array = product_p.bind(
        mat.data, mat.indices, mat.indptr, array, shape=mat.shape, transpose=bool(transpose)
    )
    return product


def csr_matmat(mat: CSR, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of a sparse matrix with a dense one.

    Arguments:
        mat: the sparse matrix.
        B: the dense matrix.
        transpose: whether to transpose `mat`.
    """
    return csr_matvec(mat, B, transpose)
