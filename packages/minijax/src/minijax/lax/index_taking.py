"""Taking the elements at indices along several axes together."""

from collections.abc import Sequence
from typing import Any

from minijax.lax.elementwise import add, lt, where
from minijax.lax.gather_dimensions import GatherDimensionNumbers
from minijax.lax.gathering import gather
from minijax.lax.rounding import rem
from minijax.lax.slicing import concatenate
from minijax.lax.structural import expand_dims
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes


@operation(static="axes")
def index_take(src: Any, idxs: Any, axes: Sequence[int]) -> Any:
    """The elements of `src` at indices along several axes, which come first in the result.

    Indices out of bounds count on from the other end.

    Arguments:
        src: the array.
        idxs: vectors of integers, one for each of the axes, or an array of them.
        axes: the axes.

    Raises:
        ValueError: there are no such axes, or not one vector of integers for each.

    >>> x = jnp.arange(6).reshape(2, 3)
    >>> lax.index_take(x, (jnp.array([0, 1]), jnp.array([2, 0])), (0, 1))
    Array([2, 3], dtype=int32)
    """
    shape, vectors = typeof(src).shape, list(idxs)
    axes = canonical_axes("index_take", axes, len(shape))
    if len(vectors) != len(axes):
        raise ValueError(
            f"index_take: idxs must be one for each of the axes {axes}, found {len(vectors)}"
        )
    columns = [
        expand_dims(_counted_on(index, shape[axis]), 1)
        for index, axis in zip(vectors, axes, strict=True)
    ]
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape) - len(axes) + 1)), axes, axes)
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape)]
    return gather(src, concatenate(columns, 1), numbers, sizes)


def _counted_on(indices: Any, size: int) -> Any:
    """The remainders of indices by a size, none of them negative."""
    remainders = rem(indices, size)
    return where(lt(remainders, 0), add(remainders, size), remainders)


__all__ = ["index_take"]
