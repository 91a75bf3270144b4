"""Cutting arrays into parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import steps_of
from minijax.numpy.shapes import ndim, shape
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2.functions import canonical_axis, ints

Sections = int | Sequence[int]


@operation(static=("indices_or_sections", "axis"))
def split(ary: ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[Array]:
    """The parts of `ary` along `axis`.

    Arguments:
        ary: the array.
        indices_or_sections: the number of parts of equal size; or the indices at which to split.
        axis: the axis.

    Raises:
        ValueError: parts of equal size are not possible; `array_split` makes some larger.

    >>> jnp.split(jnp.arange(6), 3)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32), Array([4, 5], dtype=int32)]
    >>> [x.shape for x in jnp.split(jnp.zeros((2, 6)), [1, 4], axis=1)]
    [(2, 1), (2, 3), (2, 2)]
    """
    return _split("split", ary, indices_or_sections, axis)


@operation(static=("indices_or_sections", "axis"))
def array_split(ary: ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[Array]:
    """As `split`, but the first parts are larger by one if the size is not divisible.

    >>> [x.shape for x in jnp.array_split(jnp.arange(7), 3)]
    [(3,), (2,), (2,)]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def _split(name: str, ary: Any, sections: Sections, axis: int) -> list[Any]:
    axis = canonical_axis(name, axis, ndim(ary))
    size = shape(ary)[axis]
    if np.ndim(sections) == 1 and np.size(sections) == 0:  # of whatever dtype
        sections = ()
    if isinstance(sections, tuple | list):
        cuts = [min(max(i + size if i < 0 else i, 0), size) for i in ints(name, sections)]
        starts, limits = [0, *cuts], [*cuts, size]
    else:
        count = steps_of(f"{name}: indices_or_sections", sections)
        if count <= 0:
            raise ValueError(f"{name}: the number of parts must be positive, found {count}")
        each, more = divmod(size, count)
        if more and name == "split":
            raise ValueError(
                f"split: axis {axis} of size {size} has no {count} parts of one size; array_split "
                "makes some larger by one"
            )
        limits = [(i + 1) * each + min(i + 1, more) for i in range(count)]
        starts = [0, *limits[:-1]]
    if limits == sorted(limits):
        sizes = [limit - start for start, limit in zip(starts, limits, strict=True)]
        return lax.split(ary, sizes, axis)
    return [
        lax.slice_in_dim(ary, start, max(start, limit), axis=axis)
        for start, limit in zip(starts, limits, strict=True)
    ]


@operation(static="indices_or_sections")
def hsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """`split` along the second axis; along the first if it is the only one.

    >>> [x.shape for x in jnp.hsplit(jnp.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("split", ary, indices_or_sections, 0 if ndim(ary) == 1 else 1)


@operation(static="indices_or_sections")
def vsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """`split` along the first axis.

    >>> [x.shape for x in jnp.vsplit(jnp.zeros((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    return _split("split", ary, indices_or_sections, 0)


@operation(static="indices_or_sections")
def dsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """`split` along the third axis.

    >>> [x.shape for x in jnp.dsplit(jnp.zeros((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return _split("split", ary, indices_or_sections, 2)


@operation(static="axis")
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The elements of `x` along `axis`, without that axis.

    Raises:
        ValueError: `x` is a scalar.

    >>> first, second = jnp.unstack(jnp.array([[1, 2], [3, 4]]))
    >>> second
    Array([3, 4], dtype=int32)
    """
    if not ndim(x):
        raise ValueError("unstack: a scalar has no axis to take apart")
    axis = canonical_axis("unstack", axis, ndim(x))
    return tuple(lax.index_in_dim(x, i, axis, keepdims=False) for i in range(shape(x)[axis]))


__all__ = ["array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"]
