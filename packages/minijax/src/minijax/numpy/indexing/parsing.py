"""Parsing of an index `x[...]` into static entries and dynamic operands.

Each part of an index becomes a static entry, and its traced values become operands. Equal entries
share one program, whatever the operands.
"""

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from minijax.errors.classes import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    NonConcreteSliceError,
)
from minijax.numpy.creation import asarray
from minijax.numpy.indexing.dynamic_slices import Slice as DynamicSlice
from minijax.numpy.indexing.dynamic_slices import StartIsUnknown, as_slice
from minijax.numpy.shapes import expand_dims
from minijax.runtime.conversion import is_value
from minijax.runtime.current import is_evaluating
from minijax.settings.config import Switch
from minijax.settings.counted import counted
from minijax.settings.debugging import static_indices_option
from minijax_stage2 import Tracer, typeof
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import Shape
from minijax_stage2.tracer import unknown


class Slice(NamedTuple):
    """An index entry: `size` elements of an axis from `start` on, in steps of `step`."""

    start: int
    size: int
    step: int

    @property
    def lowest(self) -> int:
        """The first element, counted forwards."""
        return self.start if self.step > 0 else self.start + (self.size - 1) * self.step

    @property
    def extent(self) -> int:
        """The number of elements from the first to the last."""
        return _extent(self.size, self.step)


def _extent(size: int, step: int) -> int:
    return (size - 1) * abs(step) + 1 if size else 0


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
Entry = None | int | Slice | Moving | Operand


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
        StartIsUnknown: a slice of it starts where an array says.
        IndexError: it does not fit the array, or is traced where it must be static.
    """
    shape = typeof(x).shape
    parts = _expand_ellipsis(_parts_of(index), shape)
    entries: list[Entry] = []
    operands: list[Any] = []
    axis = 0  # of the array that is indexed
    for position, part in enumerate(parts):
        if part is None:
            entries.append(NEW_AXIS)
        elif isinstance(part, slice):
            entries.append(_slice_entry(part, shape[axis], position))
            axis += 1
        elif type(part) is int:
            entries.append(part)
            axis += 1
        elif isinstance(part, DynamicSlice):
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
    if isinstance(part, DynamicSlice):
        return as_slice(part)
    if isinstance(part, list | tuple | range):
        part = _array_of(part)
    if isinstance(part, str) or not is_value(part):
        raise TypeError(
            "an index consists of integers, slices, arrays of integers or booleans, None and "
            f"`...`; found {shown(part)} of type {type(part).__name__}"
        )
    dtype = typeof(part).dtype
    if dtype.kind not in "biu" or dtype.itemsize == 0:
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
    if isinstance(part, slice | int | DynamicSlice) and not isinstance(part, bool):
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


def _slice_entry(part: slice, size: int, position: int) -> Slice:
    if part.start is None and part.stop is None and part.step is None:
        return Slice(0, size, 1)
    try:
        bounds = slice(*[_bound(bound) for bound in (part.start, part.stop, part.step)])
    except ConcretizationTypeError:
        raise NonConcreteSliceError(
            "the bounds of a slice decide a shape, so they must be known when the function is "
            f"traced; found {part} at position {position}. Where the size is known, "
            "lax.dynamic_slice takes a start that is not; or select by where(condition, x, y)."
        ) from None
    start, stop, step = bounds.indices(size)
    count = len(range(start, stop, step))
    return Slice(start if count else 0, count, step if count > 1 else 1)


def _bound(bound: Any) -> int | None:
    if bound is None:
        return None
    try:
        return operator.index(bound)
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"the bounds of a slice must be integers, found {shown(bound)}") from None


def known_value(x: Any) -> Any:
    """The value of `x` if it is known, as that of an array without elements is, else None."""
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
    if not is_evaluating():
        return list(entries), list(operands)
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
        elif isinstance(entry, Slice) and evaluating and entry.size < size:
            moved.append(Moving(entry.size, entry.step))
            known.append(entry.lowest)
        else:
            moved.append(entry)
            if isinstance(entry, Operand):
                known.append(next(given))
    return moved, known
