"""Grids, diagonals and triangles: made, and their indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from glassjax import lax
from glassjax.dimensions.expressions import Size, is_symbolic, is_symbolic_dim, max_size
from glassjax.dtypes import DTypeLike
from glassjax.errors.arguments import checking_arguments
from glassjax.errors.tracebacks import hiding_frames
from glassjax.numpy import shapes
from glassjax.numpy.cases import where
from glassjax.numpy.creation import arange, asarray, diagonal_mask, linspace
from glassjax.numpy.dtypes import default_float, default_int
from glassjax.numpy.reductions import sum as sum_of
from glassjax.numpy.selection import nonzero
from glassjax.numpy.shapes import ndim, shape
from glassjax.runtime.array import Array, ArrayLike, array, require_no_out
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax.transforms.vmap import vmap
from glassjax_stage2 import Tracer, typeof
from glassjax_stage2.functions import canonical_axes, ints, one_int
from glassjax_stage2.shaped_array import Shape

# Grids of coordinates, and arrays written with brackets.


index_exp = np.index_exp
s_ = np.s_


@hiding_frames
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Coordinate arrays of the grid that vectors span, one for each vector.

    Arguments:
        xi: the vectors.
        copy: must be True.
        sparse: whether the arrays have size 1 along the axes of the other vectors.
        indexing: "ij", the vectors are axes in order; or "xy", the first two are swapped.

    Raises:
        ValueError: an argument is not a vector, or `indexing` something else.

    >>> x, y = jnp.meshgrid(jnp.arange(3), jnp.arange(2))
    >>> 10 * y + x
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    if not copy:
        raise ValueError("meshgrid: copy must be True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', found {indexing!r}")
    return _meshgrid(list(xi), sparse=sparse, indexing=indexing)


@operation(static=("sparse", "indexing"))
def _meshgrid(vectors: list[Any], *, sparse: bool, indexing: str) -> tuple[Any, ...]:
    for x in vectors:
        if ndim(x) != 1:
            raise ValueError(f"meshgrid: expected vectors, found {typeof(x)}")
    axes = list(range(len(vectors)))
    if indexing == "xy" and len(axes) >= 2:
        axes[0], axes[1] = 1, 0
    full = [0] * len(vectors)
    for axis, x in zip(axes, vectors, strict=True):
        full[axis] = shape(x)[0]
    grids = {}
    for axis, x in sorted(zip(axes, vectors, strict=True), key=itemgetter(0)):
        own = [n if i == axis else 1 for i, n in enumerate(full)]
        grids[axis] = lax.broadcast_in_dim(x, tuple(own if sparse else full), (axis,))
    return tuple(grids[axis] for axis in axes)


@hiding_frames
def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Vectors as index arrays of the grid that they span; booleans as their true positions.

    Raises:
        ValueError: an argument is not a vector.

    >>> x = jnp.arange(12).reshape(3, 4)
    >>> x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))]
    Array([[ 1,  3],
           [ 9, 11]], dtype=int32)
    """
    vectors = []
    for position, x in enumerate(args):
        x = asarray(x) if isinstance(x, range) else x
        if typeof(x).ndim != 1:
            raise ValueError(f"ix_: expected vectors, found {typeof(x)} at position {position}")
        if typeof(x).dtype == np.bool_:
            (x,) = nonzero(x)
        elif not typeof(x).size:
            x = shapes.astype(x, default_int())
        sizes = [1] * len(args)
        sizes[position] = shape(x)[0]
        vectors.append(shapes.reshape(x, sizes))
    return tuple(vectors)


@operation(static=("dimensions", "dtype", "sparse"))
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """The index of each element of an array of this shape, along each of its axes.

    Arguments:
        dimensions: the shape.
        dtype: the dtype of the indices; None: the default int.
        sparse: whether to return a tuple of arrays with size 1 along other axes, instead of one
            array.

    >>> rows, columns = jnp.indices((2, 3))
    >>> 10 * rows + columns
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    sizes = ints("indices: dimensions", dimensions)
    dtype = default_int() if dtype is None else dtype
    if sparse:
        own = [[n if i == axis else 1 for i, n in enumerate(sizes)] for axis in range(len(sizes))]
        return tuple(lax.broadcasted_iota(dtype, each, axis) for axis, each in enumerate(own))
    if not sizes:
        return lax.full((0,), 0, dtype)
    return shapes.stack([lax.broadcasted_iota(dtype, sizes, axis) for axis in range(len(sizes))])


@hiding_frames
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: DTypeLike = float, **kwargs: Any
) -> Array:
    """The array whose elements are `function` of their indices.

    Arguments:
        function: function of one number for each axis.
        shape: the shape.
        dtype: the dtype of the indices.
        kwargs: further arguments of `function`.

    >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    sizes = ints("fromfunction: shape", shape)

    def index_fun(*numbers: Any) -> Any:
        return function(*numbers, **kwargs)

    mapped = index_fun
    for axis in reversed(range(len(sizes))):
        in_axes = [None] * len(sizes)
        in_axes[axis] = 0  # type: ignore[call-overload]
        mapped = vmap(mapped, in_axes=tuple(in_axes))
    return mapped(*[arange(n, dtype=dtype) for n in sizes])


def _numbers_of(part: slice) -> Any:
    """`start:stop:step` as numbers; an imaginary step is their count, with `stop` included."""
    if part.stop is None:
        raise ValueError(f"{part} needs a stop, since the number of elements is unknown")
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Grid:
    """`mgrid[0:2, 0:3]` is the indices of a dense grid; `ogrid[0:2, 0:3]`, of an open one.

    An imaginary step is the count of numbers, with the last included.
    """

    def __init__(self, sparse: bool):
        self.sparse = sparse

    @evaluated_by_library
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _numbers_of(key)
        vectors = [_numbers_of(part) for part in key]
        dtype = np.result_type(*[typeof(x).dtype for x in vectors])
        vectors = [
            shapes.astype(x, dtype if dtype.itemsize <= 4 else _narrow(dtype)) for x in vectors
        ]
        grids = meshgrid(*vectors, indexing="ij", sparse=self.sparse)
        return grids if self.sparse else shapes.stack(grids)


def _narrow(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return default_float() if dtype.kind == "f" else default_int()


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


class _Concatenator:
    """`r_[0:3, 5, x]` and `c_[x, y]`: arrays, numbers and ranges concatenated.

    A string in front gives `axis`, then the minimum number of axes, then the position of new axes:
    "0,2" stacks rows. "r" and "c" make a matrix of a row or a column.
    """

    def __init__(self, axis: int, least: int, lead: int):
        self.defaults = axis, least, lead

    @evaluated_by_library
    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, least, lead = self.defaults
        form = None
        if parts and isinstance(parts[0], str):
            directive = parts.pop(0)
            if directive in ("r", "c"):
                form, axis = directive, 0
            else:
                try:
                    numbers = [int(word) for word in directive.split(",")]
                except ValueError:
                    raise ValueError(
                        f"expected 'r', 'c' or up to three ints in front, found {directive!r}"
                    ) from None
                axis, least, lead = (*numbers, *(axis, least, lead)[len(numbers) :])[:3]
        arrays = []
        for part in parts:
            if isinstance(part, slice):
                x, own = _numbers_of(part), 1
            else:
                x = asarray(part)
                own = ndim(x)
                x = shapes.atleast_1d(x)
            lacking = max(least - max(own, 1), 0)
            if lacking:
                before = lead if lead >= 0 else max(own, 1) + lacking + lead
                before = lacking if lead == -1 else min(before, lacking)
                x = shapes.reshape(x, (1,) * before + shape(x) + (1,) * (lacking - before))
            arrays.append(x)
        out = shapes.concatenate(arrays, axis)
        if form is not None:
            out = shapes.expand_dims(out, 0 if form == "r" else 1) if ndim(out) == 1 else out
        return out


r_ = _Concatenator(0, 1, -1)
c_ = _Concatenator(-1, 2, 0)


# Diagonals and triangles of matrices.


Indices = tuple[Any, ...]


@operation(static=("offset", "axis1", "axis2"))
@written_in_jax("numpy")
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonal of `a` in two of its axes, along a new last axis.

    Arguments:
        a: the array.
        offset: the diagonal: 0 is the main one, positive ones lie above it.
        axis1: the axis of rows.
        axis2: the axis of columns.

    >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    >>> jnp.diagonal(jnp.zeros((5, 2, 3)), axis1=1, axis2=2).shape
    (5, 2)
    """
    first, second = canonical_axes("diagonal", (axis1, axis2), ndim(a))
    a = shapes.moveaxis(a, (first, second), (-2, -1))
    rows, columns = shape(a)[-2:]
    down, right = max(-offset, 0), max(offset, 0)
    count = max(min(rows - down, columns - right), 0)
    lead = shape(a)[:-2]
    if not count:
        return lax.full((*lead, 0), 0, typeof(a).dtype)
    # In the flattened matrix, a diagonal is a strided slice.
    start = down * columns + right
    row = shapes.reshape(a, (*lead, rows * columns))
    limit = start + (count - 1) * (columns + 1) + 1
    row = lax.convert_element_type(row, typeof(a).dtype)
    return lax.slice_in_dim(row, start, limit, columns + 1, axis=-1)


@operation(static=("offset", "axis1", "axis2", "dtype"))
@written_in_jax("numpy")
def trace(
    a: ArrayLike,
    offset: ArrayLike = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """The sum of a diagonal of `a` in two of its axes.

    Arguments:
        a: the array.
        offset: the diagonal: 0 is the main one, positive ones lie above it.
        axis1: the axis of rows.
        axis2: the axis of columns.
        dtype: the dtype of the result; None: the dtype of `sum`.
        out: must be None.

    Raises:
        ValueError: there are no such axes, or they are the same.

    >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    require_no_out("trace", out)
    if isinstance(offset, Tracer):
        return _sum_of_diagonal(a, offset, canonical_axes("trace", (axis1, axis2), ndim(a)), dtype)
    return sum_of(diagonal(a, offset, axis1, axis2), -1, dtype)  # type: ignore[arg-type]


def _sum_of_diagonal(a: Any, offset: Any, axes: Sequence[int], dtype: Any) -> Any:
    """The sum of a diagonal with a traced offset."""
    a = shapes.moveaxis(a, axes, (-2, -1))
    return sum_of(a, (-2, -1), dtype, where=diagonal_mask(shape(a)[-2:], offset))


@operation(static="k")
def diag(v: ArrayLike, k: int = 0) -> Array:
    """The `k`-th diagonal of a matrix, or the matrix with the vector `v` as its `k`-th diagonal.

    Raises:
        ValueError: `v` is neither a vector nor a matrix.

    >>> jnp.diag(jnp.array([1, 2])), jnp.diag(jnp.array([[1, 2], [3, 4]]))
    (Array([[1, 0],
           [0, 2]], dtype=int32), Array([1, 4], dtype=int32))
    """
    if ndim(v) == 2:
        return diagonal(v, k)
    if ndim(v) != 1:
        raise ValueError(f"diag: expected a vector or a matrix, found {typeof(v)}")
    zero = lax.full_like(v, 0, shape=())
    rows = lax.pad(v, zero, [(max(-k, 0), max(k, 0), 0)])
    size = shape(rows)[0]
    return where(diagonal_mask((size, size), k), lax.expand_dims(rows, [1]), zero)


@operation(static="k")
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """The matrix with all elements of `v` on its `k`-th diagonal.

    >>> jnp.diagflat(jnp.array([1, 2]), 1)
    Array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]], dtype=int32)
    """
    return lax.convert_element_type(diag(shapes.ravel(v), k), typeof(v).dtype)


@operation(static=("n", "ndim"))
def diag_indices(n: int, ndim: int = 2) -> Indices:
    """The indices of the diagonal of an array of `ndim` axes of size `n`.

    Raises:
        ValueError: `n` or `ndim` is negative.

    >>> jnp.zeros((2, 2)).at[jnp.diag_indices(2)].set(7.0)
    Array([[7., 0.],
           [0., 7.]], dtype=float32)
    """
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must not be negative, found {n} and {ndim}")
    return (lax.iota(default_int(), n),) * ndim


@hiding_frames
def diag_indices_from(arr: ArrayLike) -> Indices:
    """The indices of the diagonal of `arr`, whose axes all have the same size.

    Raises:
        ValueError: there are fewer than two axes, or their sizes differ.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> x[jnp.diag_indices_from(x)]
    Array([1, 4], dtype=int32)
    """
    sizes = set(shape(arr))
    if ndim(arr) < 2 or len(sizes) != 1:
        raise ValueError(f"diag_indices_from: expected axes of one size, found {typeof(arr)}")
    return diag_indices(sizes.pop(), ndim(arr))


@operation(static=("wrap", "inplace"))
def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """`a` with `val`, repeated as needed, on its diagonal.

    Arguments:
        a: a matrix, or an array of more axes, all of one size.
        val: a number, or an array whose elements are repeated in order.
        wrap: must be False.
        inplace: must be False: Arrays are immutable.

    Raises:
        ValueError: `a` has fewer than two axes, or more than two of different sizes.
        NotImplementedError: `inplace` or `wrap` is True.

    >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 7.0, inplace=False)
    Array([[7., 0.],
           [0., 7.]], dtype=float32)
    """
    if inplace or wrap:
        raise NotImplementedError(
            "fill_diagonal: an Array is never written to: pass inplace=False, and use the "
            f"result; wrap must be False; found inplace={inplace}, wrap={wrap}"
        )
    sizes = shape(a)
    if len(sizes) < 2 or (len(sizes) > 2 and len(set(sizes)) > 1):
        raise ValueError(f"fill_diagonal: expected a matrix or axes of one size, found {typeof(a)}")
    count = min(sizes)
    step = 1 + sum(int(np.prod(sizes[i:])) for i in range(1, len(sizes)))
    if not count:
        return a  # type: ignore[return-value]
    if ndim(val):
        val = shapes.ravel(val)
        times = -(-count // max(typeof(val).size, 1))
        repeated = shapes.broadcast_to(val, (times, typeof(val).size))
        val = lax.slice_in_dim(shapes.ravel(repeated), 0, count)
    return shapes.reshape(shapes.ravel(a).at[: (count - 1) * step + 1 : step].set(val), sizes)


def _below(rows: int, columns: int, k: int) -> Any:
    """A mask of the elements of a matrix on or below the `k`-th diagonal."""
    dtype = default_int()
    row = lax.broadcasted_iota(dtype, (rows, columns), 0)
    last = row + (k if is_symbolic_dim(k) else dtype.type(k))
    return last >= lax.broadcasted_iota(dtype, (rows, columns), 1)


@operation(static=("N", "M", "k", "dtype"))
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The matrix of `N` rows, `M` columns with ones up to its `k`-th diagonal, zeros above.

    Arguments:
        N: the number of rows.
        M: the number of columns; None: `N`.
        k: the last diagonal of ones: 0 is the main one, positive ones lie above it.
        dtype: the dtype of the result; None: the default float.

    >>> jnp.tri(3, dtype=int)
    Array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]], dtype=int32)
    """
    rows = one_int("tri: N", N)
    (columns,) = (rows,) if M is None else ints("tri: M", M)
    return lax.convert_element_type(
        _below(rows, columns, k), default_float() if dtype is None else dtype
    )


@operation(static="k")
def tril(m: ArrayLike, k: int = 0) -> Array:
    """The matrix, or matrices, `m` with zeros above the `k`-th diagonal.

    >>> jnp.tril(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 0],
           [3, 4]], dtype=int32)
    """
    is_below = _below_in("tril", m, k)
    return lax.select(is_below, m, lax.full_like(m, 0))


@operation(static="k")
def triu(m: ArrayLike, k: int = 0) -> Array:
    """The matrix, or matrices, `m` with zeros below the `k`-th diagonal.

    >>> jnp.triu(jnp.array([[1, 2], [3, 4]])), jnp.triu(jnp.array([[1, 2], [3, 4]]), k=1)
    (Array([[1, 2],
           [0, 4]], dtype=int32), Array([[0, 2],
           [0, 0]], dtype=int32))
    """
    is_below = _below_in("triu", m, k - 1)
    return lax.select(is_below, lax.full_like(m, 0), m)


def _below_in(caller: str, m: Any, k: int) -> Any:
    """A mask of the elements of matrices `m` on or below the `k`-th diagonal."""
    if ndim(m) < 2:
        raise ValueError(f"{caller}: expected at least two axes, found {typeof(m)}")
    return shapes.broadcast_to(_below(shape(m)[-2], shape(m)[-1], k), shape(m))


@evaluated_by_library
def _mesh_indices(numbers: Sequence[Any]) -> tuple[Any, Any]:
    row, column = (array(x.astype(default_int())) for x in numbers)
    return row, column


@hiding_frames
@checking_arguments
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices on and below the `k`-th diagonal of a matrix of `n` rows, `m` columns.

    Arguments:
        n: the number of rows.
        k: the diagonal: 0 is the main one, positive ones lie above it.
        m: the number of columns; None: `n`.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> x[jnp.tril_indices(2)]
    Array([1, 3, 4], dtype=int32)
    """
    rows, diagonal, columns = _triangle_sizes("tril_indices", n, k, m)
    if is_symbolic((rows, diagonal, columns)):
        count = _count_below(rows, columns, diagonal)
        return nonzero(_below(rows, columns, diagonal), size=count)  # type: ignore[return-value]
    return _mesh_indices(np.tril_indices(rows, diagonal, columns))


@hiding_frames
@checking_arguments
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices on and above the `k`-th diagonal of a matrix of `n` rows, `m` columns.

    Arguments:
        n, k, m: as in `tril_indices`.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> x[jnp.triu_indices(2)]
    Array([1, 2, 4], dtype=int32)
    """
    rows, diagonal, columns = _triangle_sizes("triu_indices", n, k, m)
    if is_symbolic((rows, diagonal, columns)):
        count = rows * columns - _count_below(rows, columns, diagonal - 1)
        return nonzero(~_below(rows, columns, diagonal - 1), size=count)  # type: ignore[return-value]
    return _mesh_indices(np.triu_indices(rows, diagonal, columns))


def _count_below(rows: Size, columns: Size, k: Size) -> Any:
    """The number of elements of a matrix on or below the `k`-th diagonal.

    Row `i` has `max(i + k + 1, 0) - max(i + k + 1 - columns, 0)` of them.
    """

    def sum_up_to(last: Size) -> Size:
        last = max_size(last, 0)
        return last * (last + 1) // 2

    return (
        sum_up_to(rows + k) - sum_up_to(k) - sum_up_to(rows + k - columns) + sum_up_to(k - columns)
    )


def _triangle_sizes(name: str, n: int, k: int, m: int | None) -> tuple[int, int, int]:
    columns = n if m is None else m
    if n < 0 or columns < 0:
        raise ValueError(f"{name}: n and m must not be negative, found {n} and {columns}")
    if abs(k) >= 2**31:
        raise OverflowError(f"{name}: k does not fit in 32 bits: {k}")
    return n, k, columns


def _sizes_of_matrix(name: str, arr: Any) -> Shape:
    sizes = tuple(arr.shape) if hasattr(arr, "shape") else shape(arr)
    if len(sizes) != 2:
        raise ValueError(f"{name}: expected a matrix, found shape {sizes}")
    return sizes


@hiding_frames
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """`tril_indices` of a matrix like `arr`.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> x[jnp.tril_indices_from(x, k=-1)]
    Array([3], dtype=int32)
    """
    rows, columns = _sizes_of_matrix("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


@hiding_frames
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """`triu_indices` of a matrix like `arr`.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> x[jnp.triu_indices_from(x, k=1)]
    Array([2], dtype=int32)
    """
    rows, columns = _sizes_of_matrix("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


@hiding_frames
@checking_arguments
def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """The nonzero indices of `mask_func(matrix of ones, k)`.

    Arguments:
        n: the number of rows and columns.
        mask_func: function of a matrix and `k`, such as `triu`.
        k: its second argument.
        size: as in `nonzero`.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> x[jnp.mask_indices(2, jnp.triu)]
    Array([1, 2, 4], dtype=int32)
    """
    rows, columns = nonzero(mask_func(lax.full((n, n), 1), k), size=size)
    return rows, columns
