"""The methods and operators of BCOO, in terms of functions of such arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax import numpy as jnp
from glassjax.experimental.sparse import bcoo_shapes
from glassjax.experimental.sparse.base import BCOO, JAXSparse, bcoo_fromdense, bcoo_todense
from glassjax.experimental.sparse.bcoo_products import add, bcoo_reduce_sum, matmul, multiply


def _fromdense(
    cls: type[BCOO], mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32,
    n_dense: int = 0, n_batch: int = 0,
) -> BCOO:  # fmt: skip
    """The nonzero elements of an array; see `bcoo_fromdense`."""
    return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)


def _sum_duplicates(self: BCOO, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
    """Sum elements with equal coordinates and remove zeros; see `bcoo_sum_duplicates`."""
    if remove_zeros:
        return bcoo_shapes.bcoo_eliminate_zeros(self, nse)
    return bcoo_shapes.bcoo_sum_duplicates(self, nse)


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


def _truediv(self: BCOO, other: Any) -> Any:
    if isinstance(other, JAXSparse):
        self._lacks("quotient of two sparse arrays")
    return multiply(self, other, jnp.divide)


def _pow(self: BCOO, other: Any) -> BCOO:
    if not isinstance(other, int) or other < 1:
        self._lacks("power that is not a positive int")
    mat = bcoo_shapes.bcoo_sum_duplicates(self, self.nse)
    return mat._with_data(mat.data**other)


def _abs(self: BCOO) -> BCOO:
    mat = self if self.unique_indices else bcoo_shapes.bcoo_sum_duplicates(self, self.nse)
    return mat._with_data(jnp.abs(mat.data))


_METHODS = {
    "todense": bcoo_todense,
    "update_layout": bcoo_shapes.bcoo_update_layout,
    "sum_duplicates": _sum_duplicates,
    "sort_indices": bcoo_shapes.bcoo_sort_indices,
    "transpose": _transpose,
    "reshape": _reshape,
    "astype": _astype,
    "sum": _sum,
    "__matmul__": matmul,
    "__rmatmul__": lambda self, other: matmul(other, self),
    "__mul__": multiply,
    "__rmul__": multiply,
    "__truediv__": _truediv,
    "__pow__": _pow,
    "__abs__": _abs,
    "__neg__": lambda self: self._with_data(-self.data),
    "__add__": add,
    "__radd__": add,
    "__sub__": lambda self, other: add(self, -other),
    "__rsub__": lambda self, other: add(-self, other),
    "__getitem__": bcoo_shapes.get_item,
    "__iter__": lambda self: (self[i] for i in range(len(self))),
    "fromdense": classmethod(_fromdense),
    "_eye": staticmethod(bcoo_shapes.bcoo_eye),
}
for _name, _method in _METHODS.items():
    setattr(BCOO, _name, _method)
