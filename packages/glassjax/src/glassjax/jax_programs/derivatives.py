"""JAX's derivatives of primitives whose derivatives here are faster or more exact.

Where calls are nested, forward mode takes these rules instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.lax.cumulative import stride_slice
from glassjax_stage2 import Primitive, Zero, typeof
from glassjax_stage2.jvp import jvp_flat, jvp_rules
from glassjax_stage2.promotion import cast
from glassjax_stage2.tangent import sum_of
from glassjax_stage2.trace import Rules

Values = Sequence[Any]


class _OtherRules(Rules):
    """Rules that take the place of the library's own."""

    def __missing__(self, primitive: Primitive) -> Any:
        return jvp_rules[primitive]


jvp_rules_of_jax = _OtherRules("jvp", "jvp_rules_of_jax")


# Quotients. The slope by the denominator, `-out / y` here, does not underflow.


def _div_jvp(primals: Values, tangents: Values) -> Any:
    (x, y), out = primals, lax.div(*primals)
    by_x, by_y = tangents
    terms = [] if type(by_x) is Zero else [by_x / y]
    if type(by_y) is not Zero:
        terms.append(-by_y * x * lax.integer_pow(y, -2))
    return [out], [sum_of(terms, typeof(out), primals)]


jvp_rules_of_jax[lax.div_p] = _div_jvp


# Powers. The slope of the power 0 is 0 here, but NaN by JAX's formula where the base is 0.


def _pow_jvp(primals: Values, tangents: Values) -> Any:
    (x, y), out = primals, lax.pow(*primals)
    by_x, by_y = tangents
    terms = []
    if type(by_x) is not Zero:
        y, one = cast(y, typeof(out)), lax.full_like(out, 1, shape=np.shape(y))
        terms.append(by_x * (y * lax.pow(x, y - one)))
    if type(by_y) is not Zero:
        positive = lax.select(x == 0, lax.full_like(out, 1, shape=np.shape(x)), x)
        terms.append(by_y * (lax.log(positive) * out))
    return [out], [sum_of(terms, typeof(out), primals)]


jvp_rules_of_jax[lax.pow_p] = _pow_jvp


# Products, whose program is differentiated.


def _product_by_halves(x: Any, *, axes: tuple[int, ...]) -> list[Any]:
    shape = typeof(x).shape
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    size, others = math.prod(shape[axis] for axis in axes), [shape[axis] for axis in rest]
    if size == 0:
        return [lax.full_like(x, 1, shape=others)]
    x = lax.reshape(x, [size, *others], [*axes, *rest])
    while size > 1:
        half = size - size // 2
        first, second = stride_slice(x, 0, 0, half), stride_slice(x, 0, half, size)
        if size % 2:
            ends = [(0, 1, 0), *[(0, 0, 0)] * len(rest)]
            second = lax.pad(second, lax.full_like(x, 1, shape=()), ends)
        x, size = first * second, half
    return [lax.squeeze(x, [0])]


# Cumulative products and sums of exponentials, whose associative scan is differentiated.


def _cumulative(combine: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
    def cumulate(x: Any, *, axis: int, reverse: bool) -> list[Any]:
        x = lax.rev(x, [axis]) if reverse else x
        out = lax.associative_scan(combine, x, axis=axis)
        return [lax.rev(out, [axis]) if reverse else out]

    return cumulate


def _derived(function: Callable[..., list[Any]], name: str) -> Callable[..., Any]:
    """The jvp rule of a function, by the rules of the operations that it consists of."""

    def rule(primals: Values, tangents: Values, **params: Any) -> Any:
        return jvp_flat(partial(function, **params), primals, tangents, name)

    return rule


for primitive, function in (
    (lax.reduce_prod_p, _product_by_halves),
    (lax.cumprod_p, _cumulative(lax.mul)),
    (lax.cumlogsumexp_p, _cumulative(jnp.logaddexp)),
):
    jvp_rules_of_jax[primitive] = _derived(function, primitive.name)
