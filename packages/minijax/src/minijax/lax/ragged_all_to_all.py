"""`ragged_all_to_all`: examples of a named axis send one another slices of unequal sizes."""

from __future__ import annotations

from typing import Any

from minijax.errors.tracebacks import hiding_frames
from minijax.lax.collectives import Axis, all_gather, all_to_all
from minijax.lax.elementwise.selection import select
from minijax.lax.indexing.dimension_numbers import GatherDimensionNumbers
from minijax.lax.indexing.gather import gather
from minijax.lax.reductions.argmax import argmax
from minijax.lax.reductions.standard import reduce_max
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.lax.shapes.creation import iota
from minijax.lax.shapes.reshaping import expand_dims
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import typeof


@hiding_frames
@evaluated_by_library
def ragged_all_to_all(
    operand: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    *,
    axis_name: Axis,
    axis_index_groups: Any = None,
) -> Array:
    """Each example sends slices of rows to every example, and receives some from each.

    Of n slices and s examples, the first n / s are for the first example, and so on. All operands
    are gathered: every example holds those of all.

    Arguments:
        operand: the rows to send, along the first axis.
        output: the array that received rows replace; its rows have the shape of `operand`'s.
        input_offsets: for each slice the row of `operand` at which it begins; n integers.
        send_sizes: the number of rows of each slice.
        output_offsets: for each slice the row of the receiver's `output` at which to put it.
        recv_sizes: the number of rows of each slice that arrives, in order of the senders.
        axis_name: the name of the axis, or a tuple of names of axes treated as one.
        axis_index_groups: None, or along one axis of a mesh, lists of indices of one size; examples
            communicate only with those of their own list.

    Returns:
        An array of the shape of `output`.

    Raises:
        NameError: there is no axis of that name.
        TypeError: the dtypes or the shapes of rows differ, or the numbers of slices are not those
            of integers in vectors of one length.
        ValueError: the slices cannot be divided evenly among the examples.
        NotImplementedError: `axis_index_groups` is given under vmap.

    >>> send = lambda x, to: lax.ragged_all_to_all(
    ...     x, jnp.zeros(4, int), jnp.array([0, 1]), jnp.array([1, 2]), to,
    ...     jnp.where(lax.axis_index("i") == 0, 1, jnp.array([2, 2])), axis_name="i")
    >>> places = jnp.array([[0, 0], [1, 2]])
    >>> print(minijax.vmap(send, axis_name="i")(jnp.array([[1, 2, 3], [4, 5, 6]]), places))
    [[1 4 0 0]
     [2 3 5 6]]
    """
    caller = "ragged_all_to_all"
    rows_sent, unchanged = to_array(operand), to_array(output)
    x, out = typeof(rows_sent), typeof(unchanged)
    if x.dtype != out.dtype or not x.ndim or x.ndim != out.ndim or x.shape[1:] != out.shape[1:]:
        raise TypeError(
            f"{caller}: operand and output must have one dtype and rows of one shape, found {x} "
            f"and {out}"
        )
    slices = [to_array(v) for v in (input_offsets, send_sizes, output_offsets, recv_sizes)]
    types = [typeof(v) for v in slices]
    if len({t.shape for t in types}) > 1 or any(
        t.ndim != 1 or t.dtype.kind not in "iu" for t in types
    ):
        raise TypeError(
            f"{caller}: offsets and sizes must be vectors of integers of one length, found "
            f"{', '.join(map(str, types))}"
        )

    def exchanged(v: Any) -> Any:
        groups = {"axis_index_groups": axis_index_groups}
        return all_to_all(v, axis_name, 0, 0, tiled=True, **groups)

    sources, starts = exchanged(slices[0]), exchanged(slices[2])
    everyone = all_gather(rows_sent, axis_name, axis_index_groups=axis_index_groups, tiled=True)
    count, rows = types[0].shape[0], out.shape[0]
    if not count or not rows or not x.shape[0]:
        return unchanged
    senders = typeof(everyone).shape[0] // x.shape[0]
    sender = iota("int32", count) // (count // senders)
    first = sender * x.shape[0] + sources - starts  # where row 0 of `output` would come from
    row = expand_dims(iota("int32", rows), [0])
    starts, ends = expand_dims(starts, [1]), expand_dims(starts + slices[3], [1])
    arrives = (row >= starts) & (row < ends)  # slices along the first axis, rows along the second
    which = argmax(arrives, 0, "int32")
    index = _rows(expand_dims(first, [1]), which)[:, 0] + iota("int32", rows)
    received = _rows(everyone, index)
    replaced = broadcast_in_dim(reduce_max(arrives, (0,)), out.shape, (0,))
    return select(replaced, received, unchanged)


def _rows(x: Any, indices: Any) -> Any:
    """The rows of `x` at `indices`, a vector."""
    shape = typeof(x).shape
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
    return gather(x, expand_dims(indices, [1]), numbers, (1, *shape[1:]), mode="clip")


__all__ = ["ragged_all_to_all"]
