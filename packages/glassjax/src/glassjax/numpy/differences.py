"""Differences, slopes, areas and interpolated values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import min_size, surely_at_least
from glassjax.dtypes import finfo
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.sorting import take_along
from glassjax.numpy.cases import where
from glassjax.numpy.dtypes import to_common_dtype
from glassjax.numpy.elementwise import remainder
from glassjax.numpy.indexing import getitem
from glassjax.numpy.reductions import sum
from glassjax.numpy.sorting import searchsorted
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.settings.number_types import promote, require_one_rank, result_type
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes, canonical_axis
from glassjax_stage2.promotion import broadcast_to, cast, to_inexact

# Differences of neighbors, slopes, and areas under a curve.


@operation(static=("n", "axis"))
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """The difference of each element from the one before it, taken `n` times.

    Arguments:
        a: the array; for booleans, the result is whether neighbors differ.
        n: how many times.
        axis: the axis to go along.
        prepend: a number or an array to put before `a` first.
        append: a number or an array to put after it.

    Raises:
        ValueError: `a` is a scalar, or `n` is negative.

    >>> jnp.diff(jnp.array([1, 4, 9, 16])), jnp.diff(jnp.array([1, 4, 9, 16]), n=2)
    (Array([3, 5, 7], dtype=int32), Array([2, 2], dtype=int32))
    """
    if n == 0:
        return a  # type: ignore[return-value]
    if n < 0:
        raise ValueError(f"diff: n must not be negative, found {n}")
    if typeof(a).ndim == 0:
        raise ValueError(f"diff: expected an array with an axis, found {typeof(a)}")
    along = canonical_axis("diff", axis, typeof(a).ndim)
    parts = [_edge(x, a, along) for x in (prepend, a, append) if x is not None]
    out: Any = lax.concatenate(to_common_dtype(*parts), along) if len(parts) > 1 else a
    minus = lax.ne if typeof(out).dtype == np.bool_ else lax.sub
    before = (slice(None),) * along
    for _ in range(n):
        if typeof(out).shape[along]:
            out = minus(out[*before, 1:], out[*before, :-1])
    return out


def _edge(x: Any, a: Any, axis: int) -> Any:
    """Return the elements to add at an end; a number becomes one element along the axis."""
    if typeof(x).ndim:
        if typeof(x).ndim != typeof(a).ndim:
            raise ValueError(f"diff: cannot put {typeof(x)} at an end of {typeof(a)}")
        return x
    shape = typeof(a).shape
    return broadcast_to(x, (*shape[:axis], 1, *shape[axis + 1 :]))


@operation
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """The differences of neighboring elements of the flattened array.

    Arguments:
        ary: the array.
        to_end: numbers to put after the differences.
        to_begin: numbers to put before them.

    Raises:
        TypeError: `ary` is of booleans, which have no differences.

    >>> jnp.ediff1d(jnp.array([1, 4, 9]), to_begin=0)
    Array([0, 3, 5], dtype=int32)
    """
    dtype = typeof(ary).dtype
    if dtype == np.bool_:
        raise TypeError(f"ediff1d: booleans have no differences, found {typeof(ary)}")
    out = diff(stage2.reshape(ary, (-1,)))
    edges = [
        None if x is None else lax.convert_element_type(stage2.reshape(x, (-1,)), dtype)
        for x in (to_begin, to_end)
    ]
    parts = [x for x in (edges[0], out, edges[1]) if x is not None]
    return lax.concatenate(parts, 0) if len(parts) > 1 else out


@operation(static=("axis", "edge_order"))
def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Any:
    """The slope at each element, from its neighbors; at the ends from the only one.

    Arguments:
        f: the array.
        varargs: the spacing of elements: nothing (1), a number, or for each axis a number or an
            array of coordinates.
        axis: the axes along which to take slopes; None: all.
        edge_order: must be None.

    Returns:
        An array, or a list of them if there are several axes.

    Raises:
        ValueError: an axis has fewer than two elements.
        TypeError: the spacings are neither one nor as many as the axes.

    >>> jnp.gradient(jnp.array([0.0, 1.0, 4.0, 9.0]))
    Array([1., 2., 4., 5.], dtype=float32)
    >>> jnp.gradient(jnp.array([0.0, 2.0, 4.0]), 0.5)
    Array([4., 4., 4.], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError(f"gradient: edge_order must be None, found {edge_order}")
    if typeof(f).dtype.names:
        raise TypeError(f"gradient: expected numbers, found {typeof(f)}")
    distances: list[Any]
    f, *distances = to_common_dtype(f, *varargs, inexact=True)
    axes = canonical_axes("gradient", axis, typeof(f).ndim)
    if any(typeof(f).shape[i] < 2 for i in axes):
        raise ValueError(f"gradient: each axis needs two elements, found {typeof(f)}")
    distances = distances or [1.0]
    if len(distances) == 1:
        distances *= len(axes)
    if len(distances) != len(axes):
        raise TypeError(f"gradient: {len(varargs)} distances for {counted(len(axes), 'axis')}")
    out = [_edge_slopes(f, i, h) for i, h in zip(axes, distances, strict=True)]
    return out[0] if len(out) == 1 else out


def _edge_slopes(f: Any, axis: int, h: Any) -> Any:
    shape = typeof(f).shape
    size = shape[axis]

    def slice_part(x: Any, start: int, limit: int) -> Any:
        return lax.slice_in_dim(x, start, limit, axis=axis)

    if typeof(h).ndim == 0:
        inner = (slice_part(f, 2, size) - slice_part(f, 0, size - 2)) / (2.0 * h)
        first = (slice_part(f, 1, 2) - slice_part(f, 0, 1)) / h
        last = (slice_part(f, size - 1, size) - slice_part(f, size - 2, size - 1)) / h
        return lax.concatenate([first, inner, last], axis)
    if typeof(h).shape != (size,):
        raise ValueError(
            f"gradient: coordinates {typeof(h)} for an axis of {counted(size, 'element')}"
        )
    gaps = diff(h)
    wide = tuple(size - 1 if i == axis else 1 for i in range(len(shape)))
    steps = diff(f, axis=axis) / broadcast_to(lax.reshape(gaps, wide), _less(shape, axis))
    before, after = slice_part(steps, 0, size - 2), slice_part(steps, 1, size - 1)
    gaps = broadcast_to(lax.reshape(gaps, wide), _less(shape, axis))
    low, high = slice_part(gaps, 0, size - 2), slice_part(gaps, 1, size - 1)
    inner = (before * high + after * low) / (low + high)
    return lax.concatenate(
        [slice_part(steps, 0, 1), inner, slice_part(steps, size - 2, size - 1)], axis
    )


def _less(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])


@operation(static="axis")
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """The area under a curve, by the trapezoidal rule.

    Arguments:
        y: the heights.
        x: their positions: one axis for all curves, or one number for each height.
        dx: their spacing, if `x` is not given.
        axis: the axis to go along.

    >>> x = jnp.linspace(0, 1, 101)
    >>> f"{jnp.trapezoid(x**2, x):.3f}"
    '0.333'
    """
    along = canonical_axis("trapezoid", axis, typeof(y).ndim)
    shape = typeof(y).shape
    if x is None:
        y, gaps = to_inexact(y), dx
    else:
        y, x = to_common_dtype(y, x, inexact=True)
        if typeof(x).size > 2:  # two points have one gap, which broadcasts
            require_one_rank(y, x)
        gaps = diff(x, axis=0 if typeof(x).ndim == 1 else axis)
        if typeof(x).ndim == 1:
            gaps = stage2.reshape(gaps, [-1 if i == along else 1 for i in range(len(shape))])
    heights = lax.slice_in_dim(
        y, min(1, shape[along]), shape[along], axis=along
    ) + lax.slice_in_dim(y, 0, max(shape[along] - 1, 0), axis=along)
    return sum(lax.mul(*promote(gaps, heights)), along) * 0.5


# Values between given points, on straight lines.


@hiding_frames
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: Any = None,
    right: Any = None,
    period: ArrayLike | None = None,
) -> Array:
    """The values at `x` of a piecewise linear function.

    Arguments:
        x: where to evaluate it, an array of any shape.
        xp: the coordinates of its points, in ascending order.
        fp: the values at the points.
        left: its value before the first point; None: the value of the first point; "extrapolate"
            continues the first line.
        right: the same after the last point.
        period: the period of the function; then `xp` need not be in order, and `left` and `right`
            are ignored.

    Raises:
        ValueError: `xp` and `fp` are not sequences of one length; `x` is complex; `left` or `right`
            is another string.

    >>> import glassjax.numpy as jnp
    >>> interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 30.0]))
    Array(20., dtype=float32)
    """
    for name, end in (("left", left), ("right", right)):
        if isinstance(end, str) and end != "extrapolate":
            raise ValueError(f"interp: {name} must be a number or 'extrapolate', found {end!r}")
    extrapolates = isinstance(left, str), isinstance(right, str)
    first, last = (None if isinstance(end, str) else end for end in (left, right))
    return _interp(x, xp, fp, first, last, period, extrapolates)


@operation(static="extrapolates")
def _interp(
    x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, extrapolates: tuple[bool, bool]
) -> Any:
    if typeof(xp).ndim != 1 or typeof(xp).shape != typeof(fp).shape or not typeof(xp).size:
        raise ValueError(
            f"interp: xp and fp must be sequences of one length, found {typeof(xp)} and "
            f"{typeof(fp)}"
        )
    common = result_type(typeof(x), typeof(xp))
    x, xp = (to_inexact(cast(points, common)) for points in (x, xp))
    fp = to_inexact(fp)
    if typeof(x).dtype.kind == "c":
        raise ValueError(f"interp: x and xp must be real, found {typeof(x)}")
    if period is not None:
        x, xp, fp = _one_period(x, xp, fp, period)
    out = on_lines(x, xp, fp)
    if period is None and not extrapolates[0]:
        value = getitem(fp, 0) if left is None else left
        out = where(x < getitem(xp, 0), value, out)
    if period is None and not extrapolates[1]:
        value = getitem(fp, -1) if right is None else right
        out = where(x > getitem(xp, -1), value, out)
    return out


@written_in_jax("indexing")
def on_lines(x: Any, xp: Any, fp: Any) -> Any:
    """The values at `x` on the lines between points; the first and the last line continue."""
    count, shape = typeof(xp).shape[0], typeof(x).shape
    flat = stage2.reshape(x, (-1,))
    place = searchsorted(xp, flat, "right")
    end = lax.clamp(*stage2.promote(min_size(1, count - 1), place, count - 1))
    start = end - 1 if surely_at_least(count, 2) else lax.max(*stage2.promote(end - 1, 0))
    x_start, f_start = take_along(xp, start, 0), take_along(fp, start, 0)
    width = take_along(xp, end, 0) - x_start
    rise = take_along(fp, end, 0) - f_start
    # Where two points coincide, dividing by their distance would make derivatives NaN, too.
    is_point = lax.abs(width) <= np.spacing(finfo(typeof(xp).dtype).eps)
    part = (flat - x_start) / where(is_point, 1, width)
    return lax.reshape(where(is_point, f_start, f_start + part * rise), shape)


def _one_period(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """All points in one period, with the last point repeated before and the first after."""
    if typeof(period).ndim:
        raise ValueError(f"interp: period must be a number, found {typeof(period)}")
    period = lax.abs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    xp, fp = lax.sort_key_val(xp, fp)
    count = typeof(xp).shape[0]
    firsts = [lax.slice_in_dim(points, 0, 1) for points in (xp, fp)]
    lasts = [lax.slice_in_dim(points, count - 1, count) for points in (xp, fp)]
    before, behind = lasts[0] - period, firsts[0] + period
    xp = lax.concatenate([before, xp, behind], 0)
    return x, xp, lax.concatenate([lasts[1], fp, firsts[1]], 0)
