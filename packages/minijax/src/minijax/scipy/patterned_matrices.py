"""Matrices that are made of blocks, or of one number along each diagonal."""

from typing import Any

import minijax.numpy as jnp
from minijax import lax
from minijax.numpy.products import meet
from minijax.operation import operation
from minijax_stage2 import typeof


@operation
def block_diag(*arrs: Any) -> Any:
    """A matrix with these matrices along its diagonal, and zeros elsewhere.

    Raises:
        ValueError: one of them has more than two axes.

    >>> minijax.scipy.linalg.block_diag(jnp.array([[1, 2]]), jnp.array([[3], [4]]))
    Array([[1, 2, 0],
           [0, 0, 3],
           [0, 0, 4]], dtype=int32)
    """
    if not arrs:
        return jnp.zeros((1, 0))
    for arr in arrs:
        if typeof(arr).ndim > 2:
            raise ValueError(f"block_diag: expected at most two axes, found {typeof(arr)}")
    blocks = [x if typeof(x).ndim == 2 else lax.reshape(x, (1, -1)) for x in meet(*arrs)]
    width = sum(typeof(x).shape[1] for x in blocks)
    rows, start = [], 0
    for block in blocks:
        columns = typeof(block).shape[1]
        config = [(0, 0, 0), (start, width - start - columns, 0)]
        rows.append(lax.pad(block, lax.full((), 0, typeof(block).dtype), config))
        start += columns
    return lax.concatenate(rows, 0)


@operation
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with `c` as its first column, `r` (or `c` conjugated) as its first row.

    Each diagonal holds one number. Axes before the last are batch axes.

    >>> minijax.scipy.linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 8, 9]))
    Array([[1, 8, 9],
           [2, 1, 8],
           [3, 2, 1]], dtype=int32)
    """
    if r is None:
        r = lax.conj(c) if typeof(c).dtype.kind == "c" else c
    c, r = (jnp.asarray(jnp.atleast_1d(x), typeof(x).dtype) for x in meet(c, r))
    return jnp.vectorize(_toeplitz, signature="(m),(n)->(m,n)")(c, r)


def _toeplitz(c: Any, r: Any) -> Any:
    m, n = typeof(c).shape[0], typeof(r).shape[0]
    if m == 0 or n == 0:
        return lax.full((m, n), 0, typeof(c).dtype)
    first = lax.slice(c, [0], [1])
    row = lax.concatenate([first, lax.slice(r, [1], [n])], 0)
    if m == 1:
        return lax.expand_dims(row, [0])
    # From the last number of the column to the last of the row, over and over: rows that are one
    # number shorter than that begin one number earlier each.
    numbers = lax.concatenate([lax.rev(lax.slice(c, [1], [m]), [0]), row], 0)
    size = m + n - 1
    over = lax.reshape(lax.broadcast_in_dim(numbers, (m + 1, size), (1,)), (-1,))
    rows = lax.reshape(lax.slice(over, [m - 1], [m - 1 + m * (size - 1)]), (m, size - 1))
    return lax.slice(rows, [0, 0], [m, n])


__all__ = ["block_diag", "toeplitz"]
