"""Numbers on scales, and powers of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.sharding import placed
from minijax.numpy.dtypes import default_float, default_int
from minijax.numpy.joining import concatenate
from minijax.numpy.shapes import broadcast_to, expand_dims, moveaxis, ndim, shape
from minijax.runtime import array as arrays
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike, canonicalize_dtype, finfo, result_type
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote, require_meeting
from minijax_stage2 import Tracer, typeof
from minijax_stage2.functions import ints, one_int
from minijax_stage2.promotion import broadcast_shapes, cast, to_inexact
from minijax_stage2.shaped_array import dialect, inexact_dtype, typeof_named


@evaluated_by_library
def arange(
    start: Any,
    stop: Any = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The numbers from `start` in steps of `step` up to `stop`, exclusive; or 0 up to `start`.

    Raises:
        TypeError: an argument is not a number, or is traced.
        ValueError: one is complex or NaN.

    >>> jnp.arange(4), jnp.arange(1.0, 2.0, 0.25)
    (Array([0, 1, 2, 3], dtype=int32), Array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    given = {"start": start, "stop": stop, "step": step}
    bounds: Any = [
        x if x is None and name != "start" else _known_number(_role_of_bound(name, stop), x)
        for name, x in given.items()
    ]
    if any(x is not None and (np.iscomplexobj(x) or x != x) for x in bounds):
        raise ValueError(f"arange: start, stop and step must be real numbers, found {bounds}")
    dtype = None if dtype is None else dialect().dtype_of("arange", dtype)
    numbers = np.arange(*bounds, dtype=dtype)
    if dtype is None and numbers.dtype.kind in "iu":  # numpy takes no narrower ones
        numbers = numbers.astype(result_type(*(x for x in given.values() if x is not None)))
    if stop is None and step is None and numbers.dtype.kind in "iu":
        out = lax.iota(dtype or canonicalize_dtype(numbers.dtype), len(numbers))
    else:
        out = arrays.array(numbers, dtype)
    return placed("arange", out, device, out_sharding)


def _role_of_bound(name: str, stop: Any) -> str:
    return f"arange: {'stop' if name == 'start' and stop is None else name}"


def _known_number(role: str, x: Any) -> Any:
    """A number that determines a shape, as a Python or numpy number."""
    aval = typeof_named(role, x)
    if aval.shape:
        raise TypeError(f"{role} must be a number, found {aval}")
    return ints(role, x)[0] if isinstance(x, Tracer) else np.asarray(x)[()]


@operation(static=("num", "endpoint", "retstep", "dtype", "axis", "device"), creates=True)
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, inclusive by default.

    Arguments:
        start: the first number, or an array of first numbers.
        stop: the last number, or an array of them.
        num: the count.
        endpoint: whether to include `stop`.
        retstep: whether to return the spacing, too, in a pair.
        dtype: the dtype of the result; a float by default.
        axis: the position of the new axis in the result.
        device: a device or a sharding, where the result lies.

    Raises:
        ValueError: `num` is negative.

    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    >>> jnp.linspace(0, 1, 4, endpoint=False)
    Array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    num = one_int("linspace: num", num)
    if num < 0:
        raise ValueError(f"linspace: num must not be negative, found {num}")
    shape = broadcast_shapes(typeof(start).shape, typeof(stop).shape)
    common = typeof(to_inexact(promote(start, stop)[0]))  # in integers they might not fit
    start, stop = (broadcast_to(cast(x, common), shape) for x in (start, stop))
    inexact = common.dtype
    dtype = inexact if dtype is None else dialect().dtype_of("linspace", dtype)
    wanted = inexact_dtype(dtype)
    if finfo(wanted).bits > finfo(inexact).bits:
        inexact = np.result_type(wanted, inexact)
        start, stop = (lax.convert_element_type(x, inexact) for x in (start, stop))
    gaps = num - 1 if endpoint else num
    distance = lax.div(lax.sub(stop, start), gaps) if gaps > 0 else inexact.type(np.nan)
    index = lax.broadcasted_iota(default_float(), (max(gaps, 0), *[1] * len(shape)), 0)
    if inexact.itemsize == 2:  # rounded once, at the end
        start, stop = (lax.convert_element_type(x, np.float32) for x in (start, stop))
    # Weights are multiples of a power of 2, hence exact, and so are products of few digits: only
    # the sum is rounded, and the quotient. Weights of at most 1 cannot overflow. (By a constant
    # XLA would multiply, by its inverse.)
    unit = 2.0 ** -max(gaps - 1, 0).bit_length()
    of_stop, of_start = (
        lax.convert_element_type(lax.mul(x, unit), finfo(typeof(start).dtype).dtype)
        for x in (index, lax.sub(max(gaps, 1), index))
    )
    out = lax.add(lax.mul(start, of_start), lax.mul(stop, of_stop))
    out = lax.div(out, lax.add(of_start, of_stop))
    if endpoint and num > 0:  # the last number exactly; where it is alone, the first
        last = stop if num > 1 else start
        out = concatenate([out, expand_dims(last, 0)])
    if dtype.kind in "iu":
        out = lax.floor(lax.real(out) if inexact.kind == "c" else out)
    out = moveaxis(lax.convert_element_type(out, dtype), 0, axis)
    if retstep:
        if dtype.kind == "f" and inexact.kind == "c":
            distance = lax.real(distance)
        distance = lax.convert_element_type(distance, inexact_dtype(dtype))
        return placed("linspace", out, device), distance
    return placed("linspace", out, device)


@operation(static=("num", "endpoint", "dtype", "axis"))
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """`base` to the power of `num` evenly spaced numbers from `start` to `stop`.

    The other arguments are those of `linspace`.

    >>> jnp.logspace(0, 4, 5, base=2).round(2)
    Array([ 1.,  2.,  4.,  8., 16.], dtype=float32)
    """
    require_meeting(start, stop)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    base, exponents = promote(to_inexact(base), exponents)
    out = lax.pow(base, exponents)
    return out if dtype is None else lax.convert_element_type(out, dtype)


@operation(static=("num", "endpoint", "dtype", "axis"))
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    The other arguments are those of `linspace`.

    >>> jnp.geomspace(1.0, 16.0, 5).round(2)
    Array([ 1.,  2.,  4.,  8., 16.], dtype=float32)
    """
    start, stop = promote(start, stop, inexact=True)
    if dtype is not None:
        dtype = dialect().dtype_of("geomspace", dtype)
        wanted = inexact_dtype(dtype)
        of = np.dtype(np.float32) if wanted.itemsize == 2 else wanted  # rounded once, at the end
        start, stop = (lax.convert_element_type(x, of) for x in (start, stop))
    of = typeof(start).dtype
    turns = of.kind == "c"
    if turns:
        factor: Any = lax.div(start, lax.convert_element_type(_magnitude(start), of))
    else:
        factor = lax.sign(start)
    first, last = lax.div(start, factor), lax.div(stop, factor)
    exponents = linspace(lax.log(first), lax.log(last), num, endpoint, axis=0)
    out = lax.mul(lax.exp(exponents), factor)
    num = one_int("geomspace: num", num)
    if num > 0:  # the ends exactly
        head = expand_dims(broadcast_to(start, shape(out)[1:]), 0)
        tail = expand_dims(broadcast_to(stop, shape(out)[1:]), 0)
        ends_with_stop = endpoint and num > 1
        between = lax.slice_in_dim(out, 1, num - 1 if ends_with_stop else num)
        out = concatenate([head, between, *([tail] if ends_with_stop else [])], 0)
    out = moveaxis(out, 0, axis)
    return out if dtype is None else lax.convert_element_type(out, dtype)


def _magnitude(x: Any) -> Any:
    squares = lax.add(lax.square(lax.real(x)), lax.square(lax.imag(x)))
    return lax.sqrt(squares)


@operation(static=("N", "increasing"))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The matrix of the powers of a vector: `N` columns, the highest power first.

    Raises:
        ValueError: `x` is not a vector, or `N` negative.

    >>> jnp.vander(jnp.array([2, 3]), 3)
    Array([[4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    if ndim(x) != 1:
        raise ValueError(f"vander: expected a vector, found {typeof(x)}")
    (count,) = shape(x) if N is None else ints("vander: N", N)
    if count < 0:
        raise ValueError(f"vander: N must not be negative, found {count}")
    kind = typeof(x).dtype
    whole = kind if kind.kind in "iu" else default_int()
    exponents = lax.iota(whole, count)
    if not increasing:
        exponents = lax.sub(np.int32(count - 1).astype(whole), exponents)
    return expand_dims(x, 1) ** expand_dims(exponents, 0)


__all__ = ["arange", "geomspace", "linspace", "logspace", "vander"]
