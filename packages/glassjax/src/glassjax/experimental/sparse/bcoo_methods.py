"""The methods and operators of BCOO, in terms of functions of such arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from glassjax import numpy as jnp
from glassjax.experimental.sparse import bcoo_shapes
from glassjax.experimental.sparse.base import (
    BCOO,
    JAXSparse,
    bcoo_fromdense,
    bcoo_todense,
)
from glassjax.experimental.sparse.bcoo_products import (
    add,
    bcoo_reduce_sum,
    matmul,
    multiply,
)
from glassjax.runtime.array import Array


def _fromdense(
    cls: type[BCOO], mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32,
    n_dense: int = 0, n_batch: int = 0,
) -> BCOO:  # fmt: skip
    """The nonzero elements of an array; see `bcoo_fromdense`."""
    return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)


def _todense(self: BCOO) -> Array:
    """The dense array that equals this one."""
    return bcoo_todense(self)


def _update_layout(
    self: BCOO, *, n_batch: int | None = None, n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:  # fmt: skip
    """The same array with other numbers of batch and dense axes; see `bcoo_update_layout`."""
    return bcoo_shapes.bcoo_update_layout(
        self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
    )


def _sum_duplicates(self: BCOO, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
    """Sum elements with equal coordinates and remove zeros; see `bcoo_sum_duplicates`."""
    return (bcoo_shapes.bcoo_eliminate_zeros if remove_zeros else bcoo_shapes.bcoo_sum_duplicates)(
        self, nse=nse
    )


def _sort_indices(self: BCOO) -> BCOO:
    """The elements in lexicographic order of their coordinates."""
    return bcoo_shapes.bcoo_sort_indices(self)


def _transpose(self: BCOO, axes: Sequence[int] | None = None) -> BCOO:
    """The array with its axes permuted, or reversed."""
    order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
    return bcoo_shapes.bcoo_transpose(self, permutation=order)


def _reshape(self: BCOO, *args: Any, **kwargs: Any) -> BCOO:
    """The array with another shape of the same size."""
    sizes = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if -1 in sizes:
        rest = -math.prod(sizes)
        sizes = tuple(self.size // rest if n == -1 else n for n in sizes)
    return bcoo_shapes.bcoo_reshape(self, new_sizes=sizes, **kwargs)


def _astype(self: BCOO, *args: Any, **kwargs: Any) -> BCOO:
    """The array with another dtype."""
    return self._with_data(self.data.astype(*args, **kwargs))


def _sum(self: BCOO, axis: Any = None, **kwargs: Any) -> Any:
    """The sum along axes, sparse; or of all elements."""
    axes = range(self.ndim) if axis is None else axis
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    total = bcoo_reduce_sum(self, axes=[a % self.ndim for a in axes])
    return total.todense() if axis is None else total


def _matmul(self: BCOO, other: Any) -> Any:
    return matmul(self, other)


def _rmatmul(self: BCOO, other: Any) -> Any:
    return matmul(other, self)


def _mul(self: BCOO, other: Any) -> Any:
    return multiply(self, other)


def _truediv(self: BCOO, other: Any) -> Any:
    if isinstance(other, JAXSparse):
        self._lacks("quotient of two sparse arrays")
    return multiply(self, other, jnp.divide)


def _pow(self: BCOO, other: Any) -> BCOO:
    if not isinstance(other, int) or other < 1:
        self._lacks("power that is not a positive int")
    return _powers(bcoo_shapes.bcoo_sum_duplicates(self, self.nse), other)


def _powers(mat: BCOO, exponent: int) -> BCOO:
    return mat._with_data(mat.data**exponent)


def _abs(self: BCOO) -> BCOO:
    mat = self if self.unique_indices else bcoo_shapes.bcoo_sum_duplicates(self, self.nse)
    return mat._with_data(jnp.abs(mat.data))


def _neg(self: BCOO) -> BCOO:
    return self._with_data(-self.data)


def _add(self: BCOO, other: Any) -> Any:
    return add(self, other)


def _sub(self: BCOO, other: Any) -> Any:
    return add(self, -other)


def _rsub(self: BCOO, other: Any) -> Any:
    return add(-self, other)


def _getitem(self: BCOO, item: Any) -> BCOO:
    return bcoo_shapes.get_item(self, item)


def _iter(self: BCOO) -> Iterator[BCOO]:
    return (self[i] for i in range(len(self)))


_METHODS = {
    "todense": _todense,
    "update_layout": _update_layout,
    "sum_duplicates": _sum_duplicates,
    "sort_indices": _sort_indices,
    "transpose": _transpose,
    "reshape": _reshape,
    "astype": _astype,
    "sum": _sum,
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
    "__mul__": _mul,
    "__rmul__": _mul,
    "__truediv__": _truediv,
    "__pow__": _pow,
    "__abs__": _abs,
    "__neg__": _neg,
    "__add__": _add,
    "__radd__": _add,
    "__sub__": _sub,
    "__rsub__": _rsub,
    "__getitem__": _getitem,
    "__iter__": _iter,
    "fromdense": classmethod(_fromdense),
    "_eye": staticmethod(bcoo_shapes.bcoo_eye),
}
for _name, _method in _METHODS.items():
    setattr(BCOO, _name, _method)
