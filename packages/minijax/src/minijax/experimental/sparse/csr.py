"""CSR and CSC: sparse matrices row by row, and column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.experimental.sparse.base import JAXSparse, sparse_primitive
from minijax.experimental.sparse.bcoo_array import BCOO
from minijax.experimental.sparse.bcsr import BCSR, bcsr_fromdense
from minijax.experimental.sparse.products import bcoo_dot_general
from minijax.runtime.array import Array, ArrayLike


class CSR(JAXSparse):
    """A sparse matrix: the elements of each row, one row after another.

    Arguments:
        args: the elements `data`, their columns `indices`, and `indptr`: where each row begins, and
            where the last ends.
        shape: the shape of the matrix.

    >>> from minijax.experimental import sparse
    >>> sparse.CSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]])) @ jnp.ones(2)
    Array([1., 2.], dtype=float32)
    """

    buffers = ("data", "indices", "indptr")
    indices: Any
    indptr: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]):
        self.data, self.indices, self.indptr = (jnp.asarray(x) for x in args)
        self.shape = tuple(shape)

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
        """The matrix with its zeros."""
        return csr_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """The transpose, of the same arrays.

        Raises:
            NotImplementedError: `axes` are given.
        """
        if axes is not None:
            raise NotImplementedError("CSR.transpose: axes must be None")
        return CSC((self.data, self.indices, self.indptr), shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            self._lacks("product of two sparse matrices")
        return csr_matvec(self, other)


class CSC(JAXSparse):
    """A sparse matrix: the elements of each column, one column after another.

    Arguments:
        args: the elements `data`, their rows `indices`, and `indptr`: where each column begins, and
            where the last ends.
        shape: the shape of the matrix.
    """

    buffers = ("data", "indices", "indptr")
    indices: Any
    indptr: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]):
        self.data, self.indices, self.indptr = (jnp.asarray(x) for x in args)
        self.shape = tuple(shape)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """The nonzero elements of a matrix, `nse` of them: all by default."""
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
        """The matrix with its zeros."""
        return self.T.todense().T

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """The transpose, of the same arrays.

        Raises:
            NotImplementedError: `axes` are given.
        """
        if axes is not None:
            raise NotImplementedError("CSC.transpose: axes must be None")
        return CSR((self.data, self.indices, self.indptr), shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            self._lacks("product of two sparse matrices")
        return self.to_bcoo() @ other


def _fromdense(mat: Any, *, nse: int, index_dtype: Any) -> tuple[Any, Any, Any]:
    out = bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype)
    return out.data, out.indices, out.indptr


csr_fromdense_p = sparse_primitive("csr_fromdense", _fromdense, None, several=True)


def csr_fromdense(mat: ArrayLike, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """The nonzero elements of a matrix, `nse` of them: all by default.

    Raises:
        ValueError: `nse` is not given within a transformation.
    """
    if nse is None:
        return CSR.from_bcsr(bcsr_fromdense(mat, index_dtype=index_dtype))
    array = jnp.asarray(mat)
    arrays = csr_fromdense_p.bind(array, nse=int(nse), index_dtype=np.dtype(index_dtype))
    return CSR(arrays, shape=array.shape)


def _todense(data: Any, indices: Any, indptr: Any, *, shape: tuple[int, ...]) -> Any:
    return CSR((data, indices, indptr), shape=shape).to_bcsr().todense()


csr_todense_p = sparse_primitive("csr_todense", _todense, [True, False, False])


def csr_todense(mat: CSR) -> Array:
    """The matrix with its zeros."""
    dense: Array = csr_todense_p.bind(mat.data, mat.indices, mat.indptr, shape=mat.shape)
    return dense


def _product(
    data: Any, indices: Any, indptr: Any, v: Any, *, shape: tuple[int, ...], transpose: bool
) -> Any:
    mat = CSR((data, indices, indptr), shape=shape).to_bcsr().to_bcoo()
    numbers = (((0 if transpose else 1,), (0,)), ((), ()))
    return bcoo_dot_general(mat, v, dimension_numbers=numbers)


csr_matvec_p = sparse_primitive("csr_matvec", _product, [True, False, False, True])
csr_matmat_p = sparse_primitive("csr_matmat", _product, [True, False, False, True])


def csr_matvec(mat: CSR, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of the matrix, or its transpose, with a vector."""
    array = jnp.asarray(v)
    product_p = csr_matvec_p if array.ndim == 1 else csr_matmat_p
    product: Array = product_p.bind(
        mat.data, mat.indices, mat.indptr, array, shape=mat.shape, transpose=bool(transpose)
    )
    return product


def csr_matmat(mat: CSR, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of the matrix, or its transpose, with a dense matrix."""
    return csr_matvec(mat, B, transpose)


__all__ = [
    "CSC", "CSR", "csr_fromdense", "csr_fromdense_p", "csr_matmat", "csr_matmat_p", "csr_matvec",
    "csr_matvec_p", "csr_todense", "csr_todense_p",
]  # fmt: skip
