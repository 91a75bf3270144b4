"""Functions that combine the elements along some axes of an array."""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import minijax.lax.choice as choice
import minijax_stage2 as stage2
from minijax.declare import Rule, declare, lower_reduction, reduction
from minijax.lax.bits import bitwise_or
from minijax.lax.choice import select
from minijax.lax.computations import lower_as, reduce_text, stage_computation
from minijax.lax.elementwise import div, eq, mul, ne
from minijax.lax.structural import broadcast_in_dim, broadcasted_iota, full_like
from minijax.operation import operation
from minijax_stage2 import Primitive, ShapedArray, bind1, tree_flatten, typeof
from minijax_stage2.functions import canonical_axis
from minijax_stage2.promotion import is_inexact
from minijax_stage2.shaped_array import Shape, dtype_of_numbers
from minijax_stage2.vmap import BatchDim, move_batch_dim
from minijax_stage3.lowering import FunctionBuilder, Value


@operation(static="axes")
def reduce_sum(operand: Any, axes: Sequence[int]) -> Any:
    """The sum over the axes `axes`, in the dtype of `operand`.

    >>> lax.reduce_sum(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([ 9, 11], dtype=int32)
    """
    return stage2.reduce_sum(operand, tuple(axes))


def smallest(dtype: np.dtype[Any]) -> Any:
    """The number of a dtype that no other is below."""
    return _bounds(dtype)[0]


def largest(dtype: np.dtype[Any]) -> Any:
    """The number of a dtype that no other is above."""
    return _bounds(dtype)[1]


def all_bits(dtype: np.dtype[Any]) -> Any:
    """The number of a dtype whose bits are all ones."""
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
    """`x` repeated along the axes that a reduction has taken from an array of shape `shape`."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    return broadcast_in_dim(x, shape, kept)


def _lower_extreme(
    operation: str, init: Callable[[np.dtype[Any]], Any], combine: Callable[[Any, Any], Any]
) -> Rule:
    """The rule of a choice among elements; XLA would compare real parts of complex ones only."""
    of_reals = lower_reduction(operation, init)

    def rule(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, axes: Shape
    ) -> list[Value]:
        (out,) = out_avals
        if out.dtype.kind != "c":
            return of_reals(b, out_avals, x, axes=axes)  # type: ignore[no-any-return]
        scalar = ShapedArray((), out.dtype)
        start = b.constant(init(out.dtype), scalar)
        jaxpr = stage_computation(operation, combine, [scalar], tree_flatten(0)[1])
        return reduce_text(b, out_avals, [x, start], jaxpr, axes)

    return rule


# --8<-- [start:reductions]
reduce_max = reduction(
    "reduce_max",
    """The largest element along `axes`. Elements that tie share its derivative.

    Complex numbers are ordered by their real parts, and where these are equal by the others.

    >>> lax.reduce_max(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([8, 9], dtype=int32)
    """,
    hlo=_lower_extreme("maximum", smallest, choice.max),
    init=smallest,
    kinds="biufc",
    jvp=_shared_among_ties,
)
reduce_min = reduction(
    "reduce_min",
    """The smallest element along `axes`. Elements that tie share its derivative.

    Complex numbers are ordered by their real parts, and where these are equal by the others.

    >>> lax.reduce_min(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([1, 2], dtype=int32)
    """,
    hlo=_lower_extreme("minimum", largest, choice.min),
    init=largest,
    kinds="biufc",
    jvp=_shared_among_ties,
)
reduce_and = reduction(
    "reduce_and",
    """Whether all elements along `axes` hold; for integers bit by bit.

    >>> lax.reduce_and(jnp.array([[True, True], [True, False]]), (1,))
    Array([ True, False], dtype=bool)
    """,
    hlo="and",
    init=all_bits,
    kinds="biu",
)
reduce_or = reduction(
    "reduce_or",
    """Whether any element along `axes` holds; for integers bit by bit.

    >>> lax.reduce_or(jnp.array([[False, True], [False, False]]), (1,))
    Array([ True, False], dtype=bool)
    """,
    hlo="or",
    init=lambda dtype: dtype.type(0),
    kinds="biu",
)
reduce_xor = reduction(
    "reduce_xor",
    """Whether an odd number of elements along `axes` hold; for integers bit by bit.

    >>> lax.reduce_xor(jnp.array([[True, True], [True, False]]), (1,))
    Array([False,  True], dtype=bool)
    """,
    hlo="xor",
    init=lambda dtype: dtype.type(0),
    kinds="biu",
)
# --8<-- [end:reductions]


# --8<-- [start:arg]
argmax_p = Primitive("argmax")
argmin_p = Primitive("argmin")


@operation(static=("axis", "index_dtype"))
def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index of the first largest element along `axis`; the first NaN counts as largest.

    >>> lax.argmax(jnp.array([[1, 9], [8, 2]]), 1, jnp.int32)
    Array([1, 0], dtype=int32)
    """
    return _bind_arg(argmax_p, operand, axis, index_dtype)


@operation(static=("axis", "index_dtype"))
def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index of the first smallest element along `axis`; the first NaN counts as smallest.

    >>> lax.argmin(jnp.array([[1, 9], [8, 2]]), 1, jnp.int32)
    Array([0, 1], dtype=int32)
    """
    return _bind_arg(argmin_p, operand, axis, index_dtype)


def _bind_arg(primitive: Primitive, operand: Any, axis: int, index_dtype: Any) -> Any:
    dtype = dtype_of_numbers(primitive.name, index_dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"{primitive}: index_dtype must be one of integers, found {dtype}")
    axis = canonical_axis(primitive.name, axis, typeof(operand).ndim)
    return bind1(primitive, operand, axis=axis, index_dtype=dtype)


def _declare_arg(primitive: Primitive, reduce: Callable[[Any, Sequence[int]], Any]) -> None:
    def abstract_eval(
        x: ShapedArray, *, axis: int, index_dtype: np.dtype[Any]
    ) -> list[ShapedArray]:
        if x.dtype.kind == "c":
            raise TypeError(f"{primitive}: {x} has no elements with an order")
        if not 0 <= axis < x.ndim or x.shape[axis] == 0:
            raise ValueError(f"{primitive}: {x} has no elements along axis {axis}")
        return [ShapedArray(x.shape[:axis] + x.shape[axis + 1 :], index_dtype)]

    def first_index(operand: Any, *, axis: int, index_dtype: np.dtype[Any]) -> Any:
        """In two passes, each of which XLA does for many elements at once."""
        shape = typeof(operand).shape
        found = eq(operand, _spread(reduce(operand, [axis]), shape, (axis,)))
        if is_inexact(typeof(operand).dtype):
            # A NaN, and nothing else, differs from itself; the result is NaN where one is.
            found = bitwise_or(found, ne(operand, operand))
        # Floats hold indices up to 2**24; XLA takes four times as long to compile the least int.
        most = min(2**24, np.iinfo(index_dtype).max)
        dtype = np.dtype(np.float32) if shape[axis] <= most else index_dtype
        indices = broadcasted_iota(dtype, shape, axis)
        first = reduce_min(select(found, indices, full_like(indices, shape[axis] - 1)), [axis])
        return stage2.astype(first, index_dtype)

    def vmap(
        axis_size: int,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        *,
        axis: int,
        index_dtype: np.dtype[Any],
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], axis_size, dims[0], 0)
        return [bind1(primitive, x, axis=axis + 1, index_dtype=index_dtype)], [0]

    first_index.__name__ = primitive.name
    declare(primitive, abstract_eval=abstract_eval, lower=lower_as(first_index), vmap=vmap)


_declare_arg(argmax_p, reduce_max)
_declare_arg(argmin_p, reduce_min)
# --8<-- [end:arg]

__all__ = [
    "argmax",
    "argmin",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_sum",
    "reduce_xor",
]
