"""Functions that combine the elements along some axes of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import minijax.lax.elementwise.extremes as extremes
import minijax_stage2 as stage2
from minijax.lax.elementwise.arithmetic import div, mul
from minijax.lax.elementwise.comparisons import eq
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.primitives.declare import Rule, lower_reduction, reduction
from minijax.primitives.regions import reduce_text, stage_computation
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.number_types import allow_f16_reductions
from minijax_stage2 import ShapedArray, tree_flatten, typeof
from minijax_stage2.shaped_array import Shape, is_inexact
from minijax_stage3.lowering import FunctionBuilder, Value


@operation(static=("axes", "out_sharding"))
def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The sum over the axes `axes`, in the dtype of `operand`.

    >>> lax.reduce_sum(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([ 9, 11], dtype=int32)
    """
    out = stage2.reduce_sum(operand, tuple(axes))
    aval = typeof(operand)
    is_narrow = aval.dtype in (np.float16, ml_dtypes.bfloat16)
    if is_narrow and not allow_f16_reductions.value and typeof(out).size != aval.size:
        raise ValueError(
            f"reduce_sum: the sum of {aval} is taken with 16 bits, and allow_f16_reductions is "
            "False; convert it before, by x.astype('float32')"
        )
    return out


def smallest(dtype: np.dtype[Any]) -> Any:
    """The smallest number of a dtype."""
    return _bounds(dtype)[0]


def largest(dtype: np.dtype[Any]) -> Any:
    """The largest number of a dtype."""
    return _bounds(dtype)[1]


def all_bits(dtype: np.dtype[Any]) -> Any:
    """The number of a dtype with all bits set."""
    return True if dtype == np.bool_ else ~dtype.type(0)


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
    """`x` broadcast along the axes that a reduction removed from an array of shape `shape`."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    return broadcast_in_dim(x, shape, kept)


def _lower_extreme(
    operation: str, init: Callable[[np.dtype[Any]], Any], combine: Callable[[Any, Any], Any]
) -> Rule:
    """The rule of a maximum or minimum; XLA would only compare real parts of complex numbers."""
    of_reals = lower_reduction(operation, init)

    def rule(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, axes: Shape
    ) -> list[Value]:
        (out,) = out_avals
        if out.dtype.kind != "c":
            return of_reals(b, out_avals, x, axes=axes)
        scalar = ShapedArray((), out.dtype)
        start = b.constant(init(out.dtype), scalar)
        jaxpr = stage_computation(operation, combine, [scalar], tree_flatten(0)[1])
        return reduce_text(b, out_avals, [x, start], jaxpr, axes)

    return rule


reduce_max = reduction(
    "reduce_max",
    """The largest element along `axes`. Elements that tie share its derivative.

    Complex numbers are ordered by real part, then by imaginary part.

    >>> lax.reduce_max(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([8, 9], dtype=int32)
    """,
    hlo=_lower_extreme("maximum", smallest, extremes.max),
    init=smallest,
    kinds="biufc",
    jvp=_shared_among_ties,
    divides=True,
)
reduce_min = reduction(
    "reduce_min",
    """The smallest element along `axes`. Elements that tie share its derivative.

    Complex numbers are ordered by real part, then by imaginary part.

    >>> lax.reduce_min(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([1, 2], dtype=int32)
    """,
    hlo=_lower_extreme("minimum", largest, extremes.min),
    init=largest,
    kinds="biufc",
    jvp=_shared_among_ties,
    divides=True,
)
# --8<-- [start:reductions]
reduce_and = reduction(
    "reduce_and",
    """Test if all elements along `axes` are true; for integers bit by bit.

    >>> lax.reduce_and(jnp.array([[True, True], [True, False]]), (1,))
    Array([ True, False], dtype=bool)
    """,
    hlo="and",
    init=all_bits,
    kinds="biu",
)
reduce_or = reduction(
    "reduce_or",
    """Test if any element along `axes` is true; for integers bit by bit.

    >>> lax.reduce_or(jnp.array([[False, True], [False, False]]), (1,))
    Array([ True, False], dtype=bool)
    """,
    hlo="or",
    init=lambda dtype: dtype.type(0),
    kinds="biu",
)
# --8<-- [end:reductions]
reduce_xor = reduction(
    "reduce_xor",
    """Test if an odd number of elements along `axes` are true; for integers bit by bit.

    >>> lax.reduce_xor(jnp.array([[True, True], [True, False]]), (1,))
    Array([False,  True], dtype=bool)
    """,
    hlo="xor",
    init=lambda dtype: dtype.type(0),
    kinds="biu",
)

__all__ = [
    "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_sum", "reduce_xor",
]  # fmt: skip
