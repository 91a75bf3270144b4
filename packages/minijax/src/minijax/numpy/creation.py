"""Making arrays.

`device` and `out_sharding` say where an array is to be: None, or the one device that there is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax import array as arrays
from minijax import lax
from minijax.arrays import require_the_device
from minijax.dtypes import canonicalize_dtype
from minijax.evaluation import evaluated_by_library
from minijax.lax.structural import sizes_of
from minijax.numpy.dtypes import default_float, default_int
from minijax.numpy.joining import concatenate, stack
from minijax.numpy.manipulation import broadcast_to, expand_dims, moveaxis
from minijax.operation import operation
from minijax_stage2 import Tracer, tree_leaves, typeof
from minijax_stage2.functions import ints
from minijax_stage2.promotion import broadcast_shapes, promote, to_inexact
from minijax_stage2.shaped_array import dtype_of_numbers, is_value, typeof_named

Shape = int | Sequence[int]


@evaluated_by_library
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: None = None,
) -> Any:
    """An Array of numbers.

    Arguments:
        object: a number, an array of any library, or lists and tuples of these, nested to any
            depth.
        dtype: the dtype of the result; by default that of `object`.
        copy: makes no difference, for an Array is never written to.
        order: must be "K" or None: how an Array lies in memory is XLA's affair.
        ndmin: how many axes the result has at least; those that lack come first.

    Raises:
        TypeError: `object` holds something else.
        ValueError: nested lists have different lengths.
    """
    require_the_device("array", device, out_sharding)
    if order not in ("K", None):
        raise NotImplementedError(f"array: order must be 'K' or None, found {order!r}")
    if isinstance(object, Sequence) and not isinstance(object, str | bytes | memoryview):
        object = list(object)
    if isinstance(object, list) and any(map(_is_no_number, tree_leaves(object))):
        out = stack([array(item) for item in object])
        out = lax.convert_element_type(out, typeof(out).dtype)  # a list of numbers is not weak
    else:
        out = _from_other_library(object)
    if isinstance(out, Tracer):
        out = out if dtype is None else lax.convert_element_type(out, dtype)
    else:
        out = arrays.array(out, dtype)
    lacking = ndmin - typeof(out).ndim
    return expand_dims(out, range(lacking)) if lacking > 0 else out


def _is_no_number(leaf: Any) -> bool:
    """Whether a leaf lives on the device, is not known yet, or is made by another library."""
    return hasattr(leaf, "evaluate_primitive") or hasattr(leaf, "__jax_array__")


def _from_other_library(x: Any) -> Any:
    """`x` as an array that is known here, if it says how it becomes one."""
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    knows_numpy = hasattr(x, "__array__") or hasattr(x, "__array_interface__")
    if not is_value(x) and not isinstance(x, np.ma.MaskedArray):
        return np.asarray(x) if knows_numpy or _is_buffer(x) else x
    return x


def _is_buffer(x: Any) -> bool:
    if isinstance(x, str | bytes | bytearray):
        return False
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


@evaluated_by_library
def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: None = None,
) -> Any:
    """`a` as an Array; itself where it is one of that dtype. The arguments are those of `array`."""
    require_the_device("asarray", device, out_sharding)
    return array(a, dtype, order=order)


@operation(static=("shape", "dtype", "device", "out_sharding"))
def zeros(
    shape: Shape,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: None = None,
) -> Any:
    """An array of zeros."""
    require_the_device("zeros", device, out_sharding)
    return lax.full(sizes_of("zeros", shape), 0, default_float() if dtype is None else dtype)


@operation(static=("shape", "dtype", "device", "out_sharding"))
def ones(
    shape: Shape,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: None = None,
) -> Any:
    """An array of ones."""
    require_the_device("ones", device, out_sharding)
    return lax.full(sizes_of("ones", shape), 1, default_float() if dtype is None else dtype)


@operation(static=("shape", "dtype", "device"))
def full(
    shape: Shape,
    fill_value: Any,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    """An array filled with `fill_value`, a number or what broadcasts to `shape`."""
    require_the_device("full", device)
    return lax.full(shape, fill_value, dtype)


@operation(static=("dtype", "shape", "device", "out_sharding"))
def zeros_like(
    a: Any,
    dtype: Any = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: None = None,
) -> Any:
    """Zeros in the shape and dtype of `a`, unless others are given."""
    require_the_device("zeros_like", device, out_sharding)
    return full_like(a, 0, dtype, shape)


@operation(static=("dtype", "shape", "device", "out_sharding"))
def ones_like(
    a: Any,
    dtype: Any = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: None = None,
) -> Any:
    """Ones in the shape and dtype of `a`, unless others are given."""
    require_the_device("ones_like", device, out_sharding)
    return full_like(a, 1, dtype, shape)


@operation(static=("dtype", "shape", "device"))
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Any:
    """An array filled with `fill_value`, in the shape and dtype of `a`, unless others are given."""
    require_the_device("full_like", device)
    return lax.full_like(a, fill_value, dtype, shape)


def empty(
    shape: Shape,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: None = None,
) -> Any:
    """An array whose elements may be anything; they are zeros."""
    require_the_device("empty", device, out_sharding)
    return zeros(shape, dtype)


def empty_like(
    prototype: Any,
    dtype: Any = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Any:
    """As `empty`, in the shape and dtype of `prototype`, unless others are given."""
    require_the_device("empty_like", device)
    return zeros_like(prototype, dtype, shape)


def identity(n: int, dtype: Any = None) -> Any:
    """The matrix of `n` rows and columns with ones on its diagonal, zeros elsewhere."""
    return eye(n, dtype=dtype)


@evaluated_by_library
def copy(a: Any, order: str | None = None) -> Any:
    """An Array of the same numbers, in memory of its own."""
    if order not in ("K", None):
        raise NotImplementedError(f"copy: order must be 'K' or None, found {order!r}")
    a = asarray(a)
    return a if isinstance(a, Tracer) else a.copy()


@evaluated_by_library
def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: None = None,
) -> Any:
    """The numbers from `start` in steps of `step` up to `stop`, exclusive; or 0 up to `start`.

    Raises:
        TypeError: an argument is no number, or one that is known only when the program runs.
    """
    require_the_device("arange", device, out_sharding)
    given = {"start": start, "stop": stop, "step": step}
    bounds: Any = [
        x if x is None and name != "start" else _known_number(f"arange: {name}", x)
        for name, x in given.items()
    ]
    dtype = None if dtype is None else dtype_of_numbers("arange", dtype)
    numbers = np.arange(*bounds, dtype=dtype)
    if stop is None and step is None and numbers.dtype.kind in "iu":
        return lax.iota(canonicalize_dtype(numbers.dtype), len(numbers))
    return arrays.array(numbers)


def _known_number(role: str, x: Any) -> Any:
    """A number that decides a shape, as Python or numpy has it."""
    aval = typeof_named(role, x)
    if aval.shape:
        raise TypeError(f"{role} must be a number, found {aval}")
    return ints(role, x)[0] if isinstance(x, Tracer) else np.asarray(x)[()]


@operation(static=("num", "endpoint", "retstep", "dtype", "axis", "device"))
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers at equal distances from `start` to `stop`, which is the last by default.

    Arguments:
        start: the first number, or an array of first numbers.
        stop: the last number, or an array of them.
        num: how many.
        endpoint: whether `stop` is among them.
        retstep: whether the distance is returned too, in a pair.
        dtype: the dtype of the result; a float if not given.
        axis: where the numbers stand in the result.

    Raises:
        ValueError: `num` is negative.
    """
    require_the_device("linspace", device)
    (num,) = ints("linspace: num", num)
    if num < 0:
        raise ValueError(f"linspace: num must not be negative, found {num}")
    shape = broadcast_shapes(typeof(start).shape, typeof(stop).shape)
    start, stop = (broadcast_to(to_inexact(x), shape) for x in promote(start, stop))
    inexact = typeof(start).dtype
    dtype = inexact if dtype is None else np.dtype(dtype)
    gaps = num - 1 if endpoint else num
    distance = lax.div(lax.sub(stop, start), gaps if gaps > 0 else np.nan)
    index = lax.broadcasted_iota(default_float(), (max(gaps, 0), *[1] * len(shape)), 0)
    parts = lax.div(index, max(gaps, 1))
    parts = lax.convert_element_type(parts, np.finfo(inexact).dtype)
    out = lax.add(lax.mul(start, lax.sub(1, parts)), lax.mul(stop, parts))
    if endpoint and num > 0:  # the last number exactly; where it is alone, the first
        last = stop if num > 1 else start
        out = concatenate([out, expand_dims(last, 0)])
    if dtype.kind in "iu":
        out = lax.floor(out)
    out = moveaxis(lax.convert_element_type(out, dtype), 0, axis)
    return (out, distance) if retstep else out


@operation(static=("N", "M", "k", "dtype", "device"))
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    """The matrix of `N` rows and `M` columns with ones on its `k`-th diagonal, zeros elsewhere."""
    require_the_device("eye", device)
    (rows,) = ints("eye: N", N)
    (columns,) = (rows,) if M is None else ints("eye: M", M)
    shape = sizes_of("eye", (rows, columns))
    row = lax.broadcasted_iota(default_int(), shape, 0)
    column = lax.broadcasted_iota(default_int(), shape, 1)
    on_diagonal = lax.eq(lax.add(row, k), column)
    return lax.convert_element_type(on_diagonal, default_float() if dtype is None else dtype)


__all__ = [
    "arange",
    "array",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]
