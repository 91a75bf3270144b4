"""Putting arrays together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax.lax import promoting as lax
from minijax.numpy.shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    ndim,
    ravel,
    shape,
    transpose,
)
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import require_no_out
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_one_dtype
from minijax.settings.public_names import set_all
from minijax_stage2 import tree_leaves
from minijax_stage2.functions import canonical_axis


@operation(static=("axis", "dtype"))
def concatenate(
    arrays: Sequence[Any], axis: int | None = 0, dtype: DTypeLike | None = None
) -> Array:
    """The arrays joined along `axis`; flattened first if it is None.

    The result has the dtype `dtype`, or else their promoted dtype.

    >>> jnp.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4]])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    >>> jnp.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4]])], axis=1)
    Array([[1, 2, 3, 4]], dtype=int32)
    """
    if not len(arrays):
        raise ValueError("concatenate: needs at least one array")
    _require_one_dtype(arrays, dtype)
    if axis is None:
        return concatenate([ravel(a) for a in arrays], 0, dtype)
    along = canonical_axis("concatenate", axis, ndim(arrays[0]))
    if dtype is not None:
        arrays = [lax.convert_element_type(a, dtype) for a in arrays]
    return lax.concatenate(arrays, along)


def _require_one_dtype(arrays: Sequence[Any], dtype: Any) -> None:
    """Raise an error if settings forbid these to be joined, unless a dtype is given."""
    if dtype is None:
        require_one_dtype(*arrays)


@operation(static=("axis", "out", "dtype"))
def stack(
    arrays: Sequence[Any], axis: int = 0, out: None = None, dtype: DTypeLike | None = None
) -> Array:
    """The arrays, all of one shape, stacked along a new axis. `out` must be None.

    >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    >>> jnp.stack([jnp.zeros((2, 3)), jnp.ones((2, 3))], axis=-1).shape
    (2, 3, 2)
    """
    _require_one_dtype(arrays, dtype)
    require_no_out("stack", out)
    if not len(arrays):
        raise ValueError("stack: needs at least one array")
    shapes = {shape(a) for a in arrays}
    if len(shapes) > 1:
        raise ValueError(f"stack: the arrays must have one shape, found {sorted(shapes)}")
    new = canonical_axis("stack", axis, ndim(arrays[0]) + 1)
    return concatenate([expand_dims(a, new) for a in arrays], new, dtype)


@operation(static="axis")
def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Array:
    """The arrays joined along `axis`; flattened first if it is None.

    >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    """
    require_one_dtype(*arrays)
    return concatenate(arrays, axis)


@operation(static="dtype")
def hstack(tup: Sequence[Any], dtype: DTypeLike | None = None) -> Array:
    """The arrays joined along their second axis; vectors along their only one.

    >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    >>> jnp.hstack([jnp.ones((2, 1)), jnp.ones((2, 3))]).shape
    (2, 4)
    """
    _require_one_dtype(tup, dtype)
    arrays = [atleast_1d(x) for x in tup]
    return concatenate(arrays, 0 if arrays and ndim(arrays[0]) == 1 else 1, dtype)


@operation(static="dtype")
def vstack(tup: Sequence[Any], dtype: DTypeLike | None = None) -> Array:
    """The arrays joined along their first axis; vectors are rows.

    >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    _require_one_dtype(tup, dtype)
    return concatenate([atleast_2d(x) for x in tup], 0, dtype)


@operation(static="dtype")
def dstack(tup: Sequence[Any], dtype: DTypeLike | None = None) -> Array:
    """The arrays joined along their third axis.

    >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])]).shape
    (1, 2, 2)
    """
    _require_one_dtype(tup, dtype)
    return concatenate([atleast_3d(x) for x in tup], 2, dtype)


@operation
def column_stack(tup: Sequence[Any]) -> Array:
    """The arrays side by side; vectors are columns.

    >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    require_one_dtype(*tup)
    return concatenate([x if ndim(x) >= 2 else transpose(atleast_2d(x)) for x in tup], 1)


@operation(static="axis")
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """`arr` and `values` joined along `axis`; flattened first if it is None.

    >>> jnp.append(jnp.array([1, 2]), jnp.array([3]))
    Array([1, 2, 3], dtype=int32)
    >>> jnp.append(jnp.zeros((1, 2)), jnp.ones((1, 2)), axis=0)
    Array([[0., 0.],
           [1., 1.]], dtype=float32)
    """
    require_one_dtype(arr, values)
    return concatenate([arr, values], axis)


@operation
def block(arrays: Any) -> Array:
    """An array assembled from nested lists of blocks.

    The innermost lists are joined along the last axis, those around them along the last but one,
    and so on.

    Raises:
        ValueError: a list is empty, or lists are nested to different depths.

    >>> jnp.block([[jnp.eye(2), jnp.zeros((2, 1))], [jnp.zeros((1, 2)), 7 * jnp.ones((1, 1))]])
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 7.]], dtype=float32)
    """
    depth = _depth(arrays)
    require_one_dtype(*tree_leaves(arrays))
    axes = max(depth, _most_axes(arrays))

    def join(part: Any, level: int) -> Any:
        if not isinstance(part, list):
            return expand_dims(part, range(axes - ndim(part)))
        return concatenate([join(x, level + 1) for x in part], axes - depth + level)

    return join(arrays, 0) if depth else arrays


def _depth(part: Any) -> int:
    if isinstance(part, tuple):
        raise TypeError("block: blocks are nested in lists, found a tuple")
    if not isinstance(part, list):
        return 0
    depths = {_depth(x) for x in part}
    if len(depths) != 1:
        found = "an empty list" if not depths else f"depths {sorted(depths)}"
        raise ValueError(f"block: all lists must be nested to one depth, found {found}")
    return 1 + depths.pop()


def _most_axes(part: Any) -> int:
    return max(map(_most_axes, part)) if isinstance(part, list) else ndim(part)


set_all(globals())
