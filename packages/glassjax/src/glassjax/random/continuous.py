"""Uniform and normal numbers, and the continuous distributions that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax import numpy as jnp
from glassjax.dtypes import DTypeLike
from glassjax.lax.shapes import sizes_of
from glassjax.numpy.dtypes import default_float, default_int
from glassjax.random.keys import random_bits, random_split_p, single_key
from glassjax.runtime.array import Array, ArrayLike, to_array
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import letter_of, result_type
from glassjax_stage2 import bind1, broadcast_to, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.promotion import broadcast_shapes, cast, to_inexact
from glassjax_stage2.shaped_array import dialect, is_inexact

# Arguments shared by the distributions: dtypes, and the shapes of results.


Shape = int | Sequence[int]


finfo: Callable[[Any], Any] = ml_dtypes.finfo


def float_dtype(caller: str, dtype: Any) -> np.dtype[Any]:
    """The dtype of a real result, the default one if not given."""
    found: np.dtype[Any] = default_float() if dtype is None else dialect().dtype_of(caller, dtype)
    if not is_inexact(found) or found.kind == "c":
        raise ValueError(f"{caller}: expected a dtype of real numbers, found {found}")
    return found


def int_dtype(caller: str, dtype: Any, error: type[Exception] = ValueError) -> np.dtype[Any]:
    """The dtype of an integer result, the default one if not given."""
    found: np.dtype[Any] = default_int() if dtype is None else dialect().dtype_of(caller, dtype)
    if letter_of(found) not in "iu":
        raise error(f"{caller}: expected a dtype of integers, found {found}")
    return found


def result_shape(caller: str, shape: Shape | None, *parameters: Any) -> tuple[int, ...]:
    """`shape` as a tuple, to which the parameters must broadcast; theirs if it is None.

    Raises:
        ValueError: a parameter does not broadcast to `shape`.
    """
    return broadcast_sizes(caller, shape, *(typeof(parameter).shape for parameter in parameters))


def broadcast_sizes(caller: str, shape: Shape | None, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """`result_shape` of parameters of these shapes."""
    common = broadcast_shapes((), *shapes)
    if shape is None:
        return common
    sizes = sizes_of(caller, shape)
    try:
        fits = broadcast_shapes(sizes, common) == sizes
    except ValueError:
        fits = False
    if not fits:
        found = " and ".join(map(str, shapes))
        raise ValueError(
            f"{caller}: parameters of shape {found} do not broadcast to the shape {sizes}; a "
            "shape is that of the whole result"
        )
    return sizes


def is_exact(caller: str, method: str) -> bool:
    """Return True if `method` is "exact", not "approximate".

    Raises:
        ValueError: there is no such method.
    """
    if method not in ("exact", "approximate"):
        raise ValueError(f'{caller}: method is "exact" or "approximate", found {shown(method)}')
    return method == "exact"


def as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """The parameter `x` of a distribution in the dtype of its result."""
    if isinstance(x, int | float):
        return dtype.type(x)
    if typeof(x).dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"the parameters of a real distribution must be real, found {typeof(x)}")
    return lax.convert_element_type(x, dtype)


def broadcast_parameter(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The parameter `x` as an array of the dtype and shape of the result."""
    return broadcast_to(to_array(as_dtype(x, dtype)), shape)


def new_keys(key: Any, count: int) -> tuple[Any, ...]:
    """The keys that `split` makes from a single typed key."""
    return lax.unstack(bind1(random_split_p, key, shape=(count,)))


# Uniform distributions of real numbers, integers, booleans and signs.


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
        dtype: a real dtype; None: the default float.
        minval: the lowest number, or an array that broadcasts to `shape`.
        maxval: the limit, or an array that broadcasts to `shape`.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, `dtype` not real, or a bound does not broadcast.

    >>> from glassjax import random
    >>> random.uniform(random.key(0), (2,))
    Array([0.947667 , 0.9785799], dtype=float32)
    """
    key, dtype = single_key("uniform", key), float_dtype("uniform", dtype)
    sizes = result_shape("uniform", sizes_of("uniform", shape), minval, maxval)
    return uniform_numbers(key, sizes, dtype, minval, maxval)


@operation(static=("shape", "dtype"))
def uniform_numbers(
    key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], minval: Any, maxval: Any
) -> Any:
    """`uniform` of checked arguments.

    Random bits become the fraction of a number from 1 to 2, since these are evenly spaced.
    """
    minval, maxval = as_dtype(minval, dtype), as_dtype(maxval, dtype)
    minval, maxval = (lax.broadcast_to_rank(x, len(shape)) for x in (minval, maxval))
    info = finfo(dtype)
    width = info.bits if info.nmant >= 8 else 8
    bits = random_bits(key, width, shape)
    words = np.dtype(f"uint{info.bits}")
    if width != info.bits:
        bits = lax.convert_element_type(bits, words)
    fraction = lax.shift_right_logical(*stage2.promote(bits, width - info.nmant))
    one = dialect().scalar(int(np.ones((), dtype).view(words)), words)
    numbers = lax.bitcast_convert_type(fraction | one, dtype) - 1
    # Rounding may fall below `minval`.
    return lax.max(*stage2.promote(minval, numbers * (maxval - minval) + minval))


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
        dtype: an integer dtype; None: the default int. Bounds outside its range are
            clipped.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key, or `dtype` is not an integer dtype.
        ValueError: `key` is more than one, or a bound does not broadcast.

    >>> random.randint(random.key(0), (6,), 1, 7)
    Array([2, 1, 3, 2, 6, 4], dtype=int32)
    """
    key, dtype = single_key("randint", key), int_dtype("randint", dtype, TypeError)
    sizes = result_shape("randint", sizes_of("randint", shape), minval, maxval)
    info = ml_dtypes.iinfo(dtype)
    if info.bits >= 32:
        return _randint(key, sizes, _integers(minval), _integers(maxval), dtype)
    int32 = np.dtype(np.int32)  # few bits modulo the span are far from uniform
    low = jnp.clip(as_dtype(minval, int32), info.min, info.max)
    limit = jnp.clip(as_dtype(maxval, int32), info.min, info.max + 1)
    return lax.convert_element_type(_randint(key, sizes, low, limit, int32), dtype)


def _integers(x: Any) -> Any:
    """A bound as integers, rounded towards zero."""
    return x if letter_of(typeof(x).dtype) in "iu" else as_dtype(x, default_int())


def _randint(
    key: Any, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: np.dtype[Any]
) -> Any:
    """A number of twice the bits, modulo the number of possible results."""
    bits, words = 8 * dtype.itemsize, np.dtype(f"uint{8 * dtype.itemsize}")
    largest = _clip_to(dtype.type(np.iinfo(dtype).max), typeof(maxval).dtype)
    is_beyond = lax.gt(maxval, largest)
    minval, maxval = (
        lax.expand_dims(x, range(len(shape) - typeof(x).ndim))
        for x in (_clip_to(minval, dtype), _clip_to(maxval, dtype))
    )
    high, low = (random_bits(each, bits, shape) for each in new_keys(key, 2))
    span = lax.convert_element_type(maxval - minval, words)
    span = lax.select(maxval <= minval, lax.full_like(span, 1), span)
    # If the largest integer is included, the span is one more; it wraps to 0 for all integers.
    span = lax.select(is_beyond & (maxval > minval), span + 1, span)
    multiplier = lax.rem(*stage2.promote(2 ** (bits // 2), span))
    multiplier = lax.rem(multiplier * multiplier, span)
    offset = lax.rem(high, span) * multiplier + lax.rem(low, span)
    return minval + lax.convert_element_type(lax.rem(offset, span), dtype)


def _clip_to(x: Any, dtype: np.dtype[Any]) -> Any:
    """Integers converted to another dtype, clipped to its range."""
    x_info, info = np.iinfo(typeof(x).dtype), np.iinfo(dtype)
    low, high = max(x_info.min, info.min), min(x_info.max, info.max)
    number = int if typeof(x).weak_type else typeof(x).dtype.type
    return lax.convert_element_type(jnp.clip(x, number(low), number(high)), dtype)


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
        shape: the shape of the result; None: the shape of `p`.
        mode: "low" (by default), or "high", which draws twice as many bits, so that small
            probabilities are exact.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

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
    return _bernoulli(key, as_dtype(p, dtype), sizes, mode)


@operation(static=("sizes", "mode"))
def _bernoulli(key: Any, p: Any, sizes: tuple[int, ...], mode: str) -> Any:
    dtype = typeof(p).dtype
    if mode == "low":
        return uniform_numbers(key, sizes, dtype, 0.0, 1.0) < p
    pair = uniform_numbers(key, (2, *sizes), dtype, 0.0, 1.0)
    coarse, fine = (
        lax.reshape(lax.slice(pair, (i, *[0] * len(sizes)), (i + 1, *sizes)), sizes)
        for i in range(2)
    )
    return fine * float(finfo(dtype).eps) < p - coarse


@operation(static=("shape", "dtype", "out_sharding"))
def rademacher(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """-1 or 1 with equal probability.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: the dtype of the result; None: the default int.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    >>> random.rademacher(random.key(0), (6,))
    Array([-1, -1,  1,  1, -1,  1], dtype=int32)
    """
    dtype = (
        int_dtype("rademacher", None) if dtype is None else dialect().dtype_of("rademacher", dtype)
    )
    signs = lax.convert_element_type(bernoulli(key, 0.5, sizes_of("rademacher", shape)), dtype)
    return 2 * signs - 1


# The normal, truncated normal and lognormal distributions.


ONE = np.float32(1.0)


@operation(static=("shape", "dtype", "out_sharding"))
def normal(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the normal distribution with mean 0 and variance 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a dtype of real or complex numbers; None: the default float. Real and
            imaginary parts of complex numbers have variance 1/2 each.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` neither real nor complex.

    >>> from glassjax import random
    >>> random.normal(random.key(0), (2,))
    Array([1.6226422, 2.0252647], dtype=float32)
    """
    key, sizes = single_key("normal", key), sizes_of("normal", shape)
    if dtype is None or dialect().dtype_of("normal", dtype).kind != "c":
        return normal_numbers(key, sizes, float_dtype("normal", dtype))
    dtype = dialect().dtype_of("normal", dtype)
    part = np.finfo(dtype).dtype
    real, imaginary = (
        lax.convert_element_type(normal_numbers(each, sizes, part), dtype)
        for each in new_keys(key, 2)
    )
    return (real + 1j * imaginary) / math.sqrt(2)


@operation(static=("shape", "dtype"))
def normal_numbers(
    key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], stddev: Any = None
) -> Any:
    """`normal` of checked arguments, times `stddev` if given.

    The two factors are multiplied first, so that each number is rounded once.
    """
    above_minus_1 = np.nextafter(dtype.type(-1), dtype.type(0), dtype=dtype)
    u = uniform_numbers(key, shape, dtype, above_minus_1, dtype.type(1))
    sqrt2 = dtype.type(np.sqrt(2))
    if stddev is None:
        return sqrt2 * lax.erf_inv(u)
    return stage2.mul(sqrt2, stddev) * lax.erf_inv(u)


@operation(static=("shape", "dtype", "out_sharding"))
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of the normal distribution truncated to `lower` and `upper`.

    Arguments:
        key: the key.
        lower: the lower bound, or an array that broadcasts to `shape`.
        upper: the upper bound, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the bounds.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError: a bound does not broadcast to `shape`, or `dtype` is not real.

    >>> x = random.truncated_normal(random.key(0), -1.0, 2.0, (1000,))
    >>> bool(jnp.all((x >= -1) & (x <= 2)))
    True
    """
    key, dtype = single_key("truncated_normal", key), float_dtype("truncated_normal", dtype)
    sizes = result_shape("truncated_normal", shape, lower, upper)
    lower, upper = as_dtype(lower, dtype), as_dtype(upper, dtype)
    sqrt2 = dtype.type(np.sqrt(2))
    u = uniform_numbers(
        key, sizes, dtype, lax.erf(stage2.div(lower, sqrt2)), lax.erf(stage2.div(upper, sqrt2))
    )
    out = sqrt2 * lax.erf_inv(u)
    infinity = dtype.type(np.inf)
    above = lax.nextafter(lax.stop_gradient(lower), infinity)
    below = lax.nextafter(lax.stop_gradient(upper), -infinity)
    return jnp.clip(out, above, below)


@operation(static=("shape", "dtype", "out_sharding"))
def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = ONE,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers whose logarithm is normally distributed with standard deviation `sigma`.

    Arguments:
        key: the key.
        sigma: the standard deviation, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> x = random.lognormal(random.key(0), 0.5, (1000,))
    >>> f"{jnp.std(jnp.log(x)):.1f}"
    '0.5'
    """
    sizes = result_shape("lognormal", shape, sigma)
    numbers = normal(single_key("lognormal", key), sizes, dtype)
    return lax.exp(numbers * broadcast_parameter(sigma, sizes, typeof(numbers).dtype))


# Continuous distributions, by transforming uniform and normal samples.


@operation(static=("shape", "dtype", "out_sharding"))
def maxwell(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the Maxwell distribution: lengths of three-dimensional normal vectors.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.maxwell(random.key(0), (1000,))
    >>> f"{jnp.mean(x**2):.0f}"
    '3'
    """
    key, dtype = single_key("maxwell", key), float_dtype("maxwell", dtype)
    vectors = normal_numbers(key, (*sizes_of("maxwell", shape), 3), dtype)
    return lax.sqrt(jnp.sum(vectors * vectors, axis=-1))


@operation(static=("shape", "dtype"))
def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Numbers of the Maxwell distribution with a random sign, times `scale`, plus `loc`.

    The result has the shape `shape` followed by the broadcast shape of `loc` and `scale`, as in
    JAX.

    Arguments:
        key: the key.
        loc: the center, or an array of centers.
        scale: the factor, or an array that broadcasts with `loc`.
        shape: the leading axes of the result; as in JAX, the broadcast shape of `loc` and `scale`
            follows.
        dtype: a real dtype; None: the default float.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> random.double_sided_maxwell(random.key(0), 1.0, jnp.array([2.0, 3.0]), (4,)).shape
    (4, 2)
    """
    key = single_key("double_sided_maxwell", key)
    dtype = float_dtype("double_sided_maxwell", dtype)
    parameters_shape = result_shape("", None, loc, scale)
    sizes = (sizes_of("double_sided_maxwell", shape) or parameters_shape) + parameters_shape
    key_of_lengths, key_of_signs = new_keys(key, 2)
    lengths = maxwell(key_of_lengths, sizes, dtype)
    signs = rademacher(key_of_signs, sizes, dtype)
    scaled = signs * lengths * as_dtype(scale, dtype)
    return scaled + as_dtype(loc, dtype)


@operation(static=("shape", "dtype", "out_sharding"))
def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of the Wald (inverse Gaussian) distribution with mean `mean` and scale 1.

    (J. Michael and others, "Generating random variates using transformations with multiple
    roots", 1976.)

    Arguments:
        key: the key.
        mean: the positive mean, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> x = random.wald(random.key(0), 2.0, (1000,))
    >>> bool(jnp.all(x > 0))
    True
    """
    key, dtype = single_key("wald", key), float_dtype("wald", dtype)
    sizes = result_shape("wald", shape, mean)
    mean = broadcast_parameter(mean, sizes, dtype)
    key_of_v, key_of_u = new_keys(key, 2)
    v = normal_numbers(key_of_v, sizes, dtype)
    u = uniform_numbers(key_of_u, sizes, dtype, 0.0, 1.0)
    y = lax.square(v)
    mean_squared = lax.square(mean)
    root = lax.sqrt(4 * mean * y + mean_squared * lax.square(y))
    x = mean + mean_squared * y / 2 - mean / 2 * root
    is_first = u <= mean / (mean + x)
    return jnp.where(is_first, x, mean_squared / x)


@operation(static=("shape", "dtype", "out_sharding"))
def exponential(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the exponential distribution with mean 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.exponential(random.key(0), (1000,))
    >>> bool(jnp.all(x >= 0)), f"{jnp.mean(x):.1f}"
    (True, '1.0')
    """
    dtype = float_dtype("exponential", dtype)
    key, sizes = single_key("exponential", key), sizes_of("exponential", shape)
    u = uniform_numbers(key, sizes, dtype, 0.0, 1.0)
    return -lax.log1p(-u)  # 1 - u is never 0


@operation(static=("shape", "dtype", "out_sharding"))
def laplace(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the Laplace distribution with mean 0 and scale 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.laplace(random.key(0), (1000,))
    >>> f"{jnp.mean(jnp.abs(x)):.1f}"
    '1.0'
    """
    key, dtype = single_key("laplace", key), float_dtype("laplace", dtype)
    low = dtype.type(-1 + finfo(dtype).epsneg)
    u = uniform_numbers(key, sizes_of("laplace", shape), dtype, low, 1.0)
    return lax.sign(u) * lax.log1p(-lax.abs(u))


@operation(static=("shape", "dtype", "out_sharding"))
def logistic(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the logistic distribution with mean 0 and scale 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.logistic(random.key(0), (1000,))
    >>> f"{jnp.mean(nn.sigmoid(x)):.1f}"
    '0.5'
    """
    key, dtype = single_key("logistic", key), float_dtype("logistic", dtype)
    u = uniform_numbers(key, sizes_of("logistic", shape), dtype, _tiny(dtype), 1.0)
    return lax.log(u) - lax.log1p(-u)


@operation(static=("shape", "dtype", "out_sharding"))
def cauchy(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the Cauchy distribution with median 0 and scale 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.cauchy(random.key(0), (1000,))
    >>> f"{jnp.median(x):.1f}"
    '0.0'
    """
    key, dtype = single_key("cauchy", key), float_dtype("cauchy", dtype)
    low = dtype.type(finfo(dtype).eps)
    u = uniform_numbers(key, sizes_of("cauchy", shape), dtype, low, 1.0)
    return lax.tan(math.pi * (u - 0.5))


@operation(static=("shape", "dtype", "mode", "out_sharding"))
def gumbel(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of the Gumbel distribution with location 0 and scale 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; None: the default float.
        mode: "low" (by default), or "high", which draws twice as many bits, so that large numbers
            have the right probability.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError: `mode` is something else, or `dtype` not real.

    >>> logits = jnp.log(jnp.array([0.1, 0.2, 0.7]))
    >>> jnp.argmax(logits + random.gumbel(random.key(0), (3,)))
    Array(1, dtype=int32)
    """
    if mode not in (None, "low", "high"):
        raise ValueError(f"gumbel: mode must be 'low' or 'high', found {mode!r}")
    key, dtype = single_key("gumbel", key), float_dtype("gumbel", dtype)
    sizes = sizes_of("gumbel", shape)
    if mode != "high":
        u = uniform_numbers(key, sizes, dtype, minval=_tiny(dtype), maxval=1.0)
        return -lax.log(-lax.log(u))
    pair = uniform_numbers(key, (2, *sizes), dtype, 0.0, 1.0)
    high, low = (
        lax.reshape(lax.slice(pair, (i, *[0] * len(sizes)), (i + 1, *sizes)), sizes)
        for i in range(2)
    )
    # Near 0 the second uniform number supplies the low bits that the first lacks.
    fine = high + float(finfo(dtype).eps) * low + _tiny(dtype)
    u = jnp.where(high >= 0.5, high, fine)
    return -lax.log(-lax.log1p(-u))


@operation(static=("shape", "dtype", "out_sharding"))
def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of the Pareto distribution with shape parameter `b`, from 1 on.

    Arguments:
        key: the key.
        b: the positive shape parameter, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> x = random.pareto(random.key(0), 3.0, (1000,))
    >>> bool(jnp.all(x >= 1)), f"{jnp.median(x):.1f}"
    (True, '1.3')
    """
    key, dtype = single_key("pareto", key), float_dtype("pareto", dtype)
    sizes = result_shape("pareto", shape, b)
    return lax.exp(exponential(key, sizes, dtype) / as_dtype(b, dtype))


@operation(static=("shape", "dtype", "out_sharding"))
def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of the Rayleigh distribution: lengths of normal vectors in the plane, times `scale`.

    Arguments:
        key: the key.
        scale: the positive scale, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> x = random.rayleigh(random.key(0), 2.0, (1000,))
    >>> f"{jnp.mean(x**2):.0f}"
    '8'
    """
    key, dtype = single_key("rayleigh", key), float_dtype("rayleigh", dtype)
    sizes = result_shape("rayleigh", shape, scale)
    root = lax.sqrt(lax.log(uniform_numbers(key, sizes, dtype, 0.0, 1.0)) * -2)
    return broadcast_parameter(scale, sizes, dtype) * root


@operation(static=("shape", "dtype"))
def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Numbers of the Weibull distribution with these parameters.

    Arguments:
        key: the key.
        scale: the factor, or an array that broadcasts to `shape`.
        concentration: the positive shape parameter, or an array that broadcasts to `shape`.
        shape: the shape of the result.
        dtype: a real dtype; None: the default float.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.weibull_min(random.key(0), 2.0, 1.5, (1000,))
    >>> bool(jnp.all(x >= 0))
    True
    """
    key, dtype = single_key("weibull_min", key), float_dtype("weibull_min", dtype)
    negative_log = exponential(key, sizes_of("weibull_min", shape), dtype)
    return jnp.power(negative_log, jnp.divide(1.0, concentration)) * scale


@operation(static=("shape", "dtype", "out_sharding"))
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of the triangular distribution from `left` to `right` with its peak at `mode`.

    Arguments:
        key: the key.
        left: the lowest number, or an array that broadcasts to `shape`.
        mode: the most likely number, or an array that broadcasts to `shape`.
        right: the highest number, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> x = random.triangular(random.key(0), 0.0, 1.0, 4.0, (1000,))
    >>> bool(jnp.all((x >= 0) & (x <= 4))), f"{jnp.mean(x):.1f}"
    (True, '1.7')
    """
    key, dtype = single_key("triangular", key), float_dtype("triangular", dtype)
    sizes = result_shape("triangular", shape, left, mode, right)
    a, c, b = (broadcast_parameter(x, sizes, dtype) for x in (left, mode, right))
    rise, width = c - a, b - a
    u = uniform_numbers(key, sizes, dtype, 0.0, 1.0)
    rising = a + lax.sqrt(u * width * rise)
    falling = b - lax.sqrt((1 - u) * width * (b - c))
    return jnp.where(u < rise / width, rising, falling)


@operation(static=("shape", "dtype", "out_sharding"))
def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """The number of trials until the first success, with probability `p` each; integers.

    Arguments:
        key: the key.
        p: the probability, above 0 and up to 1, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: an integer dtype; None: the default int.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, `p` does not broadcast to `shape`, or `dtype` is not an
            integer dtype.

    >>> random.geometric(random.key(0), 0.25, (6,))
    Array([1, 1, 4, 3, 2, 7], dtype=int32)
    """
    key, dtype = single_key("geometric", key), int_dtype("geometric", dtype)
    sizes = result_shape("geometric", shape, p)
    if typeof(p).dtype.kind == "c":
        raise TypeError(f"geometric: p must be real, found {typeof(p)}")
    real = typeof(p).dtype if is_inexact(typeof(p).dtype) else float_dtype("geometric", None)
    u = uniform_numbers(key, sizes, real, 0.0, 1.0)
    log_u = lax.log(jnp.where(u == 0, 1, u))  # JAX, too, takes 0 for 1
    trials = log_u / lax.log1p(-as_dtype(p, real))
    return lax.convert_element_type(lax.floor(trials) + 1, dtype)


def _tiny(dtype: np.dtype[Any]) -> Any:
    """The smallest normal number."""
    return dtype.type(finfo(dtype).tiny)


# Random vectors and matrices, by linear algebra on normal samples.


METHODS = ("cholesky", "eigh", "svd")


@operation(static=("shape", "dtype", "method", "out_sharding"))
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the normal distribution with this mean and covariance.

    Arguments:
        key: the key.
        mean: a vector of `n` numbers, or an array of vectors along its last axis.
        cov: a matrix of `n` rows and columns, positive definite, or an array of matrices.
        shape: the shape of the result without its last axis; by default the broadcast shape of the
            leading axes of `mean` and `cov`.
        dtype: a real dtype, in which to draw the normal numbers; None: the dtype of `mean` and
            `cov`.
        method: "cholesky", "eigh" or "svd": the method for the root of `cov`. The last two accept
            positive semidefinite matrices.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError: the shapes do not match, or `method` or `dtype` is invalid.

    >>> cov = jnp.array([[1.0, 0.9], [0.9, 1.0]])
    >>> x = random.multivariate_normal(random.key(0), jnp.zeros(2), cov, (1000,))
    >>> x.shape, f"{jnp.corrcoef(x.T)[0, 1]:.1f}"
    ((1000, 2), '0.9')
    """
    caller = "multivariate_normal"
    key = single_key(caller, key)
    common = result_type(typeof(mean), typeof(cov))
    mean, cov = (to_inexact(cast(x, common)) for x in (mean, cov))
    dtype = float_dtype(caller, typeof(mean).dtype if dtype is None else dtype)
    if method not in METHODS:
        raise ValueError(f"{caller}: method must be one of {METHODS}, found {method!r}")
    mean_shape, cov_shape = typeof(mean).shape, typeof(cov).shape
    if not mean_shape or cov_shape[-2:] != (mean_shape[-1],) * 2:
        raise ValueError(
            f"{caller}: mean must have shape (..., n) and cov (..., n, n), found {mean_shape} and "
            f"{cov_shape}"
        )
    lead = broadcast_sizes(caller, shape, mean_shape[:-1], cov_shape[:-2])
    numbers = normal_numbers(key, (*lead, mean_shape[-1]), dtype)
    return jnp.einsum("...ij,...j->...i", _covariance_root(cov, method), numbers) + mean


def _covariance_root(cov: Any, method: str) -> Any:
    """A matrix that times its transpose is `cov`."""
    if method == "cholesky":
        return jnp.linalg.cholesky(cov)
    if method == "eigh":
        variances, directions = jnp.linalg.eigh(cov)
    else:
        directions, variances, _ = jnp.linalg.svd(cov)
    return directions * jnp.expand_dims(jnp.sqrt(variances), -2)


@operation(static=("n", "shape", "dtype", "m", "out_sharding"))
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Orthogonal or unitary matrices of `n` rows and `m` columns, uniformly distributed.

    (F. Mezzadri, "How to generate random matrices from the classical compact groups", 2007.)

    Arguments:
        key: the key.
        n: the number of rows.
        shape: the shape of the result without its last two axes.
        dtype: a dtype of real or complex numbers; None: the default float.
        m: the number of columns; `n` by default. Rows or columns are orthonormal, whichever are
            fewer.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    >>> q = random.orthogonal(random.key(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
    True
    """
    columns = n if m is None else m
    longer, shorter = max(n, columns), min(n, columns)
    numbers = normal(key, (*sizes_of("orthogonal", shape), longer, shorter), dtype)
    q, r = jnp.linalg.qr(numbers)
    # Signs that make the decomposition unique: only then is Q uniform (F. Mezzadri, "How to
    # generate random matrices from the classical compact groups", 2007).
    signs = jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1))
    q = q * jnp.expand_dims(signs, -2)
    return jnp.swapaxes(q, -1, -2) if n < columns else q
