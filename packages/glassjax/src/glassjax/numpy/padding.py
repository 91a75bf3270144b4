"""Padding: more elements around an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax import lax
from glassjax.dimensions.expressions import Size, is_symbolic, max_size
from glassjax.errors.tracebacks import hiding_frames
from glassjax.numpy import reductions
from glassjax.numpy.dtypes import cast_into
from glassjax.numpy.elementwise import clip
from glassjax.numpy.shapes import broadcast_to, concatenate, ndim, shape
from glassjax.numpy.statistics import median
from glassjax.numpy.vectorize import apply_along_axis
from glassjax.runtime.array import Array, ArrayLike, is_value
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.settings.number_types import letter_of
from glassjax_stage2 import typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.promotion import cast, to_inexact
from glassjax_stage2.shaped_array import dialect, typeof_named

Width = tuple[int, int]  # numbers of elements before and after

# The options of numpy.pad that each mode takes, with their defaults.
OPTIONS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
}


@hiding_frames
def pad(
    array: ArrayLike, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any
) -> Array:
    """`array` padded with elements before and after its own along each axis.

    Arguments:
        array: the array.
        pad_width: the numbers of elements: one number for all, a pair (before, after) for all axes,
            a pair for each axis, or a dict from axes to these.
        mode: their values. "constant": `constant_values`, 0 by default; "edge": the element at the
            edge; "empty": unspecified; "linear_ramp": a ramp from the edge to `end_values`;
            "maximum", "mean", "median" and "minimum": of the `stat_length` elements at the edge, or
            of all; "reflect" and "symmetric": the mirrored elements without or with the
            edge, with `reflect_type` "odd" also reflected in value; "wrap": the elements from the
            other end. Or a function `(vector, width, axis, kwargs)` that returns a padded vector
            with its padding set.
        kwargs: the options of the mode.

    Raises:
        ValueError: widths are negative or do not match the array, or the mode has no such option.
        NotImplementedError: there is no such mode.

    >>> jnp.pad(jnp.array([1, 2]), (1, 2)), jnp.pad(jnp.array([1, 2, 3]), 2, mode="reflect")
    (Array([0, 1, 2, 0, 0], dtype=int32), Array([3, 2, 1, 2, 3, 2, 1], dtype=int32))
    """
    axes = typeof_named("pad: array", array).ndim
    widths = _pairs("pad_width", _from_dict(pad_width, axes), axes)
    if any(n < 0 for width in widths for n in width):
        raise ValueError(f"pad: pad_width must not be negative, found {pad_width}")
    if callable(mode):
        return _pad_by(array, widths, mode, kwargs)
    if mode not in OPTIONS:
        raise NotImplementedError(f"pad: mode must be one of {', '.join(OPTIONS)}, found {mode!r}")
    unknown = set(kwargs) - set(OPTIONS[mode])
    if unknown:
        raise ValueError(f"pad: mode {mode!r} does not take {', '.join(sorted(unknown))}")
    options = OPTIONS[mode] | kwargs
    if mode in ("constant", "linear_ramp"):
        ((option, values),) = options.items()
        if axes and typeof(array).dtype.names and is_value(values) and not _are_keys(values):
            raise ValueError(
                f"pad: the elements of array are keys, so {option} must be one, found "
                f"{shown(values)}"
            )
        if not ndim(values) if hasattr(values, "aval") else not np.shape(values):
            return _pad_with_values(array, values, widths=widths, mode=mode)
        elif not hasattr(values, "aval"):
            values = [tuple(row) for row in np.broadcast_to(np.asarray(values), (axes, 2)).tolist()]
        return _pad_with_values(array, list(values), widths=widths, mode=mode)
    if mode in ("maximum", "mean", "median", "minimum"):
        length = options["stat_length"]
        options = {"lengths": None if length is None else _pairs("stat_length", length, axes)}
        if length is not None and any(n < 1 for pair in options["lengths"] for n in pair):
            raise ValueError(f"pad: stat_length must be positive, found {length}")
    return _pad(array, widths=widths, mode=mode, **options)


def _from_dict(widths: Any, axes: int) -> Any:
    if not isinstance(widths, dict):
        return widths
    each: list[Any] = [(0, 0)] * axes
    for axis, width in widths.items():
        each[axis] = (width, width) if np.ndim(width) == 0 else tuple(width)
    return each


def _pairs(name: str, given: Any, axes: int) -> tuple[Width, ...]:
    """One pair of ints for each axis, from any of numpy's forms."""
    numbers = np.asarray(given)
    is_of_sizes = numbers.dtype == object and all(isinstance(x, Size) for x in numbers.flat)
    if letter_of(numbers.dtype) not in "iu" and numbers.size and not is_of_sizes:
        raise TypeError(f"pad: {name} must be ints, found {shown(given)}")
    try:
        each = np.broadcast_to(numbers if is_of_sizes else numbers.astype(int), (axes, 2))
    except ValueError:
        raise ValueError(
            f"pad: {name} must be a number, a pair, or a pair for each of {counted(axes, 'axis')}, "
            f"found {shown(given)}"
        ) from None
    return tuple((dialect().index(before), dialect().index(after)) for before, after in each)


def _are_keys(values: Any) -> bool:
    return typeof(values).dtype.names is not None


@operation(static=("widths", "mode"))
def _pad_with_values(x: Any, values: Any, *, widths: tuple[Width, ...], mode: str) -> Any:
    """Pad with one value, or with a pair of values for each axis."""
    if not widths:
        return x
    dtype = typeof(x)
    if not isinstance(values, list):
        if mode == "constant":
            return lax.pad(x, cast_into("pad", values, dtype), [(*width, 0) for width in widths])
        values = [(values, values)] * ndim(x)
    for axis, (width, pair) in enumerate(zip(widths, values, strict=True)):
        before, after = (cast_into("pad", pair[i], dtype) for i in range(2))
        if mode == "constant":
            for i, value in enumerate((before, after)):
                config = [(0, 0, 0)] * ndim(x)
                config[axis] = (width[0], 0, 0) if i == 0 else (0, width[1], 0)
                x = lax.pad(x, value, config)
        else:
            size = shape(x)[axis]
            first = lax.slice_in_dim(x, 0, 1, axis=axis)
            last = lax.slice_in_dim(x, size - 1, size, axis=axis)
            start = _ramp(before, first, width[0], axis)
            end = lax.rev(_ramp(after, last, width[1], axis), [axis])
            x = concatenate([start, x, end], axis)
    return x


def _ramp(end: Any, edge: Any, count: int, axis: int) -> Any:
    """Evenly spaced numbers from `end` up to `edge`, exclusive."""
    sizes = [count if i == axis else n for i, n in enumerate(shape(edge))]
    if not count:
        return lax.full(sizes, 0, typeof(edge).dtype)
    inexact = typeof(to_inexact(edge))
    begin, goal = cast(end, inexact), cast(edge, inexact)
    if count == 1:  # exactly the end value, even if the edge is NaN
        return cast(broadcast_to(begin, sizes), typeof(edge))
    index = cast(lax.broadcasted_iota(np.int32, sizes, axis), inexact)
    part = lax.div(index, cast(count, inexact))
    out = begin * (cast(1, inexact) - part) + goal * part
    if letter_of(typeof(edge).dtype) in "iu":
        out = lax.floor(out)
    return cast(out, typeof(edge))


@operation(static=("widths", "mode", "lengths", "reflect_type"))
def _pad(
    x: Any,
    *,
    widths: tuple[Width, ...],
    mode: str,
    lengths: tuple[Width, ...] | None = None,
    reflect_type: str = "even",
) -> Any:
    for axis, width in enumerate(widths):
        size = shape(x)[axis]
        if width == (0, 0):
            continue
        if not size and mode == "mean":  # the mean of no elements is NaN
            x = lax.pad(
                x,
                lax.convert_element_type(np.nan, typeof(x).dtype),
                _axis_pairs(axis, width, ndim(x)),
            )
            continue
        if not size and mode != "empty":
            raise ValueError(f"pad: mode {mode!r} cannot pad axis {axis}, which has no elements")
        if mode == "empty":
            x = lax.pad(x, cast(0, typeof(x)), _axis_pairs(axis, width, ndim(x)))
        elif mode in ("maximum", "mean", "median", "minimum"):
            x = _pad_with_statistic(
                x, axis, width, mode, None if lengths is None else lengths[axis]
            )
        elif reflect_type == "odd":
            x = _pad_turned(x, axis, width, 1 if mode == "reflect" else 0)
        elif is_symbolic((size, *width)):
            x = x[(*[slice(None)] * axis, _sources(size, width, mode))]
        else:
            # numpy computes the source of each element; runs of neighbors become one slice. The
            # array itself stays in one piece: XLA would copy slices of it.
            places = np.pad(np.arange(size), width, mode=mode)  # type: ignore[call-overload]
            before, after = (
                [_slice_run(x, axis, *run) for run in _runs(side)]
                for side in (places[: width[0]], places[width[0] + size :])
            )
            x = concatenate([*before, x, *after], axis)
    return x


def _sources(size: int, width: Width, mode: str) -> Any:
    """The position of the source of each element, where numpy cannot compute with the sizes."""
    places = lax.iota(np.int32, width[0] + size + width[1]) - width[0]
    if mode == "edge":
        return clip(places, 0, size - 1)
    if mode == "wrap":
        return places % size
    period = 2 * size - (2 if mode == "reflect" else 0)
    places = places % max_size(period, 1)
    return lax.min(places, 2 * size - (2 if mode == "reflect" else 1) - places)


def _axis_pairs(axis: int, width: Width, ndim: int) -> list[tuple[int, int, int]]:
    return [(*width, 0) if i == axis else (0, 0, 0) for i in range(ndim)]


def _runs(places: np.ndarray[Any, Any]) -> list[tuple[int, int, int]]:
    """Positions as runs `(start, count, step)` with step 1, -1 or 0."""
    runs = []
    begin = 0
    while begin < len(places):
        end = begin + 1
        step = int(places[end] - places[begin]) if end < len(places) else 1
        if abs(step) <= 1:
            while end < len(places) and places[end] - places[end - 1] == step:
                end += 1
        runs.append((int(places[begin]), end - begin, step if end - begin > 1 else 1))
        begin = end
    return runs


def _slice_run(x: Any, axis: int, start: int, count: int, step: int) -> Any:
    if step == 0:
        sizes = [count if i == axis else n for i, n in enumerate(shape(x))]
        return broadcast_to(lax.slice_in_dim(x, start, start + 1, axis=axis), sizes)
    if step == 1:
        return lax.slice_in_dim(x, start, start + count, axis=axis)
    return lax.rev(lax.slice_in_dim(x, start - count + 1, start + 1, axis=axis), [axis])


def _pad_turned(x: Any, axis: int, width: Width, skipped: int) -> Any:
    """Reflect the elements about the one at the edge, as often as needed."""
    before, after = width
    while before or after:
        size = shape(x)[axis]
        most = max(size - skipped, 1)
        left, right = min(before, most), min(after, most)
        first = lax.slice_in_dim(x, 0, 1, axis=axis)
        last = lax.slice_in_dim(x, size - 1, size, axis=axis)
        if size == 1 and skipped:
            start = broadcast_to(first, [left if i == axis else n for i, n in enumerate(shape(x))])
            end = broadcast_to(last, [right if i == axis else n for i, n in enumerate(shape(x))])
        else:
            start = lax.rev(lax.slice_in_dim(x, skipped, skipped + left, axis=axis), [axis])
            limit = size - skipped
            end = lax.rev(lax.slice_in_dim(x, limit - right, limit, axis=axis), [axis])
            start, end = (
                lax.mul(edge, cast(2, typeof(x))) - part
                for edge, part in ((first, start), (last, end))
            )
        x = concatenate([start, x, end], axis)
        before, after = before - left, after - right
    return x


def _pad_with_statistic(x: Any, axis: int, width: Width, mode: str, lengths: Width | None) -> Any:
    size = shape(x)[axis]
    statistics: dict[str, Callable[..., Any]] = {
        "maximum": reductions.max,
        "mean": reductions.mean,
        "minimum": reductions.min,
        "median": median,
    }
    first, last = (size, size) if lengths is None else (min(n, size) for n in lengths)
    parts = []
    for count, start in ((first, 0), (last, size - last)):
        part = lax.slice_in_dim(x, start, start + count, axis=axis)
        found = statistics[mode](part, axis=axis, keepdims=True)
        if letter_of(typeof(x).dtype) in "iu" and mode in ("mean", "median"):
            found = lax.round(found, lax.RoundingMethod.TO_NEAREST_EVEN)
        parts.append(cast(found, typeof(x)))
    sides = [
        broadcast_to(part, [count if i == axis else n for i, n in enumerate(shape(x))])
        for part, count in zip(parts, width, strict=True)
    ]
    return concatenate([sides[0], x, sides[1]], axis)


def _pad_by(
    x: Any, widths: Sequence[Width], function: Callable[..., Any], kwargs: dict[str, Any]
) -> Any:
    """Pad with zeros, which a function then sets in each vector along each axis."""
    x = lax.pad(x, cast(0, typeof(x)), [(*width, 0) for width in widths])
    for axis, width in enumerate(widths):
        x = apply_along_axis(function, axis, x, width, axis, kwargs)
    return x
