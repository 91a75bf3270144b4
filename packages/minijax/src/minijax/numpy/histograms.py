"""Counting: occurrences of integers, and histograms."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.numpy.creation import asarray
from minijax.numpy.differences import diff
from minijax.numpy.dtypes import default_int, dtype_of_mean, of_one_dtype
from minijax.numpy.ranges import linspace
from minijax.numpy.reductions import max, min, sum
from minijax.numpy.sorting import searchsorted
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.settings.counted import counted
from minijax.shardings.resharding import dividing
from minijax_stage2 import ConcretizationTypeError, Tracer, typeof
from minijax_stage2.errors import shown
from minijax_stage2.functions import ints, one_int
from minijax_stage2.promotion import to_inexact

_ADD_TO_ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))


@evaluated_by_library
@dividing
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Count the occurrences of each number from 0 on in `x`.

    Arguments:
        x: a vector of integers; negative ones count as 0.
        weights: the weight of each; 1 by default.
        minlength: the minimum number of counts.
        length: the number of counts, whatever `minlength` is; by default up to the largest number
            in `x`, which must then be known. Larger numbers are not counted.
        out_sharding: the division of the result along axes of type `Explicit`.

    Raises:
        TypeError: `x` is not of integers.
        ValueError: `x` is not a vector.
        ConcretizationTypeError: `x` is traced, and `length` is not given.

    >>> jnp.bincount(jnp.array([0, 2, 2, 5]))
    Array([1, 0, 2, 0, 0, 1], dtype=int32)
    >>> jnp.bincount(jnp.array([0, 2]), weights=jnp.array([0.5, 2.0]), length=4)
    Array([0.5, 0. , 2. , 0. ], dtype=float32)
    """
    aval = typeof(x)
    if aval.dtype.kind not in "biu":
        raise TypeError(f"bincount: x must be of integers, found {aval}")
    if aval.ndim != 1:
        raise ValueError(f"bincount: x must have one axis, found {aval}")
    if length is None:
        if isinstance(x, Tracer):
            raise ConcretizationTypeError(
                "bincount: the length of the result depends on the numbers in x, which are known "
                "only when the program runs: give length="
            )
        largest = int(np.max(np.asarray(x))) if aval.size else -1
        length = builtins.max(largest + 1, one_int("bincount: minlength", minlength), 0)
    return _bincount(x, weights, length)


@operation(static="length")
def _bincount(x: Any, weights: Any, length: int) -> Any:
    if weights is None:
        weights = lax.full(typeof(x).shape, 1, default_int())
    elif typeof(weights).shape != typeof(x).shape:
        raise ValueError(
            f"bincount: weights must have the shape of x, {typeof(x).shape}, found "
            f"{typeof(weights)}"
        )
    places = lax.convert_element_type(x, np.int32) if typeof(x).dtype.kind == "b" else x
    return _add_at(length, lax.max(places, 0), weights)


def _add_at(length: int, places: Any, weights: Any) -> Any:
    """Zeros with weights added at indices; indices beyond the end are dropped."""
    return lax.scatter_add(
        lax.full((length,), 0, typeof(weights).dtype),
        lax.reshape(places, (*typeof(places).shape, 1)),
        weights,
        _ADD_TO_ELEMENTS,
        mode="drop",
    )


@evaluated_by_library
def histogram_bin_edges(
    a: ArrayLike,
    bins: int | str | Sequence[Any] = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
) -> Array:
    """The bin edges of `histogram` for these arguments.

    >>> jnp.histogram_bin_edges(jnp.array([0.0, 3.0, 4.0]), bins=4)
    Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    if isinstance(bins, str):
        raise NotImplementedError(f"histogram_bin_edges: bins must be numbers, found {bins!r}")
    if not isinstance(bins, int | np.integer) and typeof(asarray(bins)).ndim:
        if typeof(asarray(bins)).ndim != 1:
            raise ValueError(
                "histogram_bin_edges: bins must be an int or the ends of intervals, a vector; "
                f"found {typeof(asarray(bins))}"
            )
        return lax.convert_element_type(asarray(bins), dtype_of_mean(a))
    (count,) = ints("histogram_bin_edges: bins", bins)
    if range is not None and typeof(asarray(range)).shape != (2,):
        raise ValueError(f"histogram_bin_edges: range must be two numbers, found {shown(range)}")
    return _equal_bins(a, None if range is None else asarray(range), count)


@operation(static="count")
def _equal_bins(a: Any, range: Any, count: int) -> Any:
    a = lax.convert_element_type(a, dtype_of_mean(a))
    if range is None:
        low, high = (min(a), max(a)) if typeof(a).size else (0.0, 1.0)
    else:
        range = lax.convert_element_type(range, typeof(a).dtype)
        low, high = (lax.squeeze(lax.slice_in_dim(range, i, i + 1), (0,)) for i in (0, 1))
    is_point = lax.eq(low, high)
    low, high = where(is_point, lax.sub(low, 0.5), low), where(is_point, lax.add(high, 0.5), high)
    return linspace(low, high, count + 1, dtype=typeof(a).dtype)


@evaluated_by_library
@dividing
def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """Count the elements in each bin; return counts and bin edges.

    Arguments:
        a: the array.
        bins: the number of bins of equal size, or an array of their edges in order.
        range: the lowest and the highest edge; by default those of the elements.
        weights: the weight of each element; an array of the shape of `a`.
        density: whether to normalize the area of the histogram to 1.
        out_sharding: the division of the result along axes of type `Explicit`.

    Returns:
        The counts, and the edges, one more than counts. The last bin includes both its edges.

    >>> counts, edges = jnp.histogram(jnp.array([1.0, 1.5, 4.0]), bins=3, range=(0.0, 6.0))
    >>> counts, edges
    (Array([2., 0., 1.], dtype=float32), Array([0., 2., 4., 6.], dtype=float32))
    """
    if weights is not None:
        if typeof(weights).shape != typeof(a).shape:
            raise ValueError(
                f"histogram: weights must have the shape of a, {typeof(a).shape}, found "
                f"{typeof(weights)}"
            )
        a, weights = of_one_dtype(a, weights, inexact=True)
    edges = histogram_bin_edges(a, bins, range, weights)  # type: ignore[arg-type]
    return _histogram(a, edges, weights, bool(density)), edges


@operation(static="density")
def _histogram(a: Any, edges: Any, weights: Any, density: bool) -> Any:
    a = lax.reshape(to_inexact(a), (-1,))
    if weights is None:
        weights = lax.full(typeof(a).shape, 1, typeof(a).dtype)
    weights = lax.reshape(weights, (-1,))
    count = typeof(edges).shape[0]
    counts = lax.slice_in_dim(_add_at(count, _interval(a, edges), weights), 1, count)
    if not density:
        return counts
    widths = lax.convert_element_type(diff(edges), typeof(counts).dtype)
    return lax.div(lax.div(counts, widths), sum(counts))


def _interval(a: Any, edges: Any) -> Any:
    """The number of the bin of each element, from 1 on; 0 is below and the last above."""
    count = typeof(edges).shape[0]
    found = searchsorted(edges, a, "right")
    last = lax.squeeze(lax.slice_in_dim(edges, count - 1, count), (0,))
    return where(lax.eq(a, last), count - 1, found)


@evaluated_by_library
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Count the points in each rectangle; return counts and the bin edges along both axes.

    Arguments:
        x, y: the coordinates of the points.
        bins: as in `histogram`, for both axes, or a pair with one for each.
        range, weights, density: as in `histogramdd`.

    >>> counts, _, _ = jnp.histogram2d(jnp.array([0.1, 0.9]), jnp.array([0.2, 0.3]), bins=2)
    >>> counts
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    if typeof(x).ndim != 1 or typeof(x).shape != typeof(y).shape:
        raise ValueError(
            f"histogram2d: x and y must be rows of as many numbers, found {typeof(x)}, {typeof(y)}"
        )
    if not isinstance(bins, int | np.integer) and len(bins) not in (1, 2):
        bins = [asarray(bins)] * 2
    sample = lax.concatenate([lax.reshape(z, (-1, 1)) for z in (x, y)], 1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, *edges


@evaluated_by_library
def histogramdd(
    sample: ArrayLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> Any:
    """Count the points in each box of a grid; return counts and the bin edges along each axis.

    Arguments:
        sample: a matrix with a point in each row.
        bins: as in `histogram`, for all axes, or a sequence with one for each.
        range: for each axis the lowest and the highest edge, or None.
        weights: the weight of each point.
        density: whether to normalize the volume of the histogram to 1.

    Raises:
        ValueError: `sample` is not a matrix, or `bins` or `range` does not have one entry per axis.

    >>> points = jnp.array([[0.0, 0.0], [1.0, 1.0], [0.9, 0.8]])
    >>> counts, edges = jnp.histogramdd(points, bins=2)
    >>> counts
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    if typeof(sample).ndim != 2:
        raise ValueError(f"histogramdd: sample must be a matrix, found {typeof(sample)}")
    points, axes = typeof(sample).shape
    of_axis = [bins] * axes if isinstance(bins, int | np.integer) else list(bins)
    ranges = [None] * axes if range is None else list(range)
    if len(of_axis) != axes or len(ranges) != axes:
        raise ValueError(
            f"histogramdd: {counted(axes, 'axis')} take as many of bins and range, found "
            f"{len(of_axis)} and {len(ranges)}"
        )
    if weights is not None and (typeof(weights).shape != (points,) or typeof(weights).dtype.names):
        raise ValueError(
            f"histogramdd: weights must be a number for each of {points} points, found "
            f"{typeof(weights)}"
        )
    columns = [
        lax.reshape(lax.slice_in_dim(sample, i, i + 1, axis=1), (points,))
        for i in builtins.range(axes)
    ]
    edges = [
        histogram_bin_edges(column, bins, bounds)
        for column, bins, bounds in zip(columns, of_axis, ranges, strict=True)
    ]
    return _histogramdd(columns, edges, weights, bool(density)), edges


@operation(static="density")
def _histogramdd(columns: Any, edges: Any, weights: Any, density: bool) -> Any:
    sizes = [typeof(ends).shape[0] + 1 for ends in edges]
    place = lax.full(typeof(columns[0]).shape, 0, np.int32)
    for column, ends, size in zip(columns, edges, sizes, strict=True):
        place = lax.add(lax.mul(place, size), _interval(column, ends))
    if weights is None:
        weights = lax.full(typeof(place).shape, 1, default_int())
    counts = lax.reshape(_add_at(math.prod(sizes), place, weights), sizes)
    counts = lax.slice(counts, [1] * len(sizes), [size - 1 for size in sizes])
    if density:
        shape = typeof(counts).shape
        counts = lax.convert_element_type(counts, typeof(edges[0]).dtype)
        counts = lax.div(counts, sum(counts))
        for axis, ends in enumerate(edges):
            widths = lax.broadcast_in_dim(diff(ends), shape, (axis,))
            counts = lax.div(counts, lax.convert_element_type(widths, typeof(counts).dtype))
    return counts


__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
