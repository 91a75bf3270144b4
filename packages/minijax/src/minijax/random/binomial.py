"""The binomial distribution, by two rejection methods, and the multinomial one built on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.numpy.dtypes import default_float
from minijax.random.arguments import Shape, float_dtype, new_keys, result_shape, spread
from minijax.random.keys import single_key, split
from minijax.random.uniform import uniform_numbers
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import result_type
from minijax_stage2 import typeof
from minijax_stage2.promotion import cast, to_inexact


@operation(static=("shape", "dtype"))
def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """The number of successes in `n` trials with probability `p` each, as real numbers.

    Arguments:
        key: the key.
        n: the number of trials, or an array that broadcasts to `shape`.
        p: the probability, from 0 to 1, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of `n` and `p`.
        dtype: a real dtype; the default float dtype if not given.

    Returns:
        Whole numbers; NaN where `n` is negative or `p` outside 0 to 1, and infinity where `n` is.

    Raises:
        ValueError: `n` or `p` does not broadcast to `shape`, or `dtype` is not real.

    >>> random.binomial(random.key(0), 10, 0.5, (4,))
    Array([6., 7., 5., 6.], dtype=float32)
    """
    key, dtype = single_key("binomial", key), float_dtype("binomial", dtype)
    sizes, p = result_shape("binomial", shape, n, p), to_inexact(p)
    n, p = (jnp.asarray(spread(x, sizes, typeof(p).dtype)) for x in (n, p))
    is_rare = p < 0.5
    of_rarer = jnp.where(is_rare, p, 1 - p)  # a success, or else a failure
    no_trials = jnp.isnan(n) | (n < 0)
    no_probability = ~(of_rarer >= 0)
    rarer = jnp.where(no_probability, 0.01, of_rarer)
    is_few = no_trials | (n * rarer <= 10)
    is_infinite = jnp.isinf(n)
    n = jnp.floor(n)
    is_many = ~is_few & ~is_infinite
    few = _by_waiting(key, jnp.where(is_few, n, 0), rarer)
    many = _by_rejection(key, jnp.where(is_many, n, 1e4), jnp.where(is_many, rarer, 0.5))
    drawn = jnp.where(is_few, few, many).astype(dtype)
    is_wrong = no_trials | no_probability
    drawn = jnp.where(is_wrong, math.nan, jnp.where(is_infinite, math.inf, drawn))
    return jnp.where(is_rare | is_infinite | is_wrong, drawn, n.astype(dtype) - drawn)


def _by_waiting(key: Any, n: Any, p: Any) -> Any:
    """Count successes by drawing the number of trials that each takes, up to `n` trials in all."""
    log_of_failure = jnp.log1p(-p)

    def step(state: Any) -> Any:
        count, trials, key = state
        key_of_u, key = new_keys(key, 2)
        count = jnp.where(trials <= n, count + 1, count)
        u = uniform_numbers(key_of_u, n.shape, n.dtype)
        return count, trials + jnp.ceil(jnp.log(u) / log_of_failure), key

    start = jnp.zeros_like(n), jnp.zeros_like(n), key
    count, _, _ = lax.while_loop(lambda state: jnp.any(state[1] <= n), step, start)
    return count - 1


def _by_rejection(key: Any, n: Any, p: Any) -> Any:
    """Algorithm BTRS of W. Hormann, "The generation of binomial random variates", 1993."""
    deviation = jnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    r = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = jnp.floor((n + 1) * p)

    def step(state: Any) -> Any:
        drawn, was_accepted, key = state
        key, key_of_u, key_of_v = new_keys(key, 3)
        u = uniform_numbers(key_of_u, n.shape, n.dtype) - 0.5
        v = uniform_numbers(key_of_v, n.shape, n.dtype)
        rest = 0.5 - jnp.abs(u)
        is_inside = (rest >= 0.07) & (v <= v_r)
        k = jnp.floor((2 * a / rest + b) * u + c)
        is_outside = (k < 0) | (k > n)
        bound = (
            (m + 0.5) * jnp.log((m + 1) / (r * (n - m + 1)))
            + (n + 1) * jnp.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * jnp.log(r * (n - k + 1) / (k + 1))
            + _stirling_tail(m)
            + _stirling_tail(n - m)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )
        is_likely = jnp.log(v * alpha / (a / (rest * rest) + b)) <= bound
        is_accepted = is_inside | (~is_outside & is_likely)
        return jnp.where(is_accepted, k, drawn), was_accepted | is_accepted, key

    start = jnp.full_like(n, -1), jnp.zeros_like(n, bool), key
    return lax.while_loop(lambda state: jnp.any(~state[1]), step, start)[0]


def _stirling_tail(k: Any) -> Any:
    """The remainder of Stirling's formula for `log(k!)`: a table, and from 10 on a series."""
    table = jnp.asarray(_TAILS, k.dtype)
    near = jnp.clip(k, 0, 9)
    square = (near + 1) * (near + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (near + 1)
    return jnp.where(k <= 9, table[jnp.floor(near).astype(np.int32)], series)


_TAILS = np.array(
    [
        math.lgamma(k + 1) - (0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - k - 1)
        for k in range(10)
    ]
)


@operation(static=("shape", "dtype", "unroll"))
def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """The counts of several outcomes in `n` trials, as real numbers.

    Arguments:
        key: the key.
        n: the number of trials, or an array that broadcasts to the shape without its last axis.
        p: the probabilities, along the last axis.
        shape: the shape of the result, including its last axis; that of `p` by default.
        dtype: the dtype of the result; the default float dtype if not given.
        unroll: as for `lax.scan`.

    >>> random.multinomial(random.key(0), 10, jnp.array([0.2, 0.3, 0.5]))
    Array([1., 1., 8.], dtype=float32)
    """
    key = single_key("multinomial", key)
    meeting = result_type(typeof(n), typeof(p))
    n, p = (to_inexact(cast(x, meeting)) for x in (n, p))
    sizes = result_shape("multinomial", typeof(p).shape if shape is None else shape, p)
    of_each = jnp.moveaxis(jnp.broadcast_to(p, sizes), -1, 0)
    # Of the trials in which nothing has happened yet, one after the other has its share.
    left = lax.cumsum(of_each, 0, reverse=True)
    shares = of_each / jnp.where(left == 0, 1, left)

    def draw(trials: Any, share_and_key: tuple[Any, Any]) -> tuple[Any, Any]:
        share, key = share_and_key
        count = binomial(key, trials, jnp.clip(share, 0, 1), dtype=typeof(trials).dtype)
        return trials - count, count

    trials = jnp.broadcast_to(n, sizes[:-1])
    keys = split(key, sizes[-1])
    _, counts = lax.scan(draw, trials, (shares, keys), unroll=unroll)
    return jnp.moveaxis(counts, 0, -1).astype(default_float() if dtype is None else dtype)


__all__ = ["binomial", "multinomial"]
