"""Plans: how an index `x[...]` is gathered, and scattered."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

from minijax.lax import promoting as lax
from minijax.lax.indexing.indices import as_index, index_dtype, wrapped_index
from minijax.numpy.indexing.parsing import NEW_AXIS, Operand, Pattern, Slice
from minijax_stage2.promotion import broadcast_shapes
from minijax_stage2.shaped_array import Shape


class Column(NamedTuple):
    """The indices of `gather` for one axis of the array.

    Attributes:
        axis: the axis.
        what: an int, a `Slice`, or an `Operand`.
        dims: the axes of the indices along which it varies.
    """

    axis: int
    what: int | Slice | Operand
    dims: tuple[int, ...]


class IndexPlan(NamedTuple):
    """A plan to gather an index from an array, or scatter into it.

    Attributes:
        numbers: the dimension numbers of `gather`; those of `scatter` are the same.
        slice_sizes: the sizes of one slice.
        columns: the columns of the indices.
        index_shape: the shape of the indices, without their last axis.
        gathered_shape: the shape of the result of `gather`.
        reversed_axes: those of its axes that a negative step reverses.
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


@lru_cache(maxsize=4096)
def plan_index(pattern: Pattern, shape: Shape, *operand_shapes: Shape) -> IndexPlan:
    """Plan how to gather an index of this pattern from an array of this shape.

    Arrays in the index share axes of the result. These take the position of the arrays in the index
    if the arrays are adjacent, and otherwise come first. Beside arrays, an int counts as one.
    """
    entries = pattern.entries
    batch = () if pattern.is_basic else broadcast_shapes(*operand_shapes)
    pointing = [i for i, entry in enumerate(entries) if isinstance(entry, int | Operand)]
    begin = None
    if not pattern.is_basic:
        are_adjacent = pointing[-1] - pointing[0] == len(pointing) - 1
        begin = pointing[0] if are_adjacent else -1

    # The axes of the result, in order: batch axes, slices and new axes.
    order: list[Any] = [*batch] if begin == -1 else []
    for position, entry in enumerate(entries):
        if position == begin:
            order += batch
        if entry is NEW_AXIS or isinstance(entry, Slice):
            order.append(entry)
    full_shape = tuple(
        1 if part is NEW_AXIS else part.size if isinstance(part, Slice) else part for part in order
    )
    kept = [part for part in order if part is not NEW_AXIS]
    gathered_shape = tuple(part.size if isinstance(part, Slice) else part for part in kept)
    windows = [i for i, part in enumerate(kept) if _is_window(part)]
    varying = [i for i, part in enumerate(kept) if not _is_window(part)]
    dims_of_batch = tuple(dim for dim, i in enumerate(varying) if not isinstance(kept[i], Slice))
    dims_of_steps = iter([(dim,) for dim, i in enumerate(varying) if isinstance(kept[i], Slice)])

    columns, slice_sizes, collapsed = [], [], []
    axes = count()
    for entry in entries:
        if entry is NEW_AXIS:
            continue
        axis = next(axes)
        if _is_window(entry):
            assert isinstance(entry, Slice)
            slice_sizes.append(entry.size)
            if entry.lowest:
                columns.append(Column(axis, entry.lowest, ()))
            continue
        slice_sizes.append(1)
        collapsed.append(axis)
        if isinstance(entry, Slice):
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
    return isinstance(part, Slice) and abs(part.step) == 1


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
    columns = []
    for axis, what, dims in plan.columns:
        if isinstance(what, Operand):
            column = as_index(next(given), target)
            column = wrapped_index(column, shape[axis]) if wraps else column
            dims = dims[len(dims) - what.ndim :]
        elif isinstance(what, Slice):
            steps = lax.mul(lax.iota(target.dtype, what.size), what.step)
            column = lax.add(steps, what.start)
        else:
            value = what + shape[axis] if wraps and what < 0 else what
            column = target.dtype.type(value)
        columns.append(lax.broadcast_in_dim(column, (*plan.index_shape, 1), dims))
    if len(columns) == 1:
        return columns[0]
    return lax.concatenate(columns, len(plan.index_shape))
