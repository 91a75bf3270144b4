"""Norms of vectors and matrices, and functions of singular values."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

import minijax.numpy.reductions as along
import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.linalg.matrices import real_dtype, real_part
from minijax.lax.linalg.svd import svd
from minijax.numpy.dtypes import default_float, default_int
from minijax.numpy.linalg.solve import inv
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes
from minijax_stage2.promotion import to_inexact
from minijax_stage2.shaped_array import is_inexact


@operation(static=("ord", "axis", "keepdims"))
def norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Arguments:
        x: the array.
        ord: the kind of norm. For vectors: 2 (by default), any other number, 0 for the number of
            nonzero elements, infinity for the largest or smallest absolute value. For matrices:
            "fro" (by default), "nuc", 1, 2, or infinity, and their negatives.
        axis: the axis of vectors, or the pair of axes of matrices. None: `x` is one vector or
            matrix, and without `ord` it is flattened.
        keepdims: whether to keep these axes, with size 1.

    Raises:
        ValueError: there is no such norm, or `axis` names more than two axes.
        TypeError: `ord` is neither a number nor a string.

    >>> jnp.linalg.norm(jnp.array([3.0, 4.0])), jnp.linalg.norm(jnp.array([3.0, 4.0]), ord=1)
    (Array(5., dtype=float32), Array(7., dtype=float32))
    """
    x = to_inexact(x)
    ndim = typeof(x).ndim
    if axis is None and ord is None:
        return _length(x, tuple(range(ndim)), keepdims)
    axes = canonical_axes("norm", axis, ndim)
    if len(axes) == 1:
        return _of_vectors(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _of_matrices(x, ord, axes, keepdims)
    raise ValueError(f"norm: takes one axis, of vectors, or two, of matrices; found {axes}")


def _length(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The square root of the sum of squares."""
    squares = lax.mul(x, lax.conj(x)) if typeof(x).dtype.kind == "c" else lax.mul(x, x)
    return lax.sqrt(along.sum(real_part(squares), axes, keepdims=keepdims))


def _of_vectors(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return _length(x, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"norm: the norm of vectors is said by a number, found ord={ord!r}")
    if not isinstance(ord, Real):
        raise TypeError(f"norm: ord must be a real number, found {ord!r}")
    size = lax.abs(x)
    if ord == np.inf:
        return _largest(size, axes, keepdims)
    if ord == -np.inf:
        return along.min(size, axes, keepdims=keepdims)
    if ord == 0:
        return along.sum(lax.ne(x, 0), axes, dtype=typeof(size).dtype, keepdims=keepdims)
    if ord == 1:
        return along.sum(size, axes, keepdims=keepdims)
    ord = float(ord)
    total = along.sum(stage2.power(size, ord), axes, keepdims=keepdims)
    return stage2.power(total, 1.0 / ord)


def _largest(sizes: Any, axis: int | tuple[int, ...], keepdims: bool) -> Any:
    """The largest of nonnegative numbers along axes; 0 if they are empty."""
    initial = None if typeof(sizes).size else 0
    return along.max(sizes, axis, keepdims=keepdims, initial=initial)


def _of_matrices(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    rows, columns = axes
    if ord in (None, "fro", "f"):
        return _length(x, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        summed, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = along.sum(lax.abs(x), summed, keepdims=True)
        out = (_largest if ord > 0 else along.min)(sums, over, keepdims=True)
        return out if keepdims else lax.squeeze(out, axes)
    if ord not in (2, -2, "nuc"):
        raise ValueError(f"norm: there is no norm ord={ord!r} of matrices")
    others = [axis for axis in range(typeof(x).ndim) if axis not in axes]
    s = svd(stage2.transpose(x, [*others, rows, columns]), compute_uv=False)
    combine = along.sum if ord == "nuc" else _largest if ord == 2 else along.min
    out = combine(s, -1, keepdims=False)
    return lax.expand_dims(out, axes) if keepdims else out


@operation(static=("keepdims", "ord"))
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of matrices in the last two axes; see `norm`.

    >>> a = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> jnp.linalg.matrix_norm(a, ord=1), jnp.linalg.matrix_norm(a, ord=jnp.inf)
    (Array(6., dtype=float32), Array(7., dtype=float32))
    """
    return norm(x, ord, (-2, -1), keepdims)


@operation(static=("axis", "keepdims", "ord"))
def vector_norm(
    x: ArrayLike, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Array:
    """The norm of vectors along an axis, along several at once, or (None) of all elements.

    >>> jnp.linalg.vector_norm(jnp.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    Array([ 5., 10.], dtype=float32)
    """
    if not is_inexact(typeof(x).dtype):
        x = lax.convert_element_type(x, default_float())
    axes = canonical_axes("vector_norm", axis, typeof(x).ndim)
    return _of_vectors(x, ord, axes, keepdims)


@operation(static="p")
def cond(x: ArrayLike, p: Any = None) -> Array:
    """The condition number: the factor by which errors of right-hand sides can grow in solutions.

    Arguments:
        x: the matrices; square, unless `p` is None, 2 or -2.
        p: the norm in which errors are measured, 2 by default.

    >>> f"{jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]])):.2f}"
    '2.00'
    """
    x = to_inexact(x)
    if p in (None, 2, -2):
        s = svd(x, compute_uv=False)
        largest, smallest = along.max(s, -1), along.min(s, -1)
        if p == -2:
            return lax.div(smallest, largest)
        out = lax.div(largest, smallest)
    else:
        out = lax.mul(norm(x, p, (-2, -1)), norm(inv(x), p, (-2, -1)))
    had_nan = along.any(lax.ne(x, x), (-2, -1))
    singular = lax.bitwise_and(lax.ne(out, out), lax.bitwise_not(had_nan))
    return lax.select(singular, lax.full_like(out, np.inf), out)


@operation(static="hermitian")
def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """The number of singular values larger than `rtol` times the largest.

    Arguments:
        M: the matrices; an array of fewer axes has rank 1, unless it is 0.
        rtol: by default the larger number of rows or columns times the precision of the dtype.
        hermitian: whether the matrices are symmetric; it makes no difference.
        tol: an older name of `rtol`.

    >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, dtype=int32)
    """
    x = to_inexact(M)
    if typeof(x).ndim < 2:
        return lax.convert_element_type(along.any(lax.ne(x, 0)), "int32")
    rtol = tol if rtol is None else rtol
    s = svd(x, compute_uv=False)
    dtype = real_dtype(typeof(x).dtype)
    if rtol is None:
        rtol = max(typeof(x).shape[-2:]) * np.finfo(dtype).eps
    rtol = lax.convert_element_type(rtol, dtype)
    if typeof(rtol).ndim:
        rtol = lax.expand_dims(rtol, [typeof(rtol).ndim])
    cutoff = stage2.mul(along.max(s, -1, keepdims=True), rtol)
    return along.sum(lax.gt(s, cutoff), -1, dtype=default_int())


__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]
