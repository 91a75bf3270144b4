"""Uniform distributions of real numbers and integers, and decisions made with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import sizes_of
from minijax.numpy.dtypes import default_int
from minijax.random.arguments import (
    Shape,
    as_dtype,
    finfo,
    float_dtype,
    int_dtype,
    new_keys,
    result_shape,
)
from minijax.random.bits import random_bits
from minijax.random.keys import single_key
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.shaped_array import dialect, is_inexact


@operation(static=("shape", "dtype", "out_sharding"))
def uniform(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: Any = None,
) -> Array:
    """Real numbers from `minval` up to `maxval`, exclusive.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; the default float dtype if not given.
        minval: the lowest number, or an array that broadcasts to `shape`.
        maxval: the limit, or an array that broadcasts to `shape`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, `dtype` not real, or a bound does not broadcast.

    >>> from minijax import random
    >>> random.uniform(random.key(0), (2,))
    Array([0.947667 , 0.9785799], dtype=float32)
    """
    key, dtype = single_key("uniform", key), float_dtype("uniform", dtype)
    sizes = result_shape("uniform", sizes_of("uniform", shape), minval, maxval)
    return uniform_numbers(key, sizes, dtype, minval, maxval)


def uniform_numbers(
    key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """`uniform` of checked arguments.

    Random bits become the fraction of a number from 1 to 2, since these are evenly spaced.
    """
    info = finfo(dtype)
    width = info.bits if info.nmant >= 8 else 8
    bits = random_bits(key, width, shape)
    words = np.dtype(f"uint{info.bits}")
    if width != info.bits:
        bits = lax.convert_element_type(bits, words)
    fraction = lax.shift_right_logical(bits, width - info.nmant)
    one = dialect().scalar(int(np.ones((), dtype).view(words)), words)
    numbers = lax.bitcast_convert_type(lax.bitwise_or(fraction, one), dtype)
    numbers = lax.sub(numbers, 1)
    minval, maxval = as_dtype(minval, dtype), as_dtype(maxval, dtype)
    scaled = lax.add(lax.mul(numbers, lax.sub(maxval, minval)), minval)
    return lax.max(minval, scaled)  # where rounding went below


@operation(static=("shape", "dtype", "out_sharding"))
def randint(
    key: ArrayLike,
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Integers from `minval` up to `maxval`, exclusive.

    Arguments:
        key: the key.
        shape: the shape of the result.
        minval: the lowest integer, or an array that broadcasts to `shape`.
        maxval: the limit, or an array that broadcasts to `shape`. If it is not above `minval`, the
            result is `minval`.
        dtype: an integer dtype; the default int dtype if not given. Bounds outside its range are
            clipped.

    Raises:
        TypeError: `key` is not a key, or `dtype` is not an integer dtype.
        ValueError: `key` is more than one, or a bound does not broadcast.

    >>> random.randint(random.key(0), (6,), 1, 7)
    Array([2, 1, 3, 2, 6, 4], dtype=int32)
    """
    key, dtype = single_key("randint", key), int_dtype("randint", dtype, TypeError)
    sizes = result_shape("randint", sizes_of("randint", shape), minval, maxval)
    info = np.iinfo(dtype)
    if info.bits >= 32:
        return _randint(key, sizes, _integers(minval), _integers(maxval), dtype)
    int32 = np.dtype(np.int32)  # in few bits numbers would not be equally likely
    low = _clip(as_dtype(minval, int32), info.min, info.max)
    limit = _clip(as_dtype(maxval, int32), info.min, info.max + 1)
    return lax.convert_element_type(_randint(key, sizes, low, limit, int32), dtype)


def _integers(x: Any) -> Any:
    """A bound as integers, rounded towards zero."""
    return x if typeof(x).dtype.kind in "iu" else as_dtype(x, default_int())


def _randint(
    key: Any, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: np.dtype[Any]
) -> Any:
    """A number of twice the bits, modulo the number of possible results."""
    info, words = np.iinfo(dtype), np.dtype(f"uint{dtype.itemsize * 8}")
    largest = min(np.iinfo(typeof(maxval).dtype).max, info.max)
    is_beyond = lax.gt(maxval, typeof(maxval).dtype.type(largest))
    minval, maxval = _clip_to(minval, dtype), _clip_to(maxval, dtype)
    high, low = (random_bits(each, info.bits, shape) for each in new_keys(key, 2))
    one = words.type(1)
    is_empty = lax.le(maxval, minval)
    span = lax.convert_element_type(lax.sub(maxval, minval), words)
    span = jnp.where(is_empty, one, span)
    # Where all numbers up to the largest are wanted, there is one more; 0 stands for all there are.
    span = jnp.where(
        lax.bitwise_and(is_beyond, lax.bitwise_not(is_empty)), lax.add(span, one), span
    )
    multiplier = lax.rem(words.type(2 ** (info.bits // 2)), span)
    multiplier = lax.rem(lax.mul(multiplier, multiplier), span)
    offset = lax.add(lax.mul(lax.rem(high, span), multiplier), lax.rem(low, span))
    return lax.add(minval, lax.convert_element_type(lax.rem(offset, span), dtype))


def _clip(x: Any, low: int, high: int) -> Any:
    number = typeof(x).dtype.type
    return lax.min(lax.max(x, number(low)), number(high))


def _clip_to(x: Any, dtype: np.dtype[Any]) -> Any:
    """Integers converted to another dtype, clipped to its range."""
    of_x, info = np.iinfo(typeof(x).dtype), np.iinfo(dtype)
    x = _clip(x, max(of_x.min, info.min), min(of_x.max, info.max))
    return lax.convert_element_type(x, dtype)


@operation(static=("shape", "mode", "out_sharding"))
def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Array:
    """Booleans that are true with probability `p`.

    Arguments:
        key: the key.
        p: the probability, or an array of them.
        shape: the shape of the result; that of `p` by default.
        mode: "low" (by default), or "high", which draws twice as many bits, so that small
            probabilities are exact.

    Raises:
        TypeError: `p` is not a real number.
        ValueError: `mode` is something else, or `p` does not broadcast to `shape`.

    >>> heads = random.bernoulli(random.key(0), 0.25, (1000,))
    >>> heads.dtype, f"{jnp.mean(heads):.2f}"
    (dtype('bool'), '0.24')
    """
    if mode not in ("low", "high"):
        raise ValueError(f"bernoulli: mode must be 'low' or 'high', found {mode!r}")
    key, dtype = single_key("bernoulli", key), typeof(p).dtype
    if not is_inexact(dtype) or dtype.kind == "c":
        raise TypeError(f"bernoulli: p must be a real number, found {typeof(p)}")
    sizes = result_shape("bernoulli", shape, p)
    if mode == "low":
        return lax.lt(uniform_numbers(key, sizes, dtype), p)
    pair = uniform_numbers(key, (2, *sizes), dtype)
    coarse, fine = (
        lax.reshape(lax.slice(pair, (i, *[0] * len(sizes)), (i + 1, *sizes)), sizes)
        for i in range(2)
    )
    fine = lax.mul(fine, dtype.type(finfo(dtype).eps))
    return lax.lt(fine, lax.sub(p, coarse))


@operation(static=("shape", "dtype", "out_sharding"))
def rademacher(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """-1 or 1 with equal probability; integers if no `dtype` is given.

    >>> random.rademacher(random.key(0), (6,))
    Array([-1, -1,  1,  1, -1,  1], dtype=int32)
    """
    dtype = (
        int_dtype("rademacher", None) if dtype is None else dialect().dtype_of("rademacher", dtype)
    )
    signs = lax.convert_element_type(bernoulli(key, 0.5, sizes_of("rademacher", shape)), dtype)
    return lax.sub(lax.mul(dtype.type(2), signs), dtype.type(1))


__all__ = ["bernoulli", "rademacher", "randint", "uniform"]
