"""`x[...]`: indexing.

Static parts of an index, such as ints and slices, become slices; traced parts become gathers. In
eager evaluation an int counts as traced, so that all ints share one program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minijax.errors.tracebacks import hide_frames
from minijax.lax import promoting as lax
from minijax.lax.indexing.dimension_numbers import GatherScatterMode
from minijax.lax.indexing.indices import as_index, wrapped_index
from minijax.numpy.indexing.dynamic_slices import StartIsUnknown
from minijax.numpy.indexing.parsing import (
    NEW_AXIS,
    Moving,
    Operand,
    Pattern,
    Slice,
    axes_of,
    bounded,
    ints_as_operands,
    is_inside,
    mask_fits,
    parse_index,
    pattern_of,
    require_elements,
    require_inside,
    starts_as_operands,
)
from minijax.numpy.indexing.plan import indices_of, plan_index
from minijax.runtime.array import Array
from minijax.runtime.current import is_evaluating
from minijax.runtime.operation import operation
from minijax.settings.config import Switch
from minijax.settings.key_types import no_numbers
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.shaped_array import Shape
from minijax_stage3.array import new_buffer


def getitem(x: Any, index: Any) -> Array:
    """`x[index]`."""
    evaluating = is_evaluating()
    try:
        if type(index) is int and evaluating and not Switch.used:
            shape = typeof(x).shape
            if shape:
                return _element(x, bounded(index, shape[0]))
        is_mask = type(index) in (np.ndarray, Array) and index.dtype == np.bool_
        if is_mask and type(x) is Array and x.dtype not in no_numbers and not x.is_placed:
            return _masked(x, np.asarray(index))
        return get(x, index)
    except Exception as error:
        hide_frames(error)
        raise


@operation
def _element(x: Any, index: Any) -> Any:
    return lax.dynamic_index_in_dim(x, index, 0, keepdims=False, allow_negative_indices=False)


def get(
    x: Any,
    index: Any,
    *,
    mode: GatherScatterMode = GatherScatterMode.PROMISE_IN_BOUNDS,
    fill_value: Any = None,
    wraps: bool = True,
    **promises: bool,
) -> Any:
    """`x[index]`, with the options of `x.at[index].get`."""
    try:
        x, entries, operands = parse_index(x, index)
    except StartIsUnknown as found:
        x, index, _ = found.window(x, axes_of)
        return get(x, index, mode=mode, fill_value=fill_value, wraps=wraps, **promises)
    shape = typeof(x).shape
    if not operands:
        require_elements(entries, shape)
    # A dynamic slice does what is promised, and so does it if nothing can be outside.
    promises_bounds = mode is GatherScatterMode.PROMISE_IN_BOUNDS
    if promises_bounds:
        require_inside(entries, shape)
    if wraps and (promises_bounds or (not operands and is_inside(entries, shape))):
        moved, known = starts_as_operands(entries, operands, shape)
        pattern = pattern_of(tuple(moved))
        if pattern.is_basic:
            return cut_out(x, *known, pattern=pattern)
    moved, known = ints_as_operands(entries, operands)
    return _gathered(
        x,
        *known,
        pattern=pattern_of(tuple(moved)),
        mode=mode,
        fill_value=fill_value,
        wraps=wraps,
        **promises,
    )


def _masked(x: Array, mask: np.ndarray[Any, Any]) -> Any:
    """The elements that a concrete boolean mask selects, computed without compiling a program."""
    shape = x.shape[: mask.ndim]
    if not mask_fits(mask.shape, shape):
        raise IndexError(
            f"a boolean index must have the shape of the axes that it indexes: found {mask.shape}, "
            f"for {x.aval}"
        )
    chosen = np.asarray(x)[mask if mask.shape == shape else np.nonzero(mask)]
    aval = ShapedArray(chosen.shape, x.dtype, x.weak_type)
    return Array(new_buffer(chosen, aval), aval)


@operation(static="pattern")
def cut_out(x: Any, *operands: Any, pattern: Pattern) -> Any:
    """The elements at an index without arrays: a slice, without the axes of ints."""
    (starts, sizes), steps = window_of(typeof(x).shape, operands, pattern)
    strides = [abs(step) for step in steps]
    if max(strides, default=1) > 1 and all(type(start) is int for start in starts):
        limits = [start + size for start, size in zip(starts, sizes, strict=True)]
        out = lax.slice(x, starts, limits, strides)
    else:
        out = take_window(x, starts, sizes)
        if max(strides, default=1) > 1:
            out = lax.slice(out, [0] * len(strides), typeof(out).shape, strides)
    out = reverse(out, [axis for axis, step in enumerate(steps) if step < 0])
    return lax.reshape(out, shape_of_cut(pattern))


def window_of(
    shape: Shape, operands: Sequence[Any], pattern: Pattern
) -> tuple[tuple[list[Any], list[int]], list[int]]:
    """Return the start, extent and steps of the elements of an index."""
    given = iter(operands)
    starts: list[Any] = []
    sizes, steps = [], []
    for entry in pattern.entries:
        if entry is NEW_AXIS:
            continue
        if isinstance(entry, Operand):
            starts.append(wrapped_index(as_index(next(given)), shape[len(starts)]))
        elif isinstance(entry, Moving):
            starts.append(next(given))
        else:
            starts.append(entry.lowest if isinstance(entry, Slice) else entry)
        has_size = isinstance(entry, Slice | Moving)
        sizes.append(entry.extent if has_size else 1)  # type: ignore[union-attr]
        steps.append(entry.step if has_size else 1)  # type: ignore[union-attr]
    return (starts, sizes), steps


def take_window(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The part of `x` from `starts` on, a static slice if these are known."""
    if tuple(sizes) == typeof(x).shape:
        return x
    if all(type(start) is int for start in starts):
        limits = [start + size for start, size in zip(starts, sizes, strict=True)]
        return lax.slice(x, starts, limits)
    return lax.dynamic_slice(x, list(starts), sizes, allow_negative_indices=False)


def shape_of_cut(pattern: Pattern) -> Shape:
    """The shape of the result of an index without arrays."""
    return tuple(
        1 if entry is NEW_AXIS else entry.size
        for entry in pattern.entries
        if entry is NEW_AXIS or isinstance(entry, Slice | Moving)
    )


def reverse(x: Any, axes: Sequence[int]) -> Any:
    return lax.rev(x, axes) if axes else x


@operation(
    static=("pattern", "mode", "fill_value", "wraps", "unique_indices", "indices_are_sorted")
)
def _gathered(
    x: Any,
    *operands: Any,
    pattern: Pattern,
    mode: GatherScatterMode,
    fill_value: Any,
    wraps: bool,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
) -> Any:
    aval = typeof(x)
    plan = plan_index(pattern, aval.shape, *[typeof(operand).shape for operand in operands])
    if 0 in plan.shape:
        return lax.full(plan.shape, 0, aval.dtype)
    if plan.columns:
        x = lax.gather(
            x,
            indices_of(plan, aval.shape, operands, wraps),
            plan.numbers,
            plan.slice_sizes,
            unique_indices=unique_indices or plan.is_unique,
            indices_are_sorted=indices_are_sorted or plan.is_unique,
            mode=mode,
            fill_value=fill_value,
        )
    return lax.reshape(reverse(x, plan.reversed_axes), plan.shape)


def iterate(x: Any) -> Iterator[Array]:
    """An iterator over the elements of `x` along its first axis.

    Raises:
        TypeError: `x` is a scalar.
    """
    aval = typeof(x)
    if not aval.ndim:
        raise TypeError(f"iteration over {aval}, a scalar, which has no elements to iterate over")
    size = aval.shape[0]
    if not is_evaluating():
        return (getitem(x, i) for i in range(size))
    chunks = range(0, size, CHUNK)
    return (row for i in chunks for row in _rows(x, i, min(CHUNK, size - i)))


CHUNK = 100  # so many elements are cut out by one program


@operation(static="count")
def _rows(x: Any, start: Any, count: int) -> list[Any]:
    x = lax.dynamic_slice_in_dim(x, start, count, allow_negative_indices=False)
    return [lax.index_in_dim(x, i, keepdims=False) for i in range(count)]


__all__: list[str] = []
