"""The softmax family: exponentials along axes, and logarithms of their sums, without overflow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minijax.numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote
from minijax_stage2 import typeof
from minijax_stage2.promotion import to_inexact

Axes = int | Sequence[int] | None


@operation(static=("axis", "keepdims", "return_sign"))
def logsumexp(
    a: ArrayLike,
    axis: Axes = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """`log(sum(b * exp(a)))` over the axes, without overflow.

    Arguments:
        a: the array.
        axis: the axes to sum over; None: all.
        b: factors, which broadcast to `a`; 1 by default.
        keepdims: whether to keep the axes, with size 1.
        return_sign: whether to return the logarithm of the absolute value of the sum, and its sign;
            without it the logarithm of a negative sum is NaN.
        where: mask of the elements to include, which broadcasts to `a`; all by default.

    >>> x = jnp.array([1e3, 1e3])
    >>> nn.logsumexp(x), jnp.log(jnp.sum(jnp.exp(x)))
    (Array(1000.6932, dtype=float32), Array(inf, dtype=float32))
    """
    if b is not None:
        a, b = promote(a, b, inexact=True)
        a = jnp.where(jnp.not_equal(b, 0), a, -math.inf)
    else:
        a = to_inexact(a)
    if where is not None:  # also an infinity that is left out has a derivative of 0
        a = jnp.where(where, a, -math.inf)
    largest = _largest(jnp.real(a), axis, where)
    offset = lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0))
    exps = jnp.exp(jnp.subtract(a, lax.convert_element_type(offset, typeof(a).dtype)))
    total = jnp.sum(
        exps if b is None else jnp.multiply(b, exps), axis, where=where, keepdims=keepdims
    )
    if not keepdims:
        offset = lax.reshape(offset, typeof(total).shape)
    sign = jnp.sign(total)
    if return_sign or typeof(total).dtype.kind != "c":
        log = jnp.log(jnp.abs(total))
    else:
        log = jnp.log(total)
    out = jnp.add(log, offset)
    if return_sign:
        return out, sign
    if b is not None and typeof(out).dtype.kind != "c":
        return jnp.where(jnp.less(sign, 0), math.nan, out)
    return out


def _largest(x: Any, axis: Axes, where: Any) -> Any:
    x = lax.stop_gradient(x)
    initial = -math.inf if where is not None or not typeof(x).size else None
    return jnp.max(x, axis, keepdims=True, where=where, initial=initial)


@operation(static=("axis", "keepdims"))
def logmeanexp(
    x: ArrayLike, axis: Axes = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """`log(mean(exp(x)))` over the axes, without overflow; arguments as for `logsumexp`.

    >>> nn.logmeanexp(jnp.array([1e3, 1e3]))
    Array(1000., dtype=float32)
    """
    ones = jnp.ones_like(jnp.real(to_inexact(x)))
    count = jnp.sum(ones, axis, where=where, keepdims=keepdims)
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    return jnp.subtract(total, jnp.log(count))


@operation(static="axis")
def log_softmax(x: ArrayLike, axis: Axes = -1, where: ArrayLike | None = None) -> Array:
    """The logarithm of `softmax`, accurate even where that is nearly 0.

    Arguments:
        x: the array.
        axis: the axes over which the exponentials sum to 1.
        where: mask of the elements to include; the others become minus infinity.

    >>> nn.log_softmax(jnp.array([0.0, -1e3, -2e3]))
    Array([    0., -1000., -2000.], dtype=float32)
    """
    chosen = x if where is None else jnp.where(where, x, -math.inf)
    shifted = jnp.subtract(chosen, _largest(chosen, axis, where))
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    out = jnp.subtract(shifted, jnp.log(total))
    return out if where is None else jnp.where(where, out, -math.inf)


@operation(static="axis")
def softmax(x: ArrayLike, axis: Axes = -1, where: ArrayLike | None = None) -> Array:
    """`exp(x)` scaled so that the sum over the axes is 1, without overflow.

    Arguments:
        x: the array.
        axis: the axes over which the result sums to 1.
        where: mask of the elements to include; the others become 0.

    >>> nn.softmax(jnp.log(jnp.array([1.0, 3.0]))).round(2)
    Array([0.25, 0.75], dtype=float32)
    >>> nn.softmax(jnp.zeros(3), where=jnp.array([True, True, False]))
    Array([0.5, 0.5, 0. ], dtype=float32)
    """
    chosen = x if where is None else jnp.where(where, x, -math.inf)
    exps = jnp.exp(jnp.subtract(chosen, _largest(chosen, axis, where)))
    out = jnp.divide(exps, jnp.sum(exps, axis, where=where, keepdims=True))
    return out if where is None else jnp.where(where, out, 0)


__all__ = ["log_softmax", "logmeanexp", "logsumexp", "softmax"]
