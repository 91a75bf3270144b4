"""Indexing: `x[...]`, `x.at[...]`, `take` and `where`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from glassjax import lax
from glassjax.dimensions.expressions import Size, is_symbolic, max_size, surely_at_least
from glassjax.dimensions.slices import slice_elements
from glassjax.errors import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    NonConcreteSliceError,
)
from glassjax.errors.tracebacks import hide_frames
from glassjax.lax.dynamic_slicing import slice_at
from glassjax.lax.gathering import GatherScatterMode, as_index, index_dtype, wrapped_index
from glassjax.numpy.creation import asarray
from glassjax.numpy.shapes import expand_dims
from glassjax.runtime.array import Array, is_evaluating, is_value
from glassjax.runtime.nesting import nests_calls
from glassjax.runtime.operation import operation
from glassjax.settings.config import Switch
from glassjax.settings.names import counted, not_given
from glassjax.settings.number_types import letter_of, no_numbers
from glassjax.settings.options import static_indices_option
from glassjax.tree_util import register_pytree_node
from glassjax_stage2 import ShapedArray, Tracer, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import one_int
from glassjax_stage2.promotion import broadcast_shapes, cast
from glassjax_stage2.shaped_array import Shape, dialect, typeof_named
from glassjax_stage2.tracer import unknown
from glassjax_stage3.array import new_buffer

# `ds`: slices of a static size, whose start may be traced.


@dataclass(frozen=True)
class Slice:
    """An index: every `stride`-th one of the `size` elements from `start` on.

    Attributes:
        start: the first index, an int or a scalar array of integers.
        size: the number of elements among which every `stride`-th one is taken.
        stride: 1 or more.
    """

    start: Any
    size: int
    stride: int = 1


register_pytree_node(
    Slice,
    lambda each: ((each.start,), (each.size, each.stride)),
    lambda known, children: Slice(*children, *known),
)


def ds(start: Any, size: Any = not_given, stride: int | None = None) -> slice | Slice:
    """An index of `size` elements from `start` on, which may be traced.

    Arguments:
        start: the first index, an int or a scalar array of integers; None for a whole axis. Without
            `size`, it is the size, and the first index is 0.
        size: an int, 0 or more; in the index map of a kernel, also a traced one.
        stride: an int, 1 or more: the distance of the elements to take among these.

    Returns:
        An index for arrays, for `x.at[...]` and for references. As with `lax.dynamic_slice`, a
        slice that would end behind the array starts earlier.

    Raises:
        TypeError: `start` is not an integer, or `size` or `stride` not an int.
        ValueError: `size` is negative, or `stride` less than 1.

    >>> pairs = glassjax.jit(lambda x, i: x[glassjax.ds(i, 2)])
    >>> pairs(jnp.arange(10), 4)
    Array([4, 5], dtype=int32)
    """
    if start is None:
        return slice(None)
    if size is not_given:
        start, size = 0, start
    size = size if isinstance(size, Tracer) else one_int("ds: size", size)
    stride = one_int("ds: stride", 1 if stride is None else stride)
    if (not isinstance(size, Tracer) and size < 0) or stride < 1:
        raise ValueError(
            f"ds: size must be at least 0 and stride at least 1, found {size} and {stride}"
        )
    if not isinstance(start, int | np.integer):
        aval = typeof_named("ds: start", start)
        if aval.shape or letter_of(aval.dtype) not in "iu":
            raise TypeError(f"ds: start must be a scalar integer, found {aval}")
    return Slice(start, size, stride)


def as_slice(part: Slice) -> Slice | slice:
    """A slice of Python, if the start is an int."""
    if not isinstance(part.start, int | np.integer):
        return part
    start = int(part.start)
    return slice(start, start + part.size, part.stride)


class StartIsUnknown(Exception):
    """An index has a `Slice` whose start is an array.

    Attributes:
        parts: the index, one part for each axis, and None for each new one.
    """

    def __init__(self, parts: Sequence[Any]):
        super().__init__()
        self.parts = parts

    def window(self, x: Any, axes_of: Any) -> tuple[Any, tuple[Any, ...], list[Any]]:
        """Cut from `x` what these slices may take.

        Arguments:
            x: the array.
            axes_of: the number of axes that a part indexes.

        Returns:
            The window, the index of it that is left, and where it starts along each axis of `x`.
        """
        shape = typeof(x).shape
        slices = self._by_axis(axes_of)
        starts = [asarray(slices[i].start) if i in slices else 0 for i in range(len(shape))]
        sizes = [min(slices[i].size, n) if i in slices else n for i, n in enumerate(shape)]
        left = [
            slice(None, None, part.stride) if isinstance(part, Slice) else part
            for part in self.parts
        ]
        return slice_at(x, starts, sizes, True), tuple(left), starts

    def is_inside(self, x: Any, axes_of: Any) -> Any:
        """A boolean: all of these slices lie within their axes of `x`, or take the whole axis."""
        shape, inside = typeof(x).shape, asarray(True)
        for axis, each in self._by_axis(axes_of).items():
            if each.size != shape[axis]:
                start = lax.convert_element_type(asarray(each.start), np.int32)
                inside &= (start >= 0) & (start <= shape[axis] - each.size)
        return inside

    def _by_axis(self, axes_of: Any) -> dict[int, Slice]:
        axis, found = 0, {}
        for part in self.parts:
            if isinstance(part, Slice):
                found[axis] = part
            axis += axes_of(part)
        return found


# Parsing of an index `x[...]` into static entries and dynamic operands.
#
# Each part of an index becomes a static entry, and its traced values become operands. Equal
# entries share one program, whatever the operands.


class StaticSlice(NamedTuple):
    """An index entry: `size` elements of an axis from `start` on, in steps of `step`.

    Attributes:
        given_extent: the number of elements to cut out before steps are taken, if symbolic.
    """

    start: int
    size: int
    step: int
    given_extent: int | None = None

    @property
    def lowest(self) -> int:
        """The first element, counted forwards."""
        if self.step > 0:
            return self.start
        # A symbolic size may be 0, with any start.
        return max_size(self.start + (max_size(self.size, 1) - 1) * self.step, 0)

    @property
    def extent(self) -> int:
        """The number of elements from the first to the last, or to the next one's place."""
        if self.given_extent is not None:
            return self.given_extent
        return _extent(self.size, self.step)


def _extent(size: int, step: int) -> int:
    return max_size((size - 1) * abs(step) + 1, 0)


class Moving(NamedTuple):
    """An index entry: a slice whose lowest index is an operand known to be in bounds."""

    size: int
    step: int

    @property
    def extent(self) -> int:
        """The number of elements from the first to the last."""
        return _extent(self.size, self.step)


class Operand(NamedTuple):
    """An index entry: traced integers with this number of axes."""

    ndim: int


NEW_AXIS = None
Entry = None | int | StaticSlice | Moving | Operand


class Pattern:
    """The entries of an index: one for each axis of the array, and None for each new axis.

    Equal entries share one Pattern, so that it is cheap to look up.
    """

    __slots__ = ("entries", "is_basic", "is_static")

    def __init__(self, entries: tuple[Entry, ...]):
        self.entries = entries
        self.is_static = not any(isinstance(entry, Operand) for entry in entries)
        self.is_basic = not any(isinstance(entry, Operand) and entry.ndim for entry in entries)


@lru_cache(maxsize=4096)
def pattern_of(entries: tuple[Entry, ...]) -> Pattern:
    return Pattern(entries)


def parse_index(x: Any, index: Any) -> tuple[Any, list[Entry], list[Any]]:
    """Parse `index`.

    Returns:
        The array, with one more axis for each boolean scalar in the index; the entries, one for
        each axis of it and None for each new axis; and the operands, one for each `Operand`.

    Raises:
        TypeError: the index holds something that is not an index.
        StartIsUnknown: the start of a slice is an array.
        IndexError: it does not fit the array, or is traced where it must be static.
    """
    shape = typeof(x).shape
    parts = _expand_ellipsis(_parts_of(index), shape)
    entries: list[Entry] = []
    operands: list[Any] = []
    axis = 0  # the next axis of the indexed array
    for position, part in enumerate(parts):
        if part is None:
            entries.append(NEW_AXIS)
        elif isinstance(part, slice):
            entries.append(_slice_entry(part, shape[axis], position))
            axis += 1
        elif type(part) is int and _stays_int(part, shape[axis]):
            entries.append(part)
            axis += 1
        elif isinstance(part, Slice):
            raise StartIsUnknown(parts)
        elif typeof(part).dtype == np.bool_:
            mask = _known_mask(part)
            if not mask.ndim:
                x = expand_dims(x, len([e for e in entries if e is not NEW_AXIS]))
            elif not mask_fits(mask.shape, shape[axis : axis + mask.ndim]):
                raise IndexError(
                    f"a boolean index must have the shape of the axes that it indexes: found "
                    f"{mask.shape} at position {position}, for axes of shape "
                    f"{shape[axis : axis + mask.ndim]} of {typeof(x)}"
                )
            axis += mask.ndim
            for numbers in np.nonzero(mask) if mask.ndim else [np.arange(int(mask))]:
                entries.append(Operand(1))
                operands.append(numbers)
        else:
            entries.append(Operand(typeof(part).ndim))
            operands.append(part)
            axis += 1
    return x, entries, operands


def _parts_of(index: Any) -> list[Any]:
    if isinstance(index, list):
        raise TypeError(
            "a list is not an index, for it could be meant as a tuple or as an array: write "
            f"x[tuple(...)] or x[jnp.array(...)], found {shown(index)}"
        )
    parts = index if isinstance(index, tuple) else (index,)
    return [_canonical(part) for part in parts]


def _canonical(part: Any) -> Any:
    """A part of an index: None, Ellipsis, a slice, an int, an array of integers or booleans."""
    if part is None or part is Ellipsis or type(part) is int or isinstance(part, slice):
        return part
    if isinstance(part, np.integer):
        return int(part)
    if isinstance(part, Slice):
        one_int("ds: size", part.size)
        return as_slice(part)
    if isinstance(part, list | tuple | range):
        part = _array_of(part)
    if isinstance(part, str) or not is_value(part):
        raise TypeError(
            "an index consists of integers, slices, arrays of integers or booleans, None and "
            f"`...`; found {shown(part)} of type {type(part).__name__}"
        )
    dtype = typeof(part).dtype
    if letter_of(dtype) not in "biu" or dtype.itemsize == 0:
        raise TypeError(f"an index must be of integers or booleans, found {typeof(part)}")
    return part


def _array_of(part: Any) -> Any:
    if not part:
        return np.zeros(0, np.int32)
    if all(isinstance(item, int | np.integer | bool) for item in part):
        return np.asarray(part)
    return asarray(list(part))


def axes_of(part: Any) -> int:
    """Return the number of axes that a part of an index consumes."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, slice | int | Slice) and not isinstance(part, bool):
        return 1
    aval = typeof(part)
    return aval.ndim if aval.dtype == np.bool_ else 1


def _expand_ellipsis(parts: list[Any], shape: Shape) -> list[Any]:
    """The parts with a full slice for each axis that is not mentioned."""
    taken = sum(map(axes_of, parts))
    if taken > len(shape):
        raise IndexError(
            f"too many indices: an array of shape {shape} has {counted(len(shape), 'axis')}, but "
            f"{taken} were indexed"
        )
    places = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can have one ellipsis (`...`) only")
    place = places[0] if places else len(parts)
    whole = [slice(None)] * (len(shape) - taken)
    return [*parts[:place], *whole, *parts[place + 1 :]]


def _stays_int(index: int, size: Size) -> bool:
    """Return False if the index may be beyond a symbolic size, so it is bounded when it is used."""
    if type(size) is int:
        return True
    return surely_at_least(size, -index if index < 0 else index + 1)


def _slice_entry(part: slice, size: int, position: int) -> StaticSlice:
    if part.start is None and part.stop is None and part.step is None:
        return StaticSlice(0, size, 1)
    try:
        bounds = slice(*[_static_bound(bound) for bound in (part.start, part.stop, part.step)])
    except ConcretizationTypeError:
        raise NonConcreteSliceError(
            "the bounds of a slice decide a shape, so they must be known when the function is "
            f"traced; found {part} at position {position}. Where the size is known, "
            "lax.dynamic_slice takes a start that is not; or select by where(condition, x, y)."
        ) from None
    if is_symbolic((size, bounds.start, bounds.stop, bounds.step)):
        return StaticSlice(*slice_elements(bounds, size))
    start, stop, step = bounds.indices(size)
    count = len(range(start, stop, step))
    # Normalized, so that slices of the same elements are one entry, and share a program.
    return StaticSlice(start if count else 0, count, step if count > 1 else 1)


def _static_bound(bound: Any) -> int | None:
    if bound is None:
        return None
    try:
        return dialect().index(bound)
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"the bounds of a slice must be integers, found {shown(bound)}") from None


def known_value(x: Any) -> Any:
    """The value of `x` if it is known, else None; an array without elements is known."""
    known = x.concrete() if isinstance(x, Tracer) else x
    if known is not unknown and not isinstance(known, Tracer):
        return known
    aval = typeof(x)
    return np.zeros(aval.shape, aval.dtype) if 0 in aval.shape and aval.dtype.kind != "V" else None


def why_unknown(x: Any) -> str:
    """The reason that a message gives if `known_value` of a tracer is None."""
    reason: str = x.why_unknown()
    return reason


def _known_mask(part: Any) -> np.ndarray[Any, Any]:
    known = known_value(part)
    if known is None:
        raise NonConcreteBooleanIndexError(
            f"an index of booleans decides a shape, so it must be known when the function is "
            f"traced; found {typeof(part)}, {why_unknown(part)}.\n"
            "Use where(mask, x, y) to choose elements, x.at[...] with where, or "
            "nonzero(mask, size=...) for a known number of indices."
        )
    return np.asarray(known)


def mask_fits(mask: Shape, shape: Shape) -> bool:
    """Return True if booleans of this shape can index axes of `shape`: equal sizes, or 0."""
    return len(mask) == len(shape) and all(m in (0, n) for m, n in zip(mask, shape, strict=True))


def bounded(index: int, size: int) -> int:
    """A Python int as an index of an axis, moved inside; negative ones count from the end.

    Raises:
        IndexError: the axis is empty.
    """
    if not size:
        raise IndexError(f"index {index} is out of bounds for an axis of size 0")
    return min(max(index + size if index < 0 else index, 0), size - 1)


def is_inside(entries: Sequence[Entry], shape: Shape, wraps: bool = True) -> bool:
    """Return True if all ints among the entries are in bounds."""
    axes = [entry for entry in entries if entry is not NEW_AXIS]
    return all(
        (-size if wraps else 0) <= entry < size
        for entry, size in zip(axes, shape, strict=True)
        if isinstance(entry, int)
    )


def require_elements(entries: Sequence[Entry], shape: Shape) -> None:
    """Raise IndexError if an int indexes an empty axis."""
    axes = [entry for entry in entries if entry is not NEW_AXIS]
    for entry, size in zip(axes, shape, strict=True):
        if isinstance(entry, int):
            bounded(entry, size)


def require_inside(entries: Sequence[Entry], shape: Shape) -> None:
    """Raise IndexError if an int is out of bounds, and `check_static_indices` is set."""
    if not Switch.used or not static_indices_option.value or is_inside(entries, shape):
        return
    axes = [entry for entry in entries if entry is not NEW_AXIS]
    for axis, (entry, size) in enumerate(zip(axes, shape, strict=True)):
        if isinstance(entry, int) and not -size <= entry < size:
            raise IndexError(
                f"index {entry} is out of bounds for axis {axis} with size {size}, and "
                "check_static_indices is set; x.at[...].get(mode='clip') reads the nearest element"
            )


def ints_as_operands(
    entries: Sequence[Entry], operands: Sequence[Any]
) -> tuple[list[Entry], list[Any]]:
    """Equivalent entries with ints among the operands, so that all share one program."""
    # Beyond 32 bits, an int is out of bounds anyway, and indices have no more.
    entries = [
        min(max(entry, -(2**31)), 2**31 - 1) if isinstance(entry, int) else entry
        for entry in entries
    ]
    if not is_evaluating():
        return entries, list(operands)
    given = iter(operands)
    moved: list[Entry] = []
    known: list[Any] = []
    for entry in entries:
        if isinstance(entry, int):
            moved.append(Operand(0))
            known.append(entry)
        else:
            moved.append(entry)
            if isinstance(entry, Operand):
                known.append(next(given))
    return moved, known


def starts_as_operands(
    entries: Sequence[Entry], operands: Sequence[Any], shape: Shape
) -> tuple[list[Entry], list[Any]]:
    """As `ints_as_operands`, with ints moved inside and the starts of slices among the operands."""
    sizes, given = iter(shape), iter(operands)
    moved: list[Entry] = []
    known: list[Any] = []
    evaluating = is_evaluating()
    for entry in entries:
        if entry is NEW_AXIS:
            moved.append(entry)
            continue
        size = next(sizes)
        if isinstance(entry, int):
            index = bounded(entry, size)
            moved.append(Operand(0) if evaluating else index)
            known += [index] if evaluating else []
        elif isinstance(entry, StaticSlice) and evaluating and entry.size < size:
            moved.append(Moving(entry.size, entry.step))
            known.append(entry.lowest)
        else:
            moved.append(entry)
            if isinstance(entry, Operand):
                known.append(next(given))
    return moved, known


# Plans: how an index `x[...]` is gathered, and scattered.


class Column(NamedTuple):
    """The indices of `gather` for one axis of the array.

    Attributes:
        axis: the axis.
        entry: an int, a `StaticSlice`, or an `Operand`.
        dims: the axes of the indices along which it varies.
    """

    axis: int
    entry: int | StaticSlice | Operand
    dims: tuple[int, ...]


class IndexPlan(NamedTuple):
    """A plan to gather an index from an array, or scatter into it.

    Attributes:
        numbers: the dimension numbers of `gather`, and of `scatter`.
        slice_sizes: the sizes of one slice.
        columns: the columns of the indices.
        index_shape: the shape of the indices, without their last axis.
        gathered_shape: the shape of the result of `gather`.
        reversed_axes: the axes of that result that a negative step reverses.
        shape: the shape of the final result, including new axes.
        is_unique: whether no two slices can overlap.
    """

    numbers: lax.GatherDimensionNumbers
    slice_sizes: Shape
    columns: tuple[Column, ...]
    index_shape: Shape
    gathered_shape: Shape
    reversed_axes: tuple[int, ...]
    shape: Shape
    is_unique: bool

    @property
    def is_sorted(self) -> bool:
        """Return True if slices begin in ascending order; a negative step reverses them."""
        steps = [each.entry.step for each in self.columns if isinstance(each.entry, StaticSlice)]
        return self.is_unique and all(step > 0 for step in steps)


@lru_cache(maxsize=4096)
def plan_index(pattern: Pattern, shape: Shape, *operand_shapes: Shape) -> IndexPlan:
    """Plan how to gather an index of this pattern from an array of this shape.

    Arrays in the index share axes of the result. These take the position of the arrays in the index
    if the arrays are adjacent, and otherwise come first. Beside arrays, an int counts as one.
    """
    entries = pattern.entries
    batch = () if pattern.is_basic else broadcast_shapes(*operand_shapes)
    pointing = [i for i, entry in enumerate(entries) if isinstance(entry, Size | Operand)]
    begin = None
    if not pattern.is_basic:
        are_adjacent = pointing[-1] - pointing[0] == len(pointing) - 1
        begin = pointing[0] if are_adjacent else -1

    # The axes of the result, in order: batch axes, slices and new axes.
    order: list[Any] = [*batch] if begin == -1 else []
    for position, entry in enumerate(entries):
        if position == begin:
            order += batch
        if entry is NEW_AXIS or isinstance(entry, StaticSlice):
            order.append(entry)
    full_shape = tuple(
        1 if part is NEW_AXIS else part.size if isinstance(part, StaticSlice) else part
        for part in order
    )
    kept = [part for part in order if part is not NEW_AXIS]
    gathered_shape = tuple(part.size if isinstance(part, StaticSlice) else part for part in kept)
    windows = [i for i, part in enumerate(kept) if _is_window(part)]
    varying = [i for i, part in enumerate(kept) if not _is_window(part)]
    dims_of_batch = tuple(
        dim for dim, i in enumerate(varying) if not isinstance(kept[i], StaticSlice)
    )
    dims_of_steps = iter(
        [(dim,) for dim, i in enumerate(varying) if isinstance(kept[i], StaticSlice)]
    )

    columns, slice_sizes, collapsed = [], [], []
    axes = count()
    for entry in entries:
        if entry is NEW_AXIS:
            continue
        axis = next(axes)
        if _is_window(entry):
            assert isinstance(entry, StaticSlice)
            slice_sizes.append(entry.size)
            if entry.lowest:
                columns.append(Column(axis, entry.lowest, ()))
            continue
        slice_sizes.append(1)
        collapsed.append(axis)
        if isinstance(entry, StaticSlice):
            columns.append(Column(axis, entry, next(dims_of_steps)))
        else:
            dims = dims_of_batch if isinstance(entry, Operand) else ()
            columns.append(Column(axis, entry, dims))  # type: ignore[arg-type]
    return IndexPlan(
        lax.GatherDimensionNumbers(
            tuple(windows), tuple(collapsed), tuple(column.axis for column in columns)
        ),
        tuple(slice_sizes),
        tuple(columns),
        tuple(gathered_shape[i] for i in varying),
        gathered_shape,
        tuple(i for i in windows if kept[i].step < 0),
        full_shape,
        pattern.is_basic,
    )


def _is_window(part: Any) -> bool:
    """Return True if a part of the index is cut out as a whole."""
    return isinstance(part, StaticSlice) and abs(part.step) == 1


def indices_of(plan: IndexPlan, shape: Shape, operands: Sequence[Any], wraps: bool) -> Any:
    """The indices of `gather`: one column for each axis in which slices do not begin at 0.

    Arguments:
        plan: the plan.
        shape: of the array.
        operands: the integers for each `Operand`.
        wraps: whether negative integers count from the end.
    """
    given = iter(operands)
    target = index_dtype(*operands)
    # JAX takes indices modulo 2**32.
    is_small = nests_calls() and not any(surely_at_least(size, 2**31) for size in shape)
    narrow = ShapedArray((), np.int32) if is_small else target
    columns = []  # with their axes in the indices
    for axis, item, dims in plan.columns:
        if isinstance(item, Operand):
            column = as_index(next(given), target)
            column = wrapped_index(column, shape[axis]) if wraps else column
            dims = dims[len(dims) - item.ndim :]
        elif isinstance(item, StaticSlice):
            steps = lax.iota(narrow.dtype, item.size) * item.step
            column = steps + item.start
        else:
            column = cast(item + shape[axis] if wraps and item < 0 else item, narrow)
        columns.append((column, dims))
    columns = [(cast(column, narrow), dims) for column, dims in columns]
    shape = *plan.index_shape, 1
    filled = [lax.broadcast_in_dim(column, shape, dims) for column, dims in columns]
    if not filled:  # whole axes
        return lax.full((*plan.index_shape, 0), 0, narrow.dtype)
    return filled[0] if len(filled) == 1 else lax.concatenate(filled, len(plan.index_shape))


# `x[...]`: indexing.
#
# Static parts of an index, such as ints and slices, become slices; traced parts become gathers.
# In eager evaluation an int counts as traced, so that all ints share one program.


def getitem(x: Any, index: Any) -> Array:
    """`x[index]`."""
    evaluating = is_evaluating()
    try:
        if type(index) is int and evaluating and not Switch.used:
            shape = typeof(x).shape
            if shape:
                return _take_element(x, bounded(index, shape[0]))
        is_mask = type(index) in (np.ndarray, Array) and index.dtype == np.bool_
        if is_mask and type(x) is Array and x.dtype not in no_numbers and not x.is_placed:
            return _masked(x, np.asarray(index))
        return get(x, index)
    except Exception as error:
        hide_frames(error)
        raise


@operation
def _take_element(x: Any, index: Any) -> Any:
    # `bounded` has counted a negative index from the end already.
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
    # A dynamic slice needs indices in bounds: promised, or certain from the sizes.
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
    has_strides = any(stride != 1 for stride in strides)
    if has_strides and all(isinstance(start, Size) for start in starts):
        limits = [start + size for start, size in zip(starts, sizes, strict=True)]
        out = lax.slice(x, starts, limits, strides)
    else:
        # StableHLO's dynamic_slice has no strides, so they are taken from the window.
        out = take_window(x, starts, sizes)
        if has_strides:
            out = lax.slice(out, [0] * len(strides), typeof(out).shape, strides)
    out = reverse(out, [axis for axis, step in enumerate(steps) if step < 0])
    axes = [entry for entry in pattern.entries if entry is not NEW_AXIS]
    out = lax.squeeze(out, [i for i, entry in enumerate(axes) if isinstance(entry, Size | Operand)])
    cut = [entry for entry in pattern.entries if not isinstance(entry, Size | Operand)]
    return lax.expand_dims(out, [i for i, entry in enumerate(cut) if entry is NEW_AXIS])


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
            starts.append(entry.lowest if isinstance(entry, StaticSlice) else entry)
        has_size = isinstance(entry, StaticSlice | Moving)
        sizes.append(entry.extent if has_size else 1)  # type: ignore[union-attr]
        steps.append(entry.step if has_size else 1)  # type: ignore[union-attr]
    return (starts, sizes), steps


def take_window(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The part of `x` from `starts` on, a static slice if these are known."""
    if tuple(sizes) == typeof(x).shape:
        return x
    if all(isinstance(start, Size) for start in starts):
        limits = [start + size for start, size in zip(starts, sizes, strict=True)]
        return lax.slice(x, starts, limits)
    return slice_at(x, list(starts), sizes, False)


def shape_of_cut(pattern: Pattern) -> Shape:
    """The shape of the result of an index without arrays."""
    return tuple(
        1 if entry is NEW_AXIS else entry.size
        for entry in pattern.entries
        if entry is NEW_AXIS or isinstance(entry, StaticSlice | Moving)
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
        return lax.full_like(x, 0, shape=plan.shape)
    if plan.columns:
        x = lax.gather(
            x,
            indices_of(plan, aval.shape, operands, wraps),
            plan.numbers,
            plan.slice_sizes,
            unique_indices=unique_indices or plan.is_unique,
            indices_are_sorted=indices_are_sorted or plan.is_sorted,
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
        return iter(lax.unstack(x))
    chunks = range(0, size, CHUNK)
    return (row for i in chunks for row in _slice_rows(x, i, min(CHUNK, size - i)))


CHUNK = 100  # the number of rows that one program cuts out


@operation(static="count")
def _slice_rows(x: Any, start: Any, count: int) -> list[Any]:
    x = lax.dynamic_slice_in_dim(x, start, count, allow_negative_indices=False)
    return list(lax.unstack(x))
