"""JAX's programs of functions of `glassjax.numpy`."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.dimensions.expressions import surely_at_least
from glassjax.lax.elementwise import copy
from glassjax.numpy.creation import diagonal_mask
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import promote
from glassjax_stage2 import typeof
from glassjax_stage2.promotion import broadcast_shapes
from glassjax_stage2.shaped_array import is_inexact


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice at the place of the first true condition, counted from the default at 0."""
    shape = broadcast_shapes(*map(np.shape, [*condlist, *choicelist, default]))
    conditions = jnp.stack([jnp.broadcast_to(each, shape) for each in [False, *condlist]])
    number = jnp.argmax(conditions, axis=0)
    choices = [jnp.broadcast_to(each, shape) for each in promote(default, *choicelist)]
    return lax.select_n(number, *choices)


def _last_piece(x: Any, conditions: Sequence[Any], values: Sequence[Any]) -> Any:
    """The call for the conditions in one array."""
    rows = [jnp.broadcast_to(condition, np.shape(x))[None] for condition in conditions]
    return _piecewise(x, jnp.concatenate(rows), *values)


@operation
def _piecewise(x: Any, conditions: Any, *values: Any) -> Any:
    """All values, each from the operands of its elements; and the one of the last condition."""
    rows = jnp.concatenate([jnp.zeros_like(conditions[:1]), conditions])
    number = jnp.argmax(jnp.cumsum(rows, axis=0), axis=0).astype(np.int32)
    number = lax.clamp(np.int32(0), number, np.int32(len(values) - 1))
    operands = [*(jnp.broadcast_to(value, np.shape(x)) for value in values), x]
    pieces = []
    for i in range(len(values)):
        is_chosen = lax.eq(number, np.int32(i))
        own = [lax.select(is_chosen, each, lax.stop_gradient(each)) for each in operands]
        pieces.append(lax.convert_element_type(copy(own[i]), x.dtype))
    return lax.select_n(number, *pieces)


def _progression(numbers: Any, dtype: Any, start: Any, stop: Any, step: Any = None) -> Any:
    """`start + step * i`; the numbers give the count."""
    out: Any = lax.iota(dtype, len(numbers))
    if step is not None:
        out = np.asarray(step, dtype)[()] * out
    return out if stop is None else np.asarray(start, dtype)[()] + out


def _interpolated(start: Any, stop: Any, index: Any, gaps: Any) -> Any:
    """The weighted sum of the ends, unless there are no numbers between them."""
    if surely_at_least(0, gaps):
        return lax.full((0, *np.shape(start)), 0, typeof(start).dtype)
    share = index / gaps
    from_start = lax.reshape(start, (1, *np.shape(start))) * (1 - share)
    return from_start + lax.reshape(stop, (1, *np.shape(stop))) / gaps * index


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements at pairs of indices; in kernels, sums of columns without the other elements."""
    a = jnp.moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = np.shape(a)[-2:]
    starts = max(-offset, 0), max(offset, 0)
    count = max(min(rows - starts[0], columns - starts[1]), 0)

    def gather(_: Any, a: Any) -> Any:
        i, j = (jnp.arange(count) + start if start else jnp.arange(count) for start in starts)
        return a.at[..., i, j].get(mode="promise_in_bounds")

    if offset or rows != columns or not is_inexact(a.dtype):
        return gather(None, a)
    mask = diagonal_mask((rows, columns), 0).astype(a.dtype)
    return lax.platform_dependent(
        mask, a, mosaic=lambda mask, a: jnp.sum(mask * a, axis=-2), default=gather
    )


def trace(
    a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    """The sum of the matrix, with zeros beside the diagonal."""
    a = jnp.moveaxis(a, (axis1, axis2), (-2, -1))
    mask = diagonal_mask(np.shape(a)[-2:], offset)
    return jnp.sum(jnp.where(mask, a, jnp.zeros_like(a)), axis=(-2, -1), dtype=dtype)


def _share(x: Any, other: Any, out: Any, base: float = math.e) -> Any:
    """The power of the base that is by how much `x` is larger than `out`; infinities are 0."""
    finite = [
        lax.select(jnp.equal(each, math.inf), lax.full_like(each, 0), each) for each in (x, out)
    ]
    return (lax.exp if base == math.e else lax.exp2)(lax.sub(*finite))
