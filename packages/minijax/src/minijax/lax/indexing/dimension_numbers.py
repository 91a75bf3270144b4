"""Dimension numbers and modes of `gather` and of the scatters."""

import enum
from typing import NamedTuple

from minijax_stage2 import Primitive

Dims = tuple[int, ...]


class GatherScatterMode(enum.Enum):
    """Treatment of slices that are not entirely inside the array.

    CLIP moves them inside. FILL_OR_DROP fills them with a number in a gather, and drops them in a
    scatter. PROMISE_IN_BOUNDS leaves the result undefined, since there are none.

    >>> jnp.arange(3.0).at[5].get(mode=lax.GatherScatterMode.CLIP)
    Array(2., dtype=float32)
    >>> jnp.arange(3.0).at[5].get(mode=lax.GatherScatterMode.FILL_OR_DROP)
    Array(nan, dtype=float32)
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()

    @staticmethod
    def from_any(s: "str | GatherScatterMode | None") -> "GatherScatterMode":
        """The mode of that name; FILL_OR_DROP if None.

        Raises:
            ValueError: there is none of that name.
        """
        if isinstance(s, GatherScatterMode):
            return s
        if s is None or (isinstance(s, str) and s in ("fill", "drop")):
            return GatherScatterMode.FILL_OR_DROP
        if isinstance(s, str) and s in ("clip", "promise_in_bounds"):
            return GatherScatterMode[s.upper()]
        raise ValueError(
            f"unknown mode of indexing {s!r}: expected 'clip', 'fill', 'drop' or "
            "'promise_in_bounds'"
        )


class GatherDimensionNumbers(NamedTuple):
    """Dimension numbers of `gather`.

    Attributes:
        offset_dims: the axes of the result that come from slices; the others are those of the
            indices, except for the last.
        collapsed_slice_dims: the axes of the operand, of slice size 1, that are dropped from the
            result.
        start_index_map: the axes of the operand to which the entries of an index refer.
        operand_batching_dims: batch axes of the operand, paired with axes of the indices.
        start_indices_batching_dims: those axes of the indices.

    >>> numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> lax.gather(jnp.arange(6).reshape(3, 2), jnp.array([[2], [0]]), numbers, (1, 2))
    Array([[4, 5],
           [0, 1]], dtype=int32)
    """

    offset_dims: Dims
    collapsed_slice_dims: Dims
    start_index_map: Dims
    operand_batching_dims: Dims = ()
    start_indices_batching_dims: Dims = ()


class ScatterDimensionNumbers(NamedTuple):
    """Dimension numbers of `scatter`; the attributes are those of `GatherDimensionNumbers`.

    Attributes:
        update_window_dims: the axes of the updates that belong to one window.
        inserted_window_dims: the axes of the operand that are missing from the updates.
        scatter_dims_to_operand_dims: the axes of the operand to which the entries of an index
            refer.
        operand_batching_dims: batch axes of the operand, paired with axes of the indices.
        scatter_indices_batching_dims: those axes of the indices.

    >>> numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    >>> lax.scatter_add(jnp.zeros((3, 2)), jnp.array([[2], [0]]), jnp.ones((2, 2)), numbers)
    Array([[1., 1.],
           [0., 0.],
           [1., 1.]], dtype=float32)
    """

    update_window_dims: Dims
    inserted_window_dims: Dims
    scatter_dims_to_operand_dims: Dims
    operand_batching_dims: Dims = ()
    scatter_indices_batching_dims: Dims = ()


# Each is the transpose of the other.
gather_p = Primitive("gather")


__all__ = ["GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers"]
