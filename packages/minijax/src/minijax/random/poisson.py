"""Poisson's distribution, by rejection."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.random.approximate import poisson_numbers
from minijax.random.arguments import Shape, int_dtype, is_exact, new_keys, result_shape, spread
from minijax.random.keys import single_key
from minijax.random.uniform import uniform_numbers
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof

FLOAT = np.dtype(np.float32)
real = FLOAT.type


@operation(static=("shape", "dtype", "method", "out_sharding"))
def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Array:
    """Numbers of the Poisson distribution with mean `lam`.

    Arguments:
        key: the key.
        lam: the nonnegative mean, or an array that broadcasts to `shape`.
        shape: the shape of the result; that of `lam` if not given.
        dtype: an integer dtype; the default int dtype if not given.
        method: "exact", or "approximate", which is faster, for it needs no loops.

    Returns:
        Integers; -1 where `lam` is NaN.

    >>> random.poisson(random.key(0), 3.0, (6,))
    Array([0, 0, 4, 4, 1, 2], dtype=int32)
    """
    key, dtype = single_key("poisson", key), int_dtype("poisson", dtype)
    sizes = result_shape("poisson", shape, lam)
    if not is_exact("poisson", method):
        return poisson_numbers(key, lam, sizes, dtype)
    lam = spread(lam, sizes, FLOAT)
    is_small = lax.bitwise_or(lax.ne(lam, lam), lax.lt(lam, real(10)))
    small = _by_products(key, jnp.where(is_small, lam, real(0)), dtype)
    large = _by_rejection(key, jnp.where(is_small, real(1e5), lam), dtype)
    drawn = jnp.where(is_small, small, lax.convert_element_type(large, dtype))
    return jnp.where(lax.eq(lam, real(0)), dtype.type(0), drawn)


def _most(dtype: np.dtype[Any]) -> Any:
    return np.int32(min(np.iinfo(dtype).max, np.iinfo(np.int32).max))


def _by_products(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Count uniform numbers until their product is below `exp(-lam)` (Knuth)."""
    shape, least = typeof(lam).shape, lax.neg(lam)

    def is_going(state: Any) -> Any:
        i, _, _, log_product = state
        return lax.bitwise_and(jnp.any(lax.gt(log_product, least)), lax.lt(i, _most(dtype)))

    def step(state: Any) -> Any:
        i, count, key, log_product = state
        key, key_of_u = new_keys(key, 2)
        more = lax.add(count, dtype.type(1))
        count = jnp.where(lax.gt(log_product, least), more, count)
        log_u = lax.log(uniform_numbers(key_of_u, shape, FLOAT))
        return lax.add(i, np.int32(1)), count, key, lax.add(log_product, log_u)

    start = np.int32(0), lax.full(shape, 0, dtype), key, lax.full(shape, 0, FLOAT)
    _, count, _, _ = lax.while_loop(is_going, step, start)
    return lax.sub(count, dtype.type(1))


def _by_rejection(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Rejection (W. Hormann, "The transformed rejection method for Poisson variables", 1993)."""
    shape, log_lam = typeof(lam).shape, lax.log(lam)
    b = lax.add(real(0.931), lax.mul(real(2.53), lax.sqrt(lam)))
    a = lax.add(real(-0.059), lax.mul(real(0.02483), b))
    inverse_alpha = lax.add(real(1.1239), lax.div(real(1.1328), lax.sub(b, real(3.4))))
    v_r = lax.sub(real(0.9277), lax.div(real(3.6224), lax.sub(b, real(2))))

    def is_going(state: Any) -> Any:
        i, _, is_accepted, _ = state
        return lax.bitwise_and(jnp.any(lax.bitwise_not(is_accepted)), lax.lt(i, _most(dtype)))

    def step(state: Any) -> Any:
        i, drawn, was_accepted, key = state
        key, key_of_u, key_of_v = new_keys(key, 3)
        u = lax.sub(uniform_numbers(key_of_u, shape, FLOAT), real(0.5))
        v = uniform_numbers(key_of_v, shape, FLOAT)
        rest = lax.sub(real(0.5), lax.abs(u))
        slope = lax.add(lax.div(lax.mul(real(2), a), rest), b)
        k = lax.floor(lax.add(lax.add(lax.mul(slope, u), lam), real(0.43)))
        height = lax.add(lax.div(a, lax.mul(rest, rest)), b)
        s = lax.log(lax.div(lax.mul(v, inverse_alpha), height))
        likelihood = lax.sub(
            lax.add(lax.neg(lam), lax.mul(k, log_lam)), lax.lgamma(lax.add(k, real(1)))
        )
        is_inside = lax.bitwise_and(lax.ge(rest, real(0.07)), lax.le(v, v_r))
        is_outside = lax.bitwise_or(
            lax.lt(k, real(0)),
            lax.bitwise_and(lax.lt(rest, real(0.013)), lax.gt(v, rest)),
        )
        is_likely = lax.bitwise_and(lax.bitwise_not(is_outside), lax.le(s, likelihood))
        is_accepted = lax.bitwise_or(is_inside, is_likely)
        drawn = jnp.where(is_accepted, k, drawn)
        return lax.add(i, np.int32(1)), drawn, lax.bitwise_or(was_accepted, is_accepted), key

    start = np.int32(0), lax.full(shape, -1, FLOAT), lax.full(shape, False), key
    return lax.while_loop(is_going, step, start)[1]


__all__ = ["poisson"]
