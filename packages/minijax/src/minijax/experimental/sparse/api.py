"""Sparse arrays of any class: making them, and converting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax import numpy as jnp
from minijax.experimental.sparse.base import JAXSparse
from minijax.experimental.sparse.bcoo_array import BCOO
from minijax.experimental.sparse.bcsr import BCSR
from minijax.experimental.sparse.coo import COO
from minijax.experimental.sparse.csr import CSC, CSR
from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax_stage2 import Primitive, Tracer, bind1
from minijax_stage2.vmap_rules import elementwise

_FORMATS: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


todense_p = Primitive("todense")
declare(
    todense_p,
    abstract_eval=lambda x: [x],
    lower=lambda b, out_avals, x: [x],
    vmap=elementwise(todense_p),
    sharding=by_elements(todense_p),
    jvp=[lambda t, out, x: bind1(todense_p, t)],
    transpose=[lambda ct, x: ct],
)


def todense(arr: JAXSparse | ArrayLike) -> Array:
    """The array with its zeros; a dense array as it is.

    >>> from minijax.experimental import sparse
    >>> sparse.todense(sparse.eye(2))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if isinstance(arr, JAXSparse):
        dense: Array = arr.todense()
        return dense
    # A tracer may stand for a sparse array, as it does in functions that `sparsify` transforms.
    return bind1(todense_p, arr) if isinstance(arr, Tracer) else jnp.asarray(arr)


def _class_of(sparse_format: str) -> Any:
    if sparse_format not in _FORMATS:
        raise ValueError(
            f"sparse_format must be one of {', '.join(_FORMATS)}, found {sparse_format!r}"
        )
    return _FORMATS[sparse_format]


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """A sparse array without elements.

    Arguments:
        shape: its shape.
        dtype: the dtype of the elements.
        index_dtype: the dtype of their coordinates.
        sparse_format: the class, in lower case: "bcoo", "bcsr", "coo", "csr" or "csc".
        kwds: other arguments of the class, such as `nse`.

    Raises:
        ValueError: there is no such class.
    """
    cls = _class_of(sparse_format)
    return cls._empty(shape, dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """A sparse matrix with ones on a diagonal.

    Arguments:
        N: the number of rows.
        M: the number of columns; `N` by default.
        k: how far the diagonal is above the main one.

    The others are those of `empty`.

    Raises:
        ValueError: there is no such class.
    """
    columns = N if M is None else M
    cls = _class_of(sparse_format)
    return cls._eye(N, columns, k, dtype=dtype, index_dtype=index_dtype, **kwds)


__all__ = ["empty", "eye", "todense", "todense_p"]
