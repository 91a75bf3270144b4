"""Continuous distributions, by formulas of uniform and normal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import sizes_of
from minijax.random.arguments import (
    Shape,
    as_dtype,
    finfo,
    float_dtype,
    int_dtype,
    new_keys,
    result_shape,
    spread,
)
from minijax.random.keys import single_key
from minijax.random.normal import normal_numbers
from minijax.random.uniform import rademacher, uniform_numbers
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.public_names import set_all
from minijax_stage2 import typeof
from minijax_stage2.shaped_array import is_inexact


@operation(static=("shape", "dtype", "out_sharding"))
def maxwell(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the Maxwell distribution: lengths of three-dimensional normal vectors.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; the default float dtype if not given.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.maxwell(random.key(0), (1000,))
    >>> f"{jnp.mean(x**2):.0f}"
    '3'
    """
    key, dtype = single_key("maxwell", key), float_dtype("maxwell", dtype)
    vectors = normal_numbers(key, (*sizes_of("maxwell", shape), 3), dtype)
    return lax.sqrt(jnp.sum(lax.mul(vectors, vectors), axis=-1))


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

    >>> random.double_sided_maxwell(random.key(0), 1.0, jnp.array([2.0, 3.0]), (4,)).shape
    (4, 2)
    """
    key = single_key("double_sided_maxwell", key)
    dtype = float_dtype("double_sided_maxwell", dtype)
    of_parameters = result_shape("", None, loc, scale)
    sizes = (sizes_of("double_sided_maxwell", shape) or of_parameters) + of_parameters
    key_of_lengths, key_of_signs = new_keys(key, 2)
    lengths = maxwell(key_of_lengths, sizes, dtype)
    signs = rademacher(key_of_signs, sizes, dtype)
    scaled = lax.mul(lax.mul(signs, lengths), as_dtype(scale, dtype))
    return lax.add(scaled, as_dtype(loc, dtype))


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
        dtype: a real dtype; the default float dtype if not given.

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
    mean = spread(mean, sizes, dtype)
    key_of_v, key_of_u = new_keys(key, 2)
    v = normal_numbers(key_of_v, sizes, dtype)
    u = uniform_numbers(key_of_u, sizes, dtype)
    y = lax.square(v)
    y_squared, mean_squared = lax.square(y), lax.square(mean)
    root = lax.sqrt(
        lax.add(lax.mul(lax.mul(dtype.type(4), mean), y), lax.mul(mean_squared, y_squared))
    )
    two = dtype.type(2)
    x = lax.sub(
        lax.add(mean, lax.div(lax.mul(mean_squared, y), two)),
        lax.mul(lax.div(mean, two), root),
    )
    is_first = lax.le(u, lax.div(mean, lax.add(mean, x)))
    return jnp.where(is_first, x, lax.div(mean_squared, x))


@operation(static=("shape", "dtype", "out_sharding"))
def exponential(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the exponential distribution with mean 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; the default float dtype if not given.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.exponential(random.key(0), (1000,))
    >>> bool(jnp.all(x >= 0)), f"{jnp.mean(x):.1f}"
    (True, '1.0')
    """
    dtype = float_dtype("exponential", dtype)
    u = uniform_numbers(single_key("exponential", key), sizes_of("exponential", shape), dtype)
    return lax.neg(lax.log1p(lax.neg(u)))  # of 1 - u, which is never 0


@operation(static=("shape", "dtype", "out_sharding"))
def laplace(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the Laplace distribution with mean 0 and scale 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; the default float dtype if not given.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.laplace(random.key(0), (1000,))
    >>> f"{jnp.mean(jnp.abs(x)):.1f}"
    '1.0'
    """
    key, dtype = single_key("laplace", key), float_dtype("laplace", dtype)
    low = dtype.type(-1 + finfo(dtype).epsneg)
    u = uniform_numbers(key, sizes_of("laplace", shape), dtype, low)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@operation(static=("shape", "dtype", "out_sharding"))
def logistic(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the logistic distribution with mean 0 and scale 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; the default float dtype if not given.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.logistic(random.key(0), (1000,))
    >>> f"{jnp.mean(nn.sigmoid(x)):.1f}"
    '0.5'
    """
    key, dtype = single_key("logistic", key), float_dtype("logistic", dtype)
    u = uniform_numbers(key, sizes_of("logistic", shape), dtype, _tiny(dtype))
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@operation(static=("shape", "dtype", "out_sharding"))
def cauchy(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the Cauchy distribution with median 0 and scale 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a real dtype; the default float dtype if not given.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> x = random.cauchy(random.key(0), (1000,))
    >>> f"{jnp.median(x):.1f}"
    '0.0'
    """
    key, dtype = single_key("cauchy", key), float_dtype("cauchy", dtype)
    low = dtype.type(finfo(dtype).eps)
    u = uniform_numbers(key, sizes_of("cauchy", shape), dtype, low)
    return lax.tan(lax.mul(dtype.type(np.pi), lax.sub(u, dtype.type(0.5))))


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
        dtype: a real dtype; the default float dtype if not given.
        mode: "low" (by default), or "high", which draws twice as many bits, so that large numbers
            have the right probability.

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
        u = uniform_numbers(key, sizes, dtype, _tiny(dtype))
        return lax.neg(lax.log(lax.neg(lax.log(u))))
    pair = uniform_numbers(key, (2, *sizes), dtype)
    high, low = (
        lax.reshape(lax.slice(pair, (i, *[0] * len(sizes)), (i + 1, *sizes)), sizes)
        for i in range(2)
    )
    # Near 0 the second number fills in the bits that the first has not.
    fine = lax.mul(dtype.type(finfo(dtype).eps), low)
    fine = lax.add(lax.add(high, fine), _tiny(dtype))
    u = jnp.where(lax.ge(high, dtype.type(0.5)), high, fine)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(u)))))


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
        dtype: a real dtype; the default float dtype if not given.

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
    return lax.exp(lax.div(exponential(key, sizes, dtype), as_dtype(b, dtype)))


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
        dtype: a real dtype; the default float dtype if not given.

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
    root = lax.sqrt(lax.mul(lax.log(uniform_numbers(key, sizes, dtype)), dtype.type(-2)))
    return lax.mul(spread(scale, sizes, dtype), root)


@operation(static=("shape", "dtype"))
def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Numbers of the Weibull distribution with these parameters.

    >>> x = random.weibull_min(random.key(0), 2.0, 1.5, (1000,))
    >>> bool(jnp.all(x >= 0))
    True
    """
    key, dtype = single_key("weibull_min", key), float_dtype("weibull_min", dtype)
    negative_log = exponential(key, sizes_of("weibull_min", shape), dtype)
    return jnp.multiply(jnp.power(negative_log, jnp.divide(1.0, concentration)), scale)


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
        dtype: a real dtype; the default float dtype if not given.

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
    left, mode, right = (spread(x, sizes, dtype) for x in (left, mode, right))
    rise, width = lax.sub(mode, left), lax.sub(right, left)
    u = uniform_numbers(key, sizes, dtype)
    rising = lax.add(left, lax.sqrt(lax.mul(lax.mul(u, width), rise)))
    rest = lax.mul(lax.sub(dtype.type(1), u), width)
    falling = lax.sub(right, lax.sqrt(lax.mul(rest, lax.sub(right, mode))))
    return jnp.where(lax.lt(u, lax.div(rise, width)), rising, falling)


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
        dtype: an integer dtype; the default int dtype if not given.

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
    u = uniform_numbers(key, sizes, real)
    log_u = lax.log(jnp.where(lax.eq(u, real.type(0)), real.type(1), u))  # 0 is 1, as in JAX
    trials = lax.div(log_u, lax.log1p(lax.neg(as_dtype(p, real))))
    return lax.convert_element_type(lax.add(lax.floor(trials), real.type(1)), dtype)


def _tiny(dtype: np.dtype[Any]) -> Any:
    """The smallest normal number."""
    return dtype.type(finfo(dtype).tiny)


set_all(globals())
