"""The normal distribution, whole and truncated, and the lognormal one."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import sizes_of
from minijax.random.arguments import (
    Shape,
    as_dtype,
    float_dtype,
    new_keys,
    result_shape,
    spread,
)
from minijax.random.keys import single_key
from minijax.random.uniform import uniform_numbers
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.shaped_array import dialect

ONE = np.float32(1.0)


@operation(static=("shape", "dtype", "out_sharding"))
def normal(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Array:
    """Numbers of the normal distribution with mean 0 and variance 1.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: a dtype of real or complex numbers; the default float if not given. Real and
            imaginary parts of complex numbers have variance 1/2 each.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` neither real nor complex.

    >>> from minijax import random
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
    return lax.div(lax.add(real, lax.mul(dtype.type(1j), imaginary)), dtype.type(np.sqrt(2)))


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
        return lax.mul(sqrt2, lax.erf_inv(u))
    return jnp.multiply(lax.mul(sqrt2, stddev), lax.erf_inv(u))


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
        dtype: a real dtype; the default float dtype if not given.

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
        key, sizes, dtype, lax.erf(lax.div(lower, sqrt2)), lax.erf(lax.div(upper, sqrt2))
    )
    out = lax.mul(sqrt2, lax.erf_inv(u))
    infinity = dtype.type(np.inf)
    above = lax.nextafter(lax.stop_gradient(lower), infinity)
    below = lax.nextafter(lax.stop_gradient(upper), lax.neg(infinity))
    return lax.min(lax.max(out, above), below)


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
        dtype: a real dtype; the default float dtype if not given.

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
    return lax.exp(lax.mul(numbers, spread(sigma, sizes, typeof(numbers).dtype)))


__all__ = ["lognormal", "normal", "truncated_normal"]
