"""Numbers on scales, and powers of numbers."""

from typing import Any

import numpy as np

from minijax import lax
from minijax.numpy.creation import linspace
from minijax.numpy.dtypes import default_int
from minijax.numpy.joining import concatenate
from minijax.numpy.manipulation import broadcast_to, expand_dims, moveaxis, ndim, shape
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import ints
from minijax_stage2.promotion import promote, to_inexact


@operation(static=("num", "endpoint", "dtype", "axis"))
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`base` to the power of `num` numbers at equal distances from `start` to `stop`.

    The other arguments are those of `linspace`.
    """
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    base, exponents = promote(to_inexact(base), exponents)
    out = lax.pow(base, exponents)
    return out if dtype is None else lax.convert_element_type(out, dtype)


@operation(static=("num", "endpoint", "dtype", "axis"))
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    The other arguments are those of `linspace`.
    """
    start, stop = map(to_inexact, promote(start, stop))
    of = typeof(start).dtype
    turns = of.kind == "c"
    if turns:
        factor: Any = lax.div(start, lax.convert_element_type(_magnitude(start), of))
    else:
        factor = lax.sign(start)
    first, last = lax.div(start, factor), lax.div(stop, factor)
    exponents = linspace(lax.log(first), lax.log(last), num, endpoint, axis=0)
    out = lax.mul(lax.exp(exponents), factor)
    (num,) = ints("geomspace: num", num)
    if num > 0:  # the ends exactly
        head = expand_dims(broadcast_to(start, shape(out)[1:]), 0)
        tail = expand_dims(broadcast_to(stop, shape(out)[1:]), 0)
        parts = [head, lax.slice_in_dim(out, 1, num - 1), tail]
        if num == 1:
            parts = [head]
        elif not endpoint:
            parts = [head, lax.slice_in_dim(out, 1, None)]
        out = concatenate(parts, 0)
    out = moveaxis(out, 0, axis)
    return out if dtype is None else lax.convert_element_type(out, dtype)


def _magnitude(x: Any) -> Any:
    squares = lax.add(lax.square(lax.real(x)), lax.square(lax.imag(x)))
    return lax.sqrt(squares)


@operation(static=("N", "increasing"))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of the powers of a vector: `N` columns, the highest power first.

    Raises:
        ValueError: `x` is no vector, or `N` negative.
    """
    if ndim(x) != 1:
        raise ValueError(f"vander: expected a vector, found {typeof(x)}")
    (count,) = shape(x) if N is None else ints("vander: N", N)
    if count < 0:
        raise ValueError(f"vander: N must not be negative, found {count}")
    exponents = lax.iota(default_int(), count)
    if not increasing:
        exponents = lax.sub(np.int32(count - 1).astype(default_int()), exponents)
    return expand_dims(x, 1) ** expand_dims(exponents, 0)


__all__ = ["geomspace", "logspace", "vander"]
