"""`ds`: slices of a known size, whose start may be known only where the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.numpy.creation import asarray
from minijax.pytrees.tree_util import register_pytree_node
from minijax_stage2 import typeof
from minijax_stage2.functions import one_int
from minijax_stage2.shaped_array import typeof_named


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

_not_given: Any = object()


def ds(start: Any, size: Any = _not_given, stride: int | None = None) -> slice | Slice:
    """An index of `size` elements from `start` on, which may be traced.

    Arguments:
        start: the first index, an int or a scalar array of integers; None for a whole axis. Without
            `size`, it is the size, and the first index is 0.
        size: an int, 0 or more.
        stride: an int, 1 or more: the distance of the elements to take among these.

    Returns:
        An index for arrays, for `x.at[...]` and for references. As with `lax.dynamic_slice`, a
        slice that would end behind the array starts earlier.

    Raises:
        TypeError: `start` is not an integer, or `size` or `stride` not an int.
        ValueError: `size` is negative, or `stride` less than 1.

    >>> pairs = minijax.jit(lambda x, i: x[minijax.ds(i, 2)])
    >>> pairs(jnp.arange(10), 4)
    Array([4, 5], dtype=int32)
    """
    if start is None:
        return slice(None)
    if size is _not_given:
        start, size = 0, start
    size, stride = one_int("ds: size", size), one_int("ds: stride", 1 if stride is None else stride)
    if size < 0 or stride < 1:
        raise ValueError(
            f"ds: size must be at least 0 and stride at least 1, found {size} and {stride}"
        )
    if not isinstance(start, int | np.integer):
        aval = typeof_named("ds: start", start)
        if aval.shape or aval.dtype.kind not in "iu":
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
        return lax.dynamic_slice(x, starts, sizes), tuple(left), starts

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
