"""Bessel functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import steps_of
from minijax.numpy.dtypes import computation_dtype
from minijax.numpy.math.operands import real_arrays, real_floats
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof


@operation
def i0e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0, times `exp(-abs(x))`.

    >>> f"{minijax.scipy.special.i0e(1.0):.3f}", minijax.scipy.special.i0(1e3).item()
    ('0.466', inf)
    """
    return lax.bessel_i0e(*real_floats("i0e", x))


@operation
def i1e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1, times `exp(-abs(x))`.

    >>> f"{minijax.scipy.special.i1e(1.0):.3f}", minijax.scipy.special.i1(1e3).item()
    ('0.208', inf)
    """
    return lax.bessel_i1e(*real_floats("i1e", x))


@operation
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1.

    >>> f"{minijax.scipy.special.i1(1.0):.3f}"
    '0.565'
    """
    (x,) = real_floats("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


@operation(static=("v", "n_iter"))
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind, of all orders from 0 to `v`.

    Arguments:
        z: real numbers.
        v: the largest order.
        n_iter: the order from which to recur downwards: larger than `v`, and at least a quarter
            larger than the absolute values of `z`.

    Returns:
        An array with a leading axis of orders, before the axes of `z`.

    Raises:
        ValueError: `z` is complex.

    >>> print(bessel_jn(jnp.array([0.0, 2.0]), v=1).round(3))
    [[1.    0.224]
     [0.    0.577]]
    """
    (z,) = real_arrays("bessel_jn", z)
    dtype = typeof(z).dtype
    z = jnp.astype(z, computation_dtype(dtype))
    last, first = steps_of("bessel_jn: v", v), steps_of("bessel_jn: n_iter", n_iter)
    if last < 0 or first < 0:
        raise ValueError(f"bessel_jn: v and n_iter must not be negative, found {last} and {first}")
    is_zero = z == 0
    x = jnp.where(is_zero, 1, z)
    largest = float(np.finfo(typeof(z).dtype).max) ** 0.25
    orders = jnp.arange(first, 0, -1)

    def down(carry: Any, order: Any) -> Any:
        """A step from two orders to the next lower one, rescaled to avoid overflow."""
        above, here, total, wanted = carry
        below = 2 * order.astype(z.dtype) / x * here - above
        # All of them, once added up in pairs, are 1: by that they are scaled in the end.
        total = total + jnp.where(order % 2 == 1, jnp.where(order == 1, 1, 2), 0) * below
        numbers = jnp.arange(last + 1).reshape(-1, *[1] * typeof(z).ndim)
        wanted = jnp.where(numbers == order - 1, below, wanted)
        scale = jnp.where(jnp.abs(below) > largest, 1 / largest, 1)
        return (here * scale, below * scale, total * scale, wanted * scale), None

    start = jnp.zeros_like(z), jnp.full_like(z, 1 / largest), jnp.zeros_like(z)
    wanted = jnp.zeros((last + 1, *typeof(z).shape), z.dtype)
    (_, _, total, wanted), _ = lax.scan(down, (*start, wanted), orders)
    # There, as many terms of their series as have derivatives up to the second.
    terms = jnp.stack([1 - z * z / 4, z / 2, z * z / 8])[: last + 1]
    at_zero = jnp.zeros_like(wanted).at[:3].set(terms)
    return jnp.where(is_zero, at_zero, wanted / total).astype(dtype)


__all__ = ["bessel_jn", "i0e", "i1", "i1e"]
