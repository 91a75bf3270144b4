"""Grids of coordinates, and arrays written with brackets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.numpy.creation import asarray
from minijax.numpy.dtypes import default_float, default_int
from minijax.numpy.indexing.where import nonzero
from minijax.numpy.joining import concatenate, stack
from minijax.numpy.ranges import arange, linspace
from minijax.numpy.shapes import astype, atleast_1d, expand_dims, ndim, reshape, shape
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.transforms.transformations import vmap
from minijax_stage2 import typeof
from minijax_stage2.functions import ints

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
    grids = []
    for axis, x in zip(axes, vectors, strict=True):
        own = [n if i == axis else 1 for i, n in enumerate(full)]
        grids.append(lax.broadcast_in_dim(x, tuple(own if sparse else full), (axis,)))
    return tuple(grids)


@hiding_frames
def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Vectors as index arrays of the grid that they span; booleans as their true positions.

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
            x = astype(x, default_int())
        sizes = [1] * len(args)
        sizes[position] = shape(x)[0]
        vectors.append(reshape(x, sizes))
    return tuple(vectors)


@operation(static=("dimensions", "dtype", "sparse"))
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """The index of each element of an array of this shape, along each of its axes.

    Arguments:
        dimensions: the shape.
        dtype: the dtype of the indices; that of Python ints by default.
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
    return stack([lax.broadcasted_iota(dtype, sizes, axis) for axis in range(len(sizes))])


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

    def of_indices(*numbers: Any) -> Any:
        return function(*numbers, **kwargs)

    mapped = of_indices
    for axis in reversed(range(len(sizes))):
        in_axes = [None] * len(sizes)
        in_axes[axis] = 0  # type: ignore[call-overload]
        mapped = vmap(mapped, in_axes=tuple(in_axes))
    return mapped(*[arange(n, dtype=dtype) for n in sizes])


def _numbers_of(part: slice) -> Any:
    """`start:stop:step` as numbers; an imaginary step is their count, with `stop` included."""
    if part.stop is None:
        raise ValueError(f"{part} needs a stop: nothing says how many numbers there are")
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Grid:
    """`mgrid[0:2, 0:3]` is the indices of a dense grid; `ogrid` those of an open one.

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
        vectors = [astype(x, dtype if dtype.itemsize <= 4 else _narrow(dtype)) for x in vectors]
        grids = meshgrid(*vectors, indexing="ij", sparse=self.sparse)
        return grids if self.sparse else stack(grids)


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
                x = atleast_1d(x)
            lacking = max(least - max(own, 1), 0)
            if lacking:
                before = lead if lead >= 0 else max(own, 1) + lacking + lead
                before = lacking if lead == -1 else min(before, lacking)
                x = reshape(x, (1,) * before + shape(x) + (1,) * (lacking - before))
            arrays.append(x)
        out = concatenate(arrays, axis)
        if form is not None:
            out = expand_dims(out, 0 if form == "r" else 1) if ndim(out) == 1 else out
        return out


r_ = _Concatenator(0, 1, -1)
c_ = _Concatenator(-1, 2, 0)

__all__ = [
    "c_", "fromfunction", "index_exp", "indices", "ix_", "meshgrid", "mgrid", "ogrid", "r_", "s_",
]  # fmt: skip
