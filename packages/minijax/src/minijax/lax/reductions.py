"""Functions that combine the elements along some axes of an array."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import minijax_stage2 as stage2
from minijax.declare import reduction
from minijax.lax.bits import bitwise_or
from minijax.lax.choice import select
from minijax.lax.elementwise import div, eq, mul, ne
from minijax.lax.structural import broadcast_in_dim, broadcasted_iota, full_like
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.promotion import is_inexact
from minijax_stage2.shaped_array import Shape


@operation(static="axes")
def reduce_sum(operand: Any, axes: Sequence[int]) -> Any:
    """The sum over the axes `axes`, in the dtype of `operand`."""
    return stage2.reduce_sum(operand, tuple(axes))


def _smallest(dtype: np.dtype[Any]) -> Any:
    return _bounds(dtype)[0]


def _largest(dtype: np.dtype[Any]) -> Any:
    return _bounds(dtype)[1]


def _bounds(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype == np.bool_:
        return False, True
    if is_inexact(dtype) and np.isinf(np.asarray(np.inf, dtype)):
        return -np.inf, np.inf
    limits: Any = ml_dtypes.finfo if is_inexact(dtype) else ml_dtypes.iinfo
    return limits(dtype).min, limits(dtype).max  # some narrow floats have no infinities


def _shared_among_ties(t: Any, out: Any, x: Any, *, axes: Shape) -> Any:
    """The mean of the tangents of those elements that equal the result."""
    chosen = stage2.astype(eq(x, _spread(out, typeof(x).shape, axes)), typeof(x).dtype)
    return div(reduce_sum(mul(t, chosen), axes), reduce_sum(chosen, axes))


def _spread(x: Any, shape: Shape, axes: Shape) -> Any:
    """`x` repeated along the axes that a reduction has taken from an array of shape `shape`."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    return broadcast_in_dim(x, shape, kept)


# --8<-- [start:reductions]
reduce_max = reduction(
    "reduce_max",
    "The largest element along `axes`. Elements that tie share its derivative.",
    hlo="maximum",
    init=_smallest,
    kinds="biuf",
    jvp=_shared_among_ties,
)
reduce_min = reduction(
    "reduce_min",
    "The smallest element along `axes`. Elements that tie share its derivative.",
    hlo="minimum",
    init=_largest,
    kinds="biuf",
    jvp=_shared_among_ties,
)
reduce_and = reduction(
    "reduce_and",
    "Whether all elements along `axes` hold; for integers bit by bit.",
    hlo="and",
    init=lambda dtype: True if dtype == np.bool_ else ~dtype.type(0),
    kinds="biu",
)
reduce_or = reduction(
    "reduce_or",
    "Whether any element along `axes` holds; for integers bit by bit.",
    hlo="or",
    init=lambda dtype: dtype.type(0),
    kinds="biu",
)
# --8<-- [end:reductions]


@operation(static=("axis", "index_dtype"))
def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index of the first largest element along `axis`; the first NaN counts as largest."""
    return _first_index(operand, reduce_max(operand, [axis]), axis, index_dtype)


@operation(static=("axis", "index_dtype"))
def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index of the first smallest element along `axis`; the first NaN counts as smallest."""
    return _first_index(operand, reduce_min(operand, [axis]), axis, index_dtype)


def _first_index(operand: Any, chosen: Any, axis: int, index_dtype: Any) -> Any:
    shape = typeof(operand).shape
    # A NaN, and nothing else, differs from itself; the result is NaN where an operand is.
    found = bitwise_or(eq(operand, _spread(chosen, shape, (axis,))), ne(operand, operand))
    indices = broadcasted_iota(index_dtype, shape, axis)
    return reduce_min(select(found, indices, full_like(indices, shape[axis])), [axis])


__all__ = [
    "argmax",
    "argmin",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_sum",
]
