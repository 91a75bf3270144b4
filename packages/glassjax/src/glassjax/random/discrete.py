"""Choices, permutations, and the binomial and Poisson distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.dimensions import expressions
from glassjax.dtypes import DTypeLike
from glassjax.lax.shapes import sizes_of
from glassjax.numpy.dtypes import default_float, default_int
from glassjax.random import continuous
from glassjax.random.continuous import Shape
from glassjax.random.gamma_family import poisson_numbers
from glassjax.random.keys import random_bits, single_key, split
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.settings.number_types import letter_of, result_type
from glassjax.shardings.types import takes_out_sharding
from glassjax_stage2 import bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axis
from glassjax_stage2.primitives import reshape_p
from glassjax_stage2.promotion import cast, to_inexact
from glassjax_stage2.shaped_array import typeof_named

# Random choices: permutations, samples, and categories by their probability.


@evaluated_by_library
@takes_out_sharding
def permutation(
    key: ArrayLike,
    x: ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Any = None,
) -> Array:
    """`x` in a random order.

    Arguments:
        key: the key.
        x: an array; or an int `n`, which means 0, 1, 2, ... up to `n`, exclusive.
        axis: the axis along which to permute elements.
        independent: whether to permute each row along the axis independently.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `x` is a scalar, but not a known integer.

    >>> from glassjax import random
    >>> random.permutation(random.key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    aval = typeof_named("permutation: x", x)
    if not aval.shape:
        canonical_axis("permutation", axis, 1)
        return _shuffled_integers(
            key, expressions.max_size(0, _count_of_integers("permutation: x", x))
        )
    return _permutation(key, x, axis, independent)


@operation(static="n")
def _shuffled_integers(key: Any, n: int) -> Any:
    return _shuffle(single_key("permutation", key), lax.iota(default_int(), n), 0)


@operation(static=("axis", "independent"))
def _permutation(key: Any, x: Any, axis: int, independent: bool) -> Any:
    key, shape = single_key("permutation", key), typeof(x).shape
    axis = canonical_axis("permutation", axis, len(shape))
    if independent or len(shape) == 1:
        return _shuffle(key, x, axis)
    order = _shuffle(key, lax.iota(default_int(), shape[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


@operation(static="axis")
def _shuffle(key: Any, x: Any, axis: int) -> Any:
    """Sort by random bits, often enough that ties are unlikely to matter."""
    shape = typeof(x).shape
    size = math.prod(shape)

    def sort(x: Any) -> Any:
        bits = random_bits(key_of_bits, 32, shape)
        return lax.sort((bits, x), dimension=axis, num_keys=1)[1]

    for least in _SORTED_AGAIN:
        if expressions.surely_less(size, least):
            break
        key, key_of_bits = continuous.new_keys(key, 2)
        if expressions.surely_at_least(size, least):
            x = sort(x)
        else:
            x = lax.cond(jnp.array(size) >= least, sort, lambda x: x, x)
    return x


# `n` numbers are sorted `ceil(3 * log(n) / log(2**32 - 1))` times: once more from each size.
_SORTED_AGAIN = 2, 1626, 2642246, 2**32


@evaluated_by_library
def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """A random sample of the elements of `a`.

    Arguments:
        key: the key.
        a: an array; or an int `n`, which means 0, 1, 2, ... up to `n`, exclusive.
        shape: the shape of the sample, which replaces `axis` in the result.
        replace: whether to sample with replacement.
        p: the probability of each element; uniform by default.
        axis: the axis along which to sample.
        mode: as for `gumbel`, for samples with probabilities and without replacement.

    Raises:
        TypeError: `a` is a scalar, but not a known integer.
        ValueError: there are too few elements, or `p` does not match them.

    >>> random.choice(random.key(0), jnp.array([10, 20, 30, 40]), (3,), replace=False)
    Array([10, 20, 40], dtype=int32)
    >>> random.choice(random.key(0), 3, (6,), p=jnp.array([0.1, 0.2, 0.7]))
    Array([0, 0, 2, 2, 2, 2], dtype=int32)
    """
    if not isinstance(shape, Sequence):
        raise TypeError(f"choice: shape must be a sequence of ints, found {shown(shape)}")
    aval, sizes = typeof_named("choice: a", a), sizes_of("choice", shape)
    if aval.shape:
        axis = canonical_axis("choice", axis, aval.ndim)
        count = aval.shape[axis]
    else:
        count = _count_of_integers("choice: a", a)
    draws = math.prod(sizes)
    if draws and count < 1:
        raise ValueError("choice: `a` has no elements to choose from")
    if not replace and draws > count:
        raise ValueError(
            f"choice: cannot take {draws} of {counted(count, 'element')} without replacement"
        )
    if p is not None and typeof_named("choice: p", p).shape != (count,):
        raise ValueError(f"choice: p must have shape {(count,)}, found {typeof(p).shape}")
    if aval.shape:
        return _choice(key, a, p, sizes, replace, axis, mode)
    return _choice_of_integers(key, p, count, sizes, replace, mode)


@operation(static=("count", "shape", "replace", "mode"))
def _choice_of_integers(
    key: Any, p: Any, count: int, shape: tuple[int, ...], replace: bool, mode: str | None
) -> Any:
    return lax.reshape(_chosen_indices(key, count, shape, replace, p, mode), shape)


@operation(static=("shape", "replace", "axis", "mode"))
def _choice(
    key: Any,
    a: Any,
    p: Any,
    shape: tuple[int, ...],
    replace: bool,
    axis: int,
    mode: str | None,
) -> Any:
    a_shape = typeof(a).shape
    if p is None and not replace:  # the first elements of a permutation
        shuffled = _permutation(key, a, axis, False)
        limits = [*a_shape[:axis], math.prod(shape), *a_shape[axis + 1 :]]
        taken = lax.slice(shuffled, [0] * len(a_shape), limits)
    else:
        taken = jnp.take(a, _chosen_indices(key, a_shape[axis], shape, replace, p, mode), axis)
    # an equation, as in JAX, even if the shape stays
    return bind1(reshape_p, taken, new_sizes=(*a_shape[:axis], *shape, *a_shape[axis + 1 :]))


def _chosen_indices(
    key: Any, count: int, shape: tuple[int, ...], replace: bool, p: Any, mode: str | None
) -> Any:
    """Return the indices of the elements to take, out of a given number."""
    key, draws = single_key("choice", key), math.prod(shape)
    if p is None:
        if replace:
            return continuous.randint(key, shape, 0, count)
        return lax.slice(_shuffled_integers(key, count), (0,), (draws,))
    p = to_inexact(p)
    if not replace:
        scores = continuous.gumbel(key, (count,), typeof(p).dtype, mode) + lax.log(p)
        return lax.convert_element_type(lax.top_k(scores, draws)[1], default_int())
    sums = jnp.cumsum(p)
    total = lax.reshape(lax.slice(sums, (count - 1,), (count,)), ())
    u = continuous.uniform_numbers(key, shape, typeof(sums).dtype, 0.0, 1.0)
    drawn = total * (1 - u)
    return lax.convert_element_type(jnp.searchsorted(sums, drawn), default_int())


@operation(static=("axis", "shape", "replace", "mode", "out_sharding"))
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Random categories with the probabilities `softmax(logits, axis)`.

    Arguments:
        key: the key.
        logits: logarithms of probabilities, up to a constant.
        axis: the axis of the categories.
        shape: the shape of the result, which ends with the shape of `logits` without `axis`; None:
            this shape.
        replace: whether to draw with replacement along the additional leading axes.
        mode: as in `gumbel`.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Returns:
        Integers: the indices of the categories along `axis`.

    Raises:
        ValueError: `shape` does not match, or there are too few categories to draw without
            replacement.

    >>> logits = jnp.log(jnp.array([0.1, 0.2, 0.7]))
    >>> random.categorical(random.key(0), logits, shape=(8,))
    Array([1, 2, 2, 1, 2, 2, 2, 2], dtype=int32)
    """
    key, logits_shape = single_key("categorical", key), typeof(logits).shape
    logits = to_inexact(logits)
    axis = canonical_axis("categorical", axis, len(logits_shape))
    batch = (*logits_shape[:axis], *logits_shape[axis + 1 :])
    sizes = batch if shape is None else sizes_of("categorical", shape)
    lead = len(sizes) - len(batch)
    if lead < 0 or sizes[lead:] != batch:
        raise ValueError(f"categorical: shape must end with {batch}, found {sizes}")
    dtype = typeof(logits).dtype
    if replace:
        noise = continuous.gumbel(key, (*sizes[:lead], *logits_shape), dtype, mode)
        return jnp.argmax(noise + logits, axis=lead + axis)
    draws = math.prod(sizes[:lead])
    if draws > logits_shape[axis]:
        raise ValueError(
            f"categorical: cannot draw {draws} of {logits_shape[axis]} categories without "
            "replacement"
        )
    scores = continuous.gumbel(key, logits_shape, dtype, mode) + logits
    _, places = lax.top_k(jnp.moveaxis(scores, axis, -1), draws)
    return lax.reshape(jnp.moveaxis(places, -1, 0), sizes)


def _count_of_integers(role: str, x: Any) -> int:
    """Return the number of elements denoted by a scalar."""
    if letter_of(typeof(x).dtype) not in "iu":
        raise TypeError(f"{role} must be an array with an axis, or an integer, found {typeof(x)}")
    return x if expressions.is_symbolic_dim(x) else int(x)


# The binomial distribution, by two rejection methods, and the multinomial one built on it.


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
        dtype: a real dtype; None: the default float.

    Returns:
        Whole numbers; NaN where `n` is negative or `p` outside 0 to 1, and infinity where `n` is.

    Raises:
        ValueError: `n` or `p` does not broadcast to `shape`, or `dtype` is not real.

    >>> random.binomial(random.key(0), 10, 0.5, (4,))
    Array([6., 7., 5., 6.], dtype=float32)
    """
    key, dtype = single_key("binomial", key), continuous.float_dtype("binomial", dtype)
    sizes, p = continuous.result_shape("binomial", shape, n, p), to_inexact(p)
    n, p = (jnp.asarray(continuous.broadcast_parameter(x, sizes, typeof(p).dtype)) for x in (n, p))
    is_rare = p < 0.5
    rarer_p = jnp.where(is_rare, p, 1 - p)  # the rarer of success and failure
    no_trials = jnp.isnan(n) | (n < 0)
    no_probability = ~(rarer_p >= 0)
    rarer = jnp.where(no_probability, 0.01, rarer_p)
    is_few = no_trials | (n * rarer <= 10)
    is_infinite = jnp.isinf(n)
    n = jnp.floor(n)
    is_many = ~is_few & ~is_infinite
    few = _binomial_by_waiting(key, jnp.where(is_few, n, 0), rarer)
    many = _binomial_by_rejection(key, jnp.where(is_many, n, 1e4), jnp.where(is_many, rarer, 0.5))
    drawn = jnp.where(is_few, few, many).astype(dtype)
    is_wrong = no_trials | no_probability
    drawn = jnp.where(is_wrong, math.nan, jnp.where(is_infinite, math.inf, drawn))
    return jnp.where(is_rare | is_infinite | is_wrong, drawn, n.astype(dtype) - drawn)


def _binomial_by_waiting(key: Any, n: Any, p: Any) -> Any:
    """Count successes by drawing the number of trials that each takes, up to `n` trials in all."""
    log_of_failure = jnp.log1p(-p)

    def binomial_waiting_step(state: Any) -> Any:
        count, trials, key = state
        key_of_u, key = continuous.new_keys(key, 2)
        count = jnp.where(trials <= n, count + 1, count)
        u = continuous.uniform_numbers(key_of_u, n.shape, n.dtype, 0.0, 1.0)
        return count, trials + jnp.ceil(jnp.log(u) / log_of_failure), key

    start = jnp.zeros_like(n), jnp.zeros_like(n), key
    count, _, _ = lax.while_loop(lambda state: jnp.any(state[1] <= n), binomial_waiting_step, start)
    return count - 1


def _binomial_by_rejection(key: Any, n: Any, p: Any) -> Any:
    """Algorithm BTRS of W. Hormann, "The generation of binomial random variates", 1993."""
    deviation = jnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    r = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = jnp.floor((n + 1) * p)

    def binomial_step(state: Any) -> Any:
        drawn, was_accepted, key = state
        key, key_of_u, key_of_v = continuous.new_keys(key, 3)
        u = continuous.uniform_numbers(key_of_u, n.shape, n.dtype, 0.0, 1.0) - 0.5
        v = continuous.uniform_numbers(key_of_v, n.shape, n.dtype, 0.0, 1.0)
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
    return lax.while_loop(lambda state: jnp.any(~state[1]), binomial_step, start)[0]


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
        shape: the shape of the result, including its last axis; None: the shape of `p`.
        dtype: the dtype of the result; None: the default float.
        unroll: as in `lax.scan`.

    >>> random.multinomial(random.key(0), 10, jnp.array([0.2, 0.3, 0.5]))
    Array([1., 1., 8.], dtype=float32)
    """
    key = single_key("multinomial", key)
    common = result_type(typeof(n), typeof(p))
    n, p = (to_inexact(cast(x, common)) for x in (n, p))
    sizes = continuous.result_shape("multinomial", typeof(p).shape if shape is None else shape, p)
    outcome_p = jnp.moveaxis(jnp.broadcast_to(p, sizes), -1, 0)
    # The count of an outcome is binomial among the trials left over by the outcomes before it.
    left = lax.cumsum(outcome_p, 0, reverse=True)
    shares = outcome_p / jnp.where(left == 0, 1, left)

    def draw_outcome(trials: Any, share_and_key: tuple[Any, Any]) -> tuple[Any, Any]:
        share, key = share_and_key
        count = binomial(key, trials, jnp.clip(share, 0, 1), dtype=typeof(trials).dtype)
        return trials - count, count

    trials = jnp.broadcast_to(n, sizes[:-1])
    keys = split(key, sizes[-1])
    _, counts = lax.scan(draw_outcome, trials, (shares, keys), unroll=unroll)
    return jnp.moveaxis(counts, 0, -1).astype(default_float() if dtype is None else dtype)


# The Poisson distribution, by rejection.


FLOAT = np.dtype(np.float32)


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
        shape: the shape of the result; None: the shape of `lam`.
        dtype: an integer dtype; None: the default int.
        method: "exact", or "approximate", which is faster, for it needs no loops.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Returns:
        Integers; -1 where `lam` is NaN.

    >>> random.poisson(random.key(0), 3.0, (6,))
    Array([0, 0, 4, 4, 1, 2], dtype=int32)
    """
    key, dtype = single_key("poisson", key), continuous.int_dtype("poisson", dtype)
    sizes = continuous.result_shape("poisson", shape, lam)
    if not continuous.is_exact("poisson", method):
        return poisson_numbers(key, lam, sizes, dtype)
    mean = continuous.broadcast_parameter(lam, sizes, FLOAT)
    is_small = (mean != mean) | (mean < 10)
    small = _poisson_by_products(key, jnp.where(is_small, mean, 0), dtype)
    large = _poisson_by_rejection(key, jnp.where(is_small, 1e5, mean), dtype)
    drawn = jnp.where(is_small, small, lax.convert_element_type(large, dtype))
    return jnp.where(mean == 0, 0, drawn)


def _largest_count(dtype: np.dtype[Any]) -> Any:
    return np.int32(min(np.iinfo(dtype).max, np.iinfo(np.int32).max))


def _poisson_by_products(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Count uniform numbers until their product is below `exp(-lam)` (Knuth)."""
    shape, least = typeof(lam).shape, -lam

    def product_cond(state: Any) -> Any:
        i, _, _, log_product = state
        return jnp.any(log_product > least) & (i < _largest_count(dtype))

    def product_step(state: Any) -> Any:
        i, count, key, log_product = state
        key, key_of_u = continuous.new_keys(key, 2)
        count = jnp.where(log_product > least, count + 1, count)
        log_u = lax.log(continuous.uniform_numbers(key_of_u, shape, FLOAT, 0.0, 1.0))
        return i + 1, count, key, log_product + log_u

    start = np.int32(0), lax.full(shape, 0, dtype), key, lax.full(shape, 0, FLOAT)
    _, count, _, _ = lax.while_loop(product_cond, product_step, start)
    return count - 1


def _poisson_by_rejection(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """PTRS (W. Hormann, "The transformed rejection method for Poisson variables", 1993)."""
    shape, log_lam = typeof(lam).shape, lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def rejection_cond(state: Any) -> Any:
        i, _, is_accepted, _ = state
        return jnp.any(~is_accepted) & (i < _largest_count(dtype))

    def poisson_step(state: Any) -> Any:
        i, drawn, was_accepted, key = state
        key, key_of_u, key_of_v = continuous.new_keys(key, 3)
        u = continuous.uniform_numbers(key_of_u, shape, FLOAT, 0.0, 1.0) - 0.5
        v = continuous.uniform_numbers(key_of_v, shape, FLOAT, 0.0, 1.0)
        rest = 0.5 - lax.abs(u)
        slope = 2 * a / rest + b
        k = lax.floor(slope * u + lam + 0.43)
        height = a / (rest * rest) + b
        s = lax.log(v * inverse_alpha / height)
        likelihood = -lam + k * log_lam - lax.lgamma(k + 1)
        is_inside = (rest >= 0.07) & (v <= v_r)
        is_outside = (k < 0) | ((rest < 0.013) & (v > rest))
        is_likely = ~is_outside & (s <= likelihood)
        is_accepted = is_inside | is_likely
        drawn = jnp.where(is_accepted, k, drawn)
        return i + 1, drawn, was_accepted | is_accepted, key

    start = np.int32(0), lax.full(shape, -1, FLOAT), lax.full(shape, False), key
    return lax.while_loop(rejection_cond, poisson_step, start)[1]
