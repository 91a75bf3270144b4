"""BCOO: sparse arrays as a list of elements with their coordinates, for each of a batch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minijax import numpy as jnp
from minijax.experimental.sparse.base import JAXSparse


class BCOOProperties(NamedTuple):
    """The numbers of axes of a sparse array, and of the elements that are stored."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


class SparseInfo(NamedTuple):
    """The properties of a sparse array other than its arrays."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


class BCOO(JAXSparse):
    """A sparse array: its elements, and the coordinates of each.

    The first `n_batch` axes are batch axes, with a list of `nse` elements each; the last `n_dense`
    are those of the elements, which are arrays then; those between are sparse. Coordinates that
    are outside of the shape belong to no element. Elements of the same place add up.

    Arguments:
        args: the elements `data`, of shape `(*batch, nse, *dense)`, and their `indices`, of shape
            `(*batch, nse, n_sparse)`. Batch axes of size 1 are the same for all.
        shape: the shape of the array.
        indices_sorted: whether the coordinates are in lexicographic order.
        unique_indices: whether no two elements have the same place.

    Raises:
        ValueError: the shapes do not fit.

    >>> from minijax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> m, m @ jnp.ones(2)
    (BCOO(float32[2, 2], nse=2), Array([1., 2.], dtype=float32))
    """

    buffers = ("data", "indices")
    settings = ("indices_sorted", "unique_indices")
    indices: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        self.data, self.indices = (jnp.asarray(x) for x in args)
        self.shape = tuple(int(n) for n in shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        _check_shapes(self.data.shape, self.indices.shape, self.shape)

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def nse(self) -> int:
        """The number of elements that are stored, for each of the batch."""
        return int(self.indices.shape[-2])

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return int(self.indices.ndim - 2)

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """The number of axes of the elements."""
        return int(self.data.ndim - 1 - self.n_batch)

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The sizes of the sparse axes."""
        return self.shape[self.n_batch : self.n_batch + self.n_sparse]

    def _axes_of_arrays(self) -> int:
        return int(self.data.ndim - 1 + self.indices.shape[-1])

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> "BCOO":
        """A matrix of scipy.

        Raises:
            NotImplementedError: `n_dense` or `n_batch` is not 0.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse: n_dense and n_batch must be 0")
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], 1)
        indices = indices.astype(np.int32 if index_dtype is None else index_dtype)
        return cls((jnp.asarray(coo.data), indices), shape=mat.shape)

    @classmethod
    def _empty(
        cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32",
        n_dense: int = 0, n_batch: int = 0, nse: int = 0,
    ) -> "BCOO":  # fmt: skip
        sizes = tuple(shape)
        n_sparse = len(sizes) - n_dense - n_batch
        if n_sparse < 0 or n_dense < 0 or n_batch < 0 or nse < 0:
            raise ValueError(f"empty: shape {sizes} has not n_batch + n_dense axes")
        data = jnp.zeros((*sizes[:n_batch], nse, *sizes[n_batch + n_sparse :]), dtype)
        outside = jnp.asarray(sizes[n_batch : n_batch + n_sparse], index_dtype)
        indices = jnp.broadcast_to(outside, (*sizes[:n_batch], nse, n_sparse))
        return cls((data, indices), shape=sizes, indices_sorted=True, unique_indices=True)

    def _with_data(self, data: Any) -> "BCOO":
        return BCOO(
            (data, self.indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )


def _check_shapes(
    data: tuple[int, ...], indices: tuple[int, ...], shape: tuple[int, ...]
) -> BCOOProperties:
    """The properties of an array whose elements and coordinates have these shapes."""
    n_batch = len(indices) - 2
    n_sparse = indices[-1] if len(indices) > 1 else -1
    n_dense = len(shape) - n_batch - n_sparse
    batch = shape[: max(n_batch, 0)]
    fits = (
        n_batch >= 0
        and 0 <= len(data) - n_batch - 1 == n_dense
        and data[n_batch] == indices[-2]
        and data[n_batch + 1 :] == shape[n_batch + n_sparse :]
        and all(x in (1, n) for x, n in zip(data, batch, strict=False))
        and all(x in (1, n) for x, n in zip(indices, batch, strict=False))
    )
    if not fits:
        raise ValueError(
            "BCOO: data has the shape (*batch, nse, *dense), and indices (*batch, nse, "
            f"n_sparse); found {data} and {indices} for an array of shape {shape}"
        )
    return BCOOProperties(n_batch, n_sparse, n_dense, indices[-2])


__all__ = ["BCOO", "BCOOProperties", "SparseInfo"]
