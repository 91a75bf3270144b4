"""BCSR: batched sparse matrices, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from glassjax import numpy as jnp
from glassjax.experimental.sparse import base, bcoo_shapes
from glassjax.experimental.sparse.bcoo_products import bcoo_dot_general, plain_numbers
from glassjax.runtime.array import Array, ArrayLike
from glassjax_stage2.primitives import DotDimensionNumbers


class BCSRProperties(NamedTuple):
    """The numbers of batch and dense axes, and of stored elements."""

    n_batch: int
    n_dense: int
    nse: int


class BCSR(base.JAXSparse):
    """A sparse array with two sparse axes: the elements of each row, one row after another.

    Arguments:
        args: the elements `data`, of shape `(*batch, nse, *dense)`, their columns `indices`, of
            shape `(*batch, nse)`, and `indptr`, of shape `(*batch, rows + 1)`: where each row
            begins, and where the last ends.
        shape: the shape of the array.
        indices_sorted: whether the columns of each row are in order.
        unique_indices: whether no two elements have the same place.

    Raises:
        ValueError: the shapes do not fit.

    >>> from glassjax.experimental import sparse
    >>> m = sparse.BCSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> m.indptr, m @ jnp.ones(2)
    (Array([0, 1, 3], dtype=int32), Array([1., 5.], dtype=float32))
    """

    buffers = ("data", "indices", "indptr")
    settings = ("indices_sorted", "unique_indices")
    indices: Any
    indptr: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        self.data, self.indices, self.indptr = (jnp.asarray(x) for x in args)
        self.shape = tuple(int(n) for n in shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        _check_shapes(self.data.shape, self.indices.shape, self.indptr.shape, self.shape)

    @property
    def nse(self) -> int:
        """The number of stored elements, for each batch entry."""
        return int(self.indices.shape[-1])

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return int(self.indices.ndim - 1)

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes, 2."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of axes of the elements."""
        return int(self.data.ndim - 1 - self.n_batch)

    @property
    def _info(self) -> base.SparseInfo:
        return base.SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    def _axes_of_arrays(self) -> int:
        return int(self.data.ndim + 1)

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32,
        n_dense: int = 0, n_batch: int = 0,
    ) -> BCSR:  # fmt: skip
        """The nonzero elements of an array; see `bcsr_fromdense`."""
        return bcsr_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_bcoo(cls, arr: base.BCOO) -> BCSR:
        """Convert a BCOO with two sparse axes.

        Raises:
            NotImplementedError: the number of sparse axes is not 2.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(
                f"BCSR.from_bcoo: expected two sparse axes, found {arr.n_sparse} of {arr}"
            )
        arr = arr if arr.indices_sorted else bcoo_shapes.bcoo_sort_indices(arr)
        data, indices = base.full_batches(arr)
        rows = arr.sparse_shape[0]

        def starts(indices: Any) -> Any:
            return jnp.searchsorted(indices[:, 0], jnp.arange(rows + 1)).astype(indices.dtype)

        indptr = base.nfold_vmap(starts, arr.n_batch)(indices)
        return cls(
            (data, indices[..., 1], indptr),
            shape=arr.shape,
            indices_sorted=True,
            unique_indices=arr.unique_indices,
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """A matrix of scipy.

        Raises:
            NotImplementedError: `n_dense` or `n_batch` is not 0.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCSR.from_scipy_sparse: n_dense and n_batch must be 0")
        csr = mat.tocsr()
        dtype = np.int32 if index_dtype is None else index_dtype
        arrays = (jnp.asarray(csr.data), csr.indices.astype(dtype), csr.indptr.astype(dtype))
        return cls(arrays, shape=mat.shape)

    @classmethod
    def _empty(
        cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32", **kwds: Any
    ) -> BCSR:
        return cls.from_bcoo(base.BCOO._empty(shape, dtype=dtype, index_dtype=index_dtype, **kwds))

    @classmethod
    def _eye(cls, N: int, M: int, k: int, **kwds: Any) -> BCSR:
        return cls.from_bcoo(bcoo_shapes.bcoo_eye(N, M, k, **kwds))

    def to_bcoo(self) -> base.BCOO:
        """The array as a list of elements."""
        nse = self.nse

        def rows(indptr: Any) -> Any:
            found = jnp.searchsorted(indptr, jnp.arange(nse), side="right") - 1
            return found.astype(self.indices.dtype)

        numbers = base.nfold_vmap(rows, self.n_batch)(self.indptr)
        indices = jnp.stack([numbers, jnp.broadcast_to(self.indices, numbers.shape)], -1)
        return base.BCOO(
            (self.data, indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def todense(self) -> Array:
        """The dense array that equals this one."""
        return bcsr_todense(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """Sum elements with equal coordinates and remove zeros."""
        change = (
            bcoo_shapes.bcoo_eliminate_zeros if remove_zeros else bcoo_shapes.bcoo_sum_duplicates
        )
        return BCSR.from_bcoo(change(self.to_bcoo(), nse))

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, base.JAXSparse):
            self._lacks("product with a sparse array")
        return self.to_bcoo() @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo()


def _check_shapes(
    data: tuple[int, ...],
    indices: tuple[int, ...],
    indptr: tuple[int, ...],
    shape: tuple[int, ...],
) -> BCSRProperties:
    """The properties of an array whose elements, columns and rows have these shapes."""
    n = len(indices) - 1
    rows = shape[n] if 0 <= n < len(shape) else -1
    fits = (
        len(shape) >= n + 2
        and len(indptr) == n + 1
        and indptr[-1] == rows + 1
        and data[n : n + 1] == indices[-1:]
        and data[n + 1 :] == shape[n + 2 :]
    )
    if not fits:
        raise ValueError(
            "BCSR: data has the shape (*batch, nse, *dense), indices (*batch, nse) and indptr "
            f"(*batch, rows + 1); found {data}, {indices} and {indptr} for an array of shape "
            f"{shape}"
        )
    return BCSRProperties(n, len(shape) - n - 2, indices[-1])


def _csr_fromdense(mat: Any, **params: Any) -> list[Any]:
    out = BCSR.from_bcoo(base.bcoo_fromdense(mat, **params))
    return [out.data, out.indices, out.indptr]


bcsr_fromdense_p = base.sparse_primitive("bcsr_fromdense", _csr_fromdense, None, several=True)


def bcsr_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCSR:
    """The nonzero elements of an array.

    Arguments:
        mat, nse, n_batch, n_dense, index_dtype: as in `bcoo_fromdense`.

    Raises:
        ValueError: `nse` is not given within a transformation, or not two axes remain sparse.
    """
    ndim = jnp.ndim(mat)
    if ndim - n_batch - n_dense != 2:
        raise ValueError(
            f"bcsr_fromdense: of {ndim} axes two must be neither batch nor dense, found n_batch="
            f"{n_batch} and n_dense={n_dense}"
        )
    options = {"n_batch": n_batch, "n_dense": n_dense, "index_dtype": np.dtype(index_dtype)}
    if nse is None:
        return BCSR.from_bcoo(base.bcoo_fromdense(mat, **options))
    array = jnp.asarray(mat)
    arrays = bcsr_fromdense_p.bind(array, nse=int(nse), **options)
    return BCSR(arrays, shape=array.shape, indices_sorted=True, unique_indices=True)


def _csr_todense(data: Any, indices: Any, indptr: Any, *, spinfo: base.SparseInfo) -> Any:
    return BCSR((data, indices, indptr), shape=spinfo.shape).to_bcoo().todense()


bcsr_todense_p = base.sparse_primitive("bcsr_todense", _csr_todense, [True, False, False])


def bcsr_todense(mat: BCSR) -> Array:
    """The dense array that equals this one."""
    dense: Array = bcsr_todense_p.bind(mat.data, mat.indices, mat.indptr, spinfo=mat._info)
    return dense


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Sum elements with equal coordinates, and sort them."""
    return mat.sum_duplicates(nse, False)


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """Remove zero elements; sum elements with equal coordinates, and sort them."""
    return mat.sum_duplicates(nse)


def _csr_dot_general(
    lhs_data: Any, lhs_indices: Any, lhs_indptr: Any, rhs: Any, *, lhs_spinfo: base.SparseInfo,
    **params: Any,
) -> Any:  # fmt: skip
    lhs = BCSR((lhs_data, lhs_indices, lhs_indptr), shape=lhs_spinfo.shape)
    return bcoo_dot_general(lhs.to_bcoo(), rhs, **params)


bcsr_dot_general_p = base.sparse_primitive(
    "bcsr_dot_general", _csr_dot_general, [True, False, False, True]
)


def bcsr_dot_general(
    lhs: BCSR | ArrayLike, rhs: ArrayLike, *, dimension_numbers: DotDimensionNumbers,
    precision: None = None, preferred_element_type: Any = None, out_sharding: None = None,
) -> Array:  # fmt: skip
    """`lax.dot_general` of a sparse and a dense array.

    Arguments:
        lhs, rhs, dimension_numbers, precision: as in `bcoo_dot_general`.
        preferred_element_type, out_sharding: as in `bcoo_dot_general`.
    """
    if not isinstance(lhs, BCSR) or out_sharding is not None:
        return bcoo_dot_general(
            lhs, rhs,
            dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type,
            out_sharding=out_sharding,
        )  # fmt: skip
    product: Array = bcsr_dot_general_p.bind(
        lhs.data, lhs.indices, lhs.indptr, jnp.asarray(rhs),
        dimension_numbers=plain_numbers(dimension_numbers),
        preferred_element_type=preferred_element_type, lhs_spinfo=lhs._info,
    )  # fmt: skip
    return product


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCSR:
    """The array repeated along new axes.

    Arguments:
        mat, shape, broadcast_dimensions, sharding: as in `bcoo_broadcast_in_dim`.

    Raises:
        ValueError, NotImplementedError: as in `bcoo_broadcast_in_dim`.
    """
    return BCSR.from_bcoo(
        bcoo_shapes.bcoo_broadcast_in_dim(
            mat.to_bcoo(),
            shape=shape,
            broadcast_dimensions=broadcast_dimensions,
            sharding=sharding,
        )
    )


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """The arrays joined along an axis; see `bcoo_concatenate`."""
    return BCSR.from_bcoo(
        bcoo_shapes.bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension)
    )


def _extract(indices: Any, indptr: Any, mat: Any) -> Any:
    n = indices.ndim - 1
    data = jnp.zeros((*indices.shape, *mat.shape[n + 2 :]), mat.dtype)
    return base.extract(BCSR((data, indices, indptr), shape=mat.shape).to_bcoo().indices, mat)


bcsr_extract_p = base.sparse_primitive("bcsr_extract", _extract, [False, False, True])


def bcsr_extract(indices: ArrayLike, indptr: ArrayLike, mat: ArrayLike) -> Array:
    """The elements of a dense array at the coordinates of a BCSR.

    Arguments:
        indices: the columns of the elements.
        indptr: the position of the first element of each row.
        mat: the dense array.
    """
    elements: Array = bcsr_extract_p.bind(*map(jnp.asarray, (indices, indptr, mat)))
    return elements
