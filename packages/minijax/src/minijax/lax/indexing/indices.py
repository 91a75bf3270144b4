"""Integers that index an axis: their dtype, and those that count from its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax.lax.elementwise.arithmetic import add
from minijax.lax.elementwise.comparisons import lt
from minijax.lax.elementwise.rounding import rem
from minijax.lax.elementwise.selection import where
from minijax.settings.promotion import result_type
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.promotion import cast
from minijax_stage2.shaped_array import dialect


def index_dtype(*indices: Any) -> ShapedArray:
    """The common type of indices: of 32 bits at least, which hold the size of any axis."""
    found = result_type(dialect().weak[1], *map(typeof, indices)).strip_weak_type()
    return found if found.dtype.itemsize >= 4 else ShapedArray((), np.int32)


def as_index(index: Any, target: ShapedArray | None = None) -> Any:
    """Integers in a dtype for indices; those that it does not hold become the largest."""
    target = index_dtype(index) if target is None else target
    dtype = typeof(index).dtype
    if dtype.kind == "u" and target.dtype.kind == "i" and dtype.itemsize >= target.dtype.itemsize:
        largest = dtype.type(np.iinfo(target.dtype).max)
        index = where(lt(index, largest), index, largest)
    return cast(index, target)


def wrapped_index(index: Any, size: int) -> Any:
    """Indices into an axis of this size, with negative ones counted from the end."""
    if type(index) is int:
        return index + size if index < 0 else index
    if typeof(index).dtype.kind == "u":
        return index
    return where(lt(index, 0), add(index, size), index)


def remainder(index: Any, size: int) -> Any:
    """The remainder of integers when divided by `size`, from 0 on."""
    rest = rem(index, size)
    return where(lt(rest, 0), add(rest, size), rest)
