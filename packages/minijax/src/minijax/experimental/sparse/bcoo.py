"""BCOO: sparse arrays as a list of elements with their coordinates, for each of a batch."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.experimental.sparse.base import JAXSparse
from minijax.runtime.array import Array


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
        data, indices = self.data.shape, self.indices.shape
        n_batch = len(indices) - 2
        n_sparse = indices[-1] if len(indices) > 1 else -1
        batch = self.shape[: max(n_batch, 0)]
        fits = (
            n_batch >= 0
            and 0 <= len(data) - n_batch - 1 == len(self.shape) - n_batch - n_sparse
            and data[n_batch] == indices[-2]
            and data[n_batch + 1 :] == self.shape[n_batch + n_sparse :]
            and all(x in (1, n) for x, n in zip(data, batch, strict=False))
            and all(x in (1, n) for x, n in zip(indices, batch, strict=False))
        )
        if not fits:
            raise ValueError(
                "BCOO: data has the shape (*batch, nse, *dense), and indices (*batch, nse, "
                f"n_sparse); found {data} and {indices} for an array of shape {self.shape}"
            )

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
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32,
        n_dense: int = 0, n_batch: int = 0,
    ) -> "BCOO":  # fmt: skip
        """The nonzero elements of an array; see `bcoo_fromdense`."""
        return conversion.bcoo_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

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

    @classmethod
    def _eye(
        cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32",
        n_batch: int = 0, n_dense: int = 0,
    ) -> "BCOO":  # fmt: skip
        count = max(min(N + min(k, 0), M - max(k, 0)), 0)
        rows = np.arange(count) - min(k, 0)
        indices = jnp.asarray(np.stack([rows, rows + k], 1), index_dtype)
        data = jnp.ones(count, dtype)
        eye = cls((data, indices), shape=(N, M), indices_sorted=True, unique_indices=True)
        if n_batch or n_dense:
            eye = eye.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
        return eye

    def todense(self) -> Array:
        """The array with its zeros."""
        return conversion.bcoo_todense(self)

    def update_layout(
        self, *, n_batch: int | None = None, n_dense: int | None = None,
        on_inefficient: str | None = "error",
    ) -> "BCOO":  # fmt: skip
        """The same array with other numbers of batch and dense axes; see `bcoo_update_layout`."""
        return layouts.bcoo_update_layout(
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> "BCOO":
        """Elements of one place added up, and zeros left out; see `bcoo_sum_duplicates`."""
        mat = layouts.without_zeros(self) if remove_zeros else self
        return layouts.bcoo_sum_duplicates(mat, nse=nse)

    def sort_indices(self) -> "BCOO":
        """The elements in lexicographic order of their coordinates."""
        return layouts.bcoo_sort_indices(self)

    def transpose(self, axes: Sequence[int] | None = None) -> "BCOO":
        """The array with its axes permuted, or reversed."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        return shapes.bcoo_transpose(self, permutation=order)

    def reshape(self, *args: Any, **kwargs: Any) -> "BCOO":
        """The array with another shape of the same size."""
        sizes = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
        if -1 in sizes:
            rest = -math.prod(sizes)
            sizes = tuple(self.size // rest if n == -1 else n for n in sizes)
        return shapes.bcoo_reshape(self, new_sizes=sizes, **kwargs)

    def astype(self, *args: Any, **kwargs: Any) -> "BCOO":
        """The array with another dtype."""
        return self._with_data(self.data.astype(*args, **kwargs))

    def sum(self, axis: Any = None, **kwargs: Any) -> Any:
        """The sum along axes, sparse; or of all elements."""
        axes = range(self.ndim) if axis is None else axis
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
        total = products.bcoo_reduce_sum(self, axes=[a % self.ndim for a in axes])
        return total.todense() if axis is None else total

    def _with_data(self, data: Any) -> "BCOO":
        return BCOO(
            (data, self.indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def __matmul__(self, other: Any) -> Any:
        return products.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return products.matmul(other, self)

    def __mul__(self, other: Any) -> Any:
        return products.multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            self._lacks("quotient of two sparse arrays")
        return products.multiply(self, other, jnp.divide)

    def __pow__(self, other: Any) -> "BCOO":
        if not isinstance(other, int) or other < 1:
            self._lacks("power that is not a positive int")
        return self.sum_duplicates(self.nse, False)._with_powers(other)

    def _with_powers(self, exponent: int) -> "BCOO":
        return self._with_data(self.data**exponent)

    def __abs__(self) -> "BCOO":
        mat = self if self.unique_indices else self.sum_duplicates(self.nse, False)
        return mat._with_data(jnp.abs(mat.data))

    def __neg__(self) -> "BCOO":
        return self._with_data(-self.data)

    def __add__(self, other: Any) -> Any:
        return products.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return products.add(self, -other)

    def __rsub__(self, other: Any) -> Any:
        return products.add(-self, other)

    def __getitem__(self, item: Any) -> "BCOO":
        return shapes.element(self, item)

    def __iter__(self) -> Iterator["BCOO"]:
        return (self[i] for i in range(len(self)))


# The functions of the class, which need it.
from minijax.experimental.sparse import conversion, layouts, products, shapes  # noqa: E402

__all__ = ["BCOO"]
