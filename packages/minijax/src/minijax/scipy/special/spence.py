"""The dilogarithm, under scipy's name: Spence's function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.lax.special.polynomials import polynomial
from minijax.numpy.math.operands import strong_floats
from minijax.primitives.declare import unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof

# B(2k) / (2k + 1)! for the Bernoulli numbers B, highest k first.
_BERNOULLI = (
    4.518980029619918e-16, -1.9939295860721075e-14, 8.921691020456452e-13, -4.064761645144226e-11,
    1.8978869988970999e-09, -9.185773074661964e-08, 4.72411186696901e-06, -0.0002777777777777778,
    0.027777777777777776,
)  # fmt: skip


def _spence(x: Any) -> Any:
    """By 't Hooft and Veltman (Nuclear Physics B153, 1979, appendix A).

    In minus the logarithm of `x` it is a series of Bernoulli numbers, of which nine suffice between
    1/2 and 2; larger `x` are mapped to `1 / x`, smaller ones to `1 - x`.
    """
    is_positive = lax.bitwise_and(lax.gt(x, 0.0), lax.lt(x, math.inf))
    at = where(is_positive, x, 1.0)
    is_large = lax.gt(at, 2.0)
    y = where(is_large, lax.div(1.0, at), at)
    is_reflected = lax.lt(y, 0.5)
    log_x = lax.log(at)
    log_rest = lax.log1p(lax.neg(where(is_reflected, y, 0.0)))
    u = lax.neg(where(is_reflected, log_rest, log_x))
    square = lax.square(u)
    odd = lax.mul(u, lax.add(1.0, lax.mul(square, polynomial(_BERNOULLI, square))))
    out = lax.sub(odd, lax.mul(0.25, square))
    product = lax.mul(where(is_large, lax.neg(log_x), log_x), log_rest)
    out = where(is_reflected, lax.sub(lax.sub(math.pi**2 / 6, product), out), out)
    out = where(is_large, lax.sub(lax.mul(-0.5, lax.square(log_x)), out), out)
    out = where(lax.eq(x, 0.0), math.pi**2 / 6, where(lax.eq(x, math.inf), -math.inf, out))
    return where(lax.ge(x, 0.0), out, math.nan)


def _log(x: Any) -> Any:
    """The logarithm, even of subnormal numbers, which XLA flushes to zero: from their bits."""
    limits = np.finfo(typeof(x).dtype)
    bits = lax.bitcast_convert_type(lax.abs(x), np.dtype(f"int{limits.bits}"))
    log_of_count = lax.log(stage2.astype(bits, limits.dtype))
    subnormal = lax.add(log_of_count, math.log(2) * (limits.minexp - limits.nmant))
    return where(lax.lt(lax.abs(x), limits.tiny.item()), subnormal, lax.log(x))


def _spence_tangent(t: Any, out: Any, x: Any) -> Any:
    is_one = lax.eq(x, 1.0)
    slope = lax.div(_log(x), lax.sub(1.0, where(is_one, 0.0, x)))
    return lax.mul(t, where(is_one, -1.0, slope))


_spence_of = unary("spence", "", hlo=in_64_bits(_spence), kinds="f", jvp=_spence_tangent)


@operation
def spence(x: ArrayLike) -> Array:
    """The integral of `log(t) / (1 - t)` over t from 1 to `x`.

    Raises:
        TypeError: `x` is not an array of 32-bit or 64-bit floats.

    >>> f"{minijax.scipy.special.spence(2.0):.3f}", f"{-(jnp.pi**2) / 12:.3f}"
    ('-0.822', '-0.822')
    """
    if typeof(x).dtype not in (np.float32, np.float64):
        raise TypeError(f"spence: x must have dtype float32 or float64, found {typeof(x)}")
    return _spence_of(*strong_floats("spence", x))


__all__ = ["spence"]
