"""Arrays made of data, sizes, ranges and files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import IO, Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import dtypes, lax
from glassjax.dimensions import expressions
from glassjax.dimensions.slices import range_length
from glassjax.errors.arguments import checking_arguments, require_flags
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.conversion import convert_silently
from glassjax.lax.elementwise import copy_p
from glassjax.lax.placement import placed_result
from glassjax.lax.shapes import Filling, filled, filled_like, sizes_of
from glassjax.numpy import shapes
from glassjax.numpy.dtypes import default_float, default_int
from glassjax.numpy.shapes import shape
from glassjax.runtime import array as arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.nesting import nests_calls, written_in_jax
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import letter_of, promote, require_promotable, warn_of_lost_part
from glassjax_stage2 import Tracer, bind1, tree_leaves, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints, one_int
from glassjax_stage2.promotion import broadcast_shapes, cast, to_inexact
from glassjax_stage2.shaped_array import dialect, inexact_dtype, typeof_named

# Making arrays.
#
# `device`, a device or a sharding, is where the result is put, as by `device_put`; if not given, on
# the default device. `out_sharding` is a sharding over axes of type `Explicit`.


Shape = int | Sequence[int]
_MOST_AXES = 64  # numpy's limit
_USUAL_DTYPES = np.dtype, type, str  # forms of a dtype that need no checks


@evaluated_by_library
def array(
    object: Any,
    dtype: dtypes.DTypeLike | None = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> arrays.Array:
    """An Array of numbers.

    Arguments:
        object: a number, an array of any library, or lists and tuples of these, nested to any
            depth.
        dtype: the dtype of the result; None: the dtype of `object`.
        copy: whether the result is in memory of its own, also where `object` is an Array, so that a
            donation of one leaves the other.
        order: must be "K" or None: XLA decides the memory layout of an Array.
        ndmin: the minimum number of axes of the result; missing ones are added in front.
        device: a device or a sharding, where the result lies; None: the default device.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `object` holds anything else.
        ValueError: `object` is or holds None, or nested lists have different lengths.

    >>> jnp.array([[1, 2], [3, 4]]), jnp.array([1, 2], dtype=jnp.float32)
    (Array([[1, 2],
           [3, 4]], dtype=int32), Array([1., 2.], dtype=float32))
    """
    if copy is not True:
        require_flags("array", copy=copy)
    out = _asarray(object, dtype, order, ndmin, device, out_sharding)
    if not copy or not isinstance(object, arrays.Array):
        return out
    return bind1(copy_p, out) if nests_calls() else arrays.in_own_memory(out)


def _asarray(
    object: Any, dtype: Any, order: str | None, ndmin: int, device: Any, out_sharding: Any
) -> arrays.Array:
    """As `array`, without a copy of an Array."""
    if dtype is not None and not isinstance(dtype, _USUAL_DTYPES):
        dtype = dialect().dtype_of("array", dtype)
    if order not in ("K", None):
        raise NotImplementedError(f"array: order must be 'K' or None, found {order!r}")
    if isinstance(object, Sequence) and not isinstance(object, str | bytes | memoryview):
        object = list(object)
    out: Any
    if isinstance(object, list) and any(map(_is_no_number, tree_leaves(object))):
        out = shapes.stack([asarray(item) for item in object])
        out = lax.convert_element_type(out, typeof(out).dtype)  # a list of numbers is not weak
    else:
        out = _from_other_library(object)
    if hasattr(out, "aval"):  # for its own arrays numpy warns
        warn_of_lost_part("array", out, dtype, np.exceptions.ComplexWarning)
    if isinstance(out, Tracer):
        out = out if dtype is None else convert_silently(out, dtype)
    else:
        try:
            out = arrays.array(out, dtype)
        except TypeError:
            _refuse_none(object)
            raise
    if ndmin > _MOST_AXES:
        raise ValueError(f"array: ndmin must be {_MOST_AXES} at most, found {shown(ndmin)}")
    lacking = ndmin - typeof(out).ndim
    out = shapes.expand_dims(out, range(lacking)) if lacking > 0 else out
    return placed_result("array", out, device, out_sharding)


def _refuse_none(object: Any) -> None:
    if any(x is None for x in tree_leaves(object, is_leaf=lambda x: x is None)):
        raise ValueError(
            "array: expected numbers, found None. A function that ends without `return` gives "
            "None; for a number that is missing use nan."
        ) from None


def _is_no_number(leaf: Any) -> bool:
    """Return True for a leaf that is on the device, is traced, or belongs to another library."""
    return (
        hasattr(leaf, "evaluate_primitive")
        or hasattr(leaf, "__jax_array__")
        or expressions.is_symbolic_dim(leaf)
    )


def _from_other_library(x: Any) -> Any:
    """`x` as a concrete array, if it implements a conversion."""
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    if expressions.is_symbolic_dim(x):
        return expressions.as_array(x)
    knows_numpy = hasattr(x, "__array__") or hasattr(x, "__array_interface__")
    if not arrays.is_value(x) and not isinstance(x, np.ma.MaskedArray):
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
    dtype: dtypes.DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> arrays.Array:
    """`a` as an Array, without a copy if possible or unless `copy`.

    Arguments:
        a: as `object` in `array`.
        dtype: the dtype of the result; None: the dtype of `a`.
        order: as in `array`.
        copy: whether to copy also an Array, into memory of its own.
        device, out_sharding: as in `array`.

    >>> x = jnp.arange(3)
    >>> jnp.asarray(x) is x, jnp.asarray([1, 2.5])
    (True, Array([1. , 2.5], dtype=float32))
    """
    if copy is not None:
        require_flags("asarray", copy=copy)
    out = _asarray(a, dtype, order, 0, device, out_sharding)
    return arrays.in_own_memory(out) if copy and isinstance(a, arrays.Array) else out


@operation(static=("shape", "dtype", "device", "out_sharding"), creates=True)
def zeros(
    shape: Shape,
    dtype: dtypes.DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> arrays.Array:
    """An array of zeros.

    Arguments:
        shape: the shape of the result, an int or a sequence of ints.
        dtype: the dtype of the result; None: the default float.
        device, out_sharding: as in `array`.

    Raises:
        TypeError: a size is negative.

    >>> jnp.zeros((2, 2)), jnp.zeros(2, dtype=bool)
    (Array([[0., 0.],
           [0., 0.]], dtype=float32), Array([False, False], dtype=bool))
    """
    dtype = default_float() if dtype is None else dtype
    out = full(sizes_of("zeros", shape), 0, dtype)
    return placed_result("zeros", out, device, out_sharding)


@operation(like=zeros)
def ones(shape: Any, dtype: Any, *, device: Any, out_sharding: Any) -> Any:
    """An array of ones.

    Arguments:
        shape, dtype, device, out_sharding: as in `zeros`.

    Raises:
        TypeError: a size is negative.

    >>> jnp.ones((2, 2)), jnp.ones(2, dtype=jnp.int8)
    (Array([[1., 1.],
           [1., 1.]], dtype=float32), Array([1, 1], dtype=int8))
    """
    dtype = default_float() if dtype is None else dtype
    out = full(sizes_of("ones", shape), 1, dtype)
    return placed_result("ones", out, device, out_sharding)


@partial(Filling, static=("shape", "dtype", "device", "out_sharding"))
def full(
    shape: Shape,
    fill_value: arrays.ArrayLike,
    dtype: dtypes.DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> arrays.Array:
    """An array filled with `fill_value`.

    Arguments:
        shape: the shape of the result, an int or a sequence of ints.
        fill_value: a number, or an array that broadcasts to `shape`.
        dtype: the dtype of the result; None: the dtype of `fill_value`.
        device, out_sharding: as in `array`.

    Raises:
        TypeError: a size is negative.
        ShapeMismatchError: `fill_value` does not broadcast to `shape`.

    >>> jnp.full((2, 2), 7), jnp.full(2, jnp.inf)
    (Array([[7, 7],
           [7, 7]], dtype=int32, weak_type=True), Array([inf, inf], dtype=float32, weak_type=True))
    """
    return placed_result(
        "full", arrays.to_array(filled(shape, fill_value, dtype)), device, out_sharding
    )


@operation(static=("dtype", "shape", "device", "out_sharding"), types=True, creates=True)
def zeros_like(
    a: Any,
    dtype: dtypes.DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> arrays.Array:
    """Zeros with the shape and dtype of `a`, unless others are given.

    Arguments:
        a, dtype, shape, device, out_sharding: as in `full_like`.

    >>> jnp.zeros_like(jnp.array([[5, 6]]))
    Array([[0, 0]], dtype=int32)
    """
    return placed_result("zeros_like", full_like(a, 0, dtype, shape), device, out_sharding)


@operation(like=zeros_like)
def ones_like(a: Any, dtype: Any, shape: Any, *, device: Any, out_sharding: Any) -> Any:
    """Ones with the shape and dtype of `a`, unless others are given.

    Arguments:
        a, dtype, shape, device, out_sharding: as in `full_like`.

    >>> jnp.ones_like(jnp.array([[5, 6]]))
    Array([[1, 1]], dtype=int32)
    """
    return placed_result("ones_like", full_like(a, 1, dtype, shape), device, out_sharding)


@operation(static=("dtype", "shape", "device", "out_sharding"), types=True, creates=True)
def full_like(
    a: Any,
    fill_value: arrays.ArrayLike,
    dtype: dtypes.DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> arrays.Array:
    """An array filled with `fill_value`, in the shape and dtype of `a`, unless others are given.

    Arguments:
        a: an array, or anything with a shape and a dtype, such as a `ShapeDtypeStruct`.
        fill_value: a number, or an array that broadcasts to the shape.
        dtype: the dtype of the result; None: the dtype of `a`.
        shape: the shape of the result; None: the shape of `a`.
        device: a device or a sharding, where the result lies; None: where `a` lies, if the result
            has its shape.
        out_sharding: as in `array`.

    >>> jnp.full_like(jnp.arange(3), 7), jnp.full_like(jnp.arange(2), 0.5, dtype=jnp.float32)
    (Array([7, 7, 7], dtype=int32), Array([0.5, 0.5], dtype=float32))
    """
    out = arrays.to_array(filled_like(a, fill_value, dtype, shape))
    return placed_result("full_like", out, device, out_sharding)


def empty(
    shape: Shape,
    dtype: dtypes.DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> arrays.Array:
    """An array with unspecified elements, which are in fact zeros.

    Arguments:
        shape, dtype, device, out_sharding: as in `zeros`.

    Raises:
        TypeError: a size is negative.

    >>> jnp.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype, **_given_placement(device, out_sharding))


@hiding_frames
def empty_like(
    prototype: Any,
    dtype: dtypes.DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> arrays.Array:
    """As `empty`, in the shape and dtype of `prototype`, unless others are given.

    Arguments:
        prototype: as `a` in `full_like`.
        dtype: the dtype of the result; None: the dtype of `prototype`.
        shape: the shape of the result; None: the shape of `prototype`.
        device: a device or a sharding, where the result lies; None: where `prototype` lies, if the
            result has its shape.

    >>> jnp.empty_like(jnp.arange(3)).dtype
    dtype('int32')
    """
    return zeros_like(prototype, dtype, shape, **_given_placement(device, None))


def _given_placement(device: Any, out_sharding: Any) -> dict[str, Any]:
    """The arguments that are given."""
    given = {"device": device, "out_sharding": out_sharding}
    return {name: x for name, x in given.items() if x is not None}


@hiding_frames
def identity(n: int, dtype: dtypes.DTypeLike | None = None) -> arrays.Array:
    """The matrix of `n` rows and columns with ones on its diagonal, zeros elsewhere.

    >>> jnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


@evaluated_by_library
def copy(a: arrays.ArrayLike, order: str | None = None) -> arrays.Array:
    """An Array of the same numbers in new memory.

    Raises:
        NotImplementedError: `order` is neither "K" nor None.

    >>> x = jnp.arange(3)
    >>> y = jnp.copy(x)
    >>> y is x, y
    (False, Array([0, 1, 2], dtype=int32))
    """
    if order not in ("K", None):
        raise NotImplementedError(f"copy: order must be 'K' or None, found {order!r}")
    a = asarray(a)
    return a if isinstance(a, Tracer) else a.copy()


@operation(static=("N", "M", "k", "dtype", "device"), creates=True)
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: dtypes.DTypeLike | None = None,
    *,
    device: Any = None,
) -> arrays.Array:
    """The matrix of `N` rows and `M` columns with ones on its `k`-th diagonal, zeros elsewhere.

    Arguments:
        N: the number of rows.
        M: the number of columns; None: `N`.
        k: the diagonal: 0 is the main one, positive ones lie above it.
        dtype: the dtype of the result; None: the default float.
        device: as in `array`.

    >>> jnp.eye(2), jnp.eye(2, 3, k=1)
    (Array([[1., 0.],
           [0., 1.]], dtype=float32), Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32))
    """
    rows = one_int("eye: N", N)
    (columns,) = (rows,) if M is None else ints("eye: M", M)
    shape = sizes_of("eye", (rows, columns))
    out = diagonal_mask(shape, k)
    out = lax.convert_element_type(out, default_float() if dtype is None else dtype)
    return placed_result("eye", out, device)


def diagonal_mask(shape: Shape, k: Any) -> Any:
    """A mask of the elements of a matrix on the `k`-th diagonal."""
    row = lax.broadcasted_iota(default_int(), shape, 0)
    column = lax.broadcasted_iota(default_int(), shape, 1)
    return row + k == column


# Numbers on scales, and powers of numbers.


@evaluated_by_library
def arange(
    start: Any,
    stop: Any = None,
    step: arrays.ArrayLike | None = None,
    dtype: dtypes.DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> arrays.Array:
    """The numbers from `start` in steps of `step` up to `stop`, exclusive; or 0 up to `start`.

    Arguments:
        start: the first number; without `stop` the limit, and the first number is 0.
        stop: the limit, exclusive.
        step: the step; None: 1.
        dtype: the dtype of the result; None: the dtype of the numbers.
        device, out_sharding: as in `array`.

    Raises:
        TypeError: an argument is not a number, or is traced.
        ValueError: one is complex or NaN.

    >>> jnp.arange(4), jnp.arange(1.0, 2.0, 0.25)
    (Array([0, 1, 2, 3], dtype=int32), Array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    given = {"start": start, "stop": stop, "step": step}
    if expressions.is_symbolic(given.values()):
        out = _symbolic_range(start, stop, step, dtype)
        return placed_result("arange", out, device, out_sharding)
    bounds: Any = [
        x if x is None and name != "start" else _known_number(_role_of_bound(name, stop), x)
        for name, x in given.items()
    ]
    if any(x is not None and (np.iscomplexobj(x) or x != x) for x in bounds):
        raise ValueError(f"arange: start, stop and step must be real numbers, found {bounds}")
    dtype = None if dtype is None else dialect().dtype_of("arange", dtype)
    numbers = np.arange(*bounds, dtype=dtype)
    if dtype is None:  # numpy's arange has no narrower numbers
        numbers = numbers.astype(dtypes.result_type(*(x for x in given.values() if x is not None)))
    if stop is None and step is None and numbers.dtype.kind in "iu":
        out = lax.iota(dtype or dtypes.canonicalize_dtype(numbers.dtype), len(numbers))
    else:
        out = _progression(numbers, dtype or dtypes.canonicalize_dtype(numbers.dtype), *bounds)
    return placed_result("arange", out, device, out_sharding)


@written_in_jax("numpy")
def _progression(numbers: Any, dtype: Any, *bounds: Any) -> arrays.Array:
    return arrays.array(numbers, dtype)


def _symbolic_range(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """The numbers of `arange` for bounds that are sizes, some of them symbolic."""
    if stop is None:
        start, stop = 0, start
    bounds = {"start": start, "stop": stop, "step": 1 if step is None else step}
    first, end, by = [expressions.require_size(f"arange: {name}", x) for name, x in bounds.items()]
    if by == 0:
        raise ValueError("arange: step must not be zero")
    dtype = dtypes.canonicalize_dtype(int) if dtype is None else dialect().dtype_of("arange", dtype)
    return lax.iota(dtype, range_length(first, end, by)) * by + first


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
    start: arrays.ArrayLike,
    stop: arrays.ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: dtypes.DTypeLike | None = None,
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
        device: as in `array`.

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
    start, stop = (shapes.broadcast_to(x, shape) for x in _inexact_bounds(start, stop))
    inexact = typeof(start).dtype
    dtype = inexact if dtype is None else dialect().dtype_of("linspace", dtype)
    wanted = inexact_dtype(dtype)
    if dtypes.finfo(wanted).bits > dtypes.finfo(inexact).bits:
        inexact = np.result_type(wanted, inexact)
        start, stop = (lax.convert_element_type(x, inexact) for x in (start, stop))
    gaps = num - 1 if endpoint else num
    distance = inexact.type(np.nan)
    if not expressions.surely_at_least(0, gaps):
        distance = stage2.div(stage2.sub(stop, start), gaps)
    index = lax.broadcasted_iota(
        default_float(), (expressions.max_size(gaps, 0), *[1] * len(shape)), 0
    )
    if inexact.itemsize == 2:  # rounded once, at the end
        start, stop = (lax.convert_element_type(x, np.float32) for x in (start, stop))
    out = _interpolated(start, stop, index, gaps)
    if endpoint and num > 0:  # the end point exactly; a single number is the start
        last = start if num == 1 else stop
        if not expressions.surely_at_least(num, 2) and expressions.is_symbolic_dim(num):
            last = stage2.where(expressions.as_array(num) > 1, stop, start)
        out = shapes.concatenate([out, shapes.expand_dims(last, 0)])
    if letter_of(dtype) in "iu":
        out = lax.floor(lax.real(out) if inexact.kind == "c" else out)
    out = shapes.moveaxis(lax.convert_element_type(out, dtype), 0, axis)
    if retstep:
        if dtype.kind == "f" and inexact.kind == "c":
            distance = lax.real(distance)
        distance = lax.convert_element_type(distance, inexact_dtype(dtype))
        return placed_result("linspace", out, device), distance
    return placed_result("linspace", out, device)


def _inexact_bounds(start: Any, stop: Any) -> tuple[Any, Any]:
    """Two numbers as real or complex ones of one dtype; those between may not fit in integers."""
    common = typeof(to_inexact(promote(start, stop)[0])).strip_weak_type()
    return cast(start, common), cast(stop, common)


@written_in_jax("numpy")
def _interpolated(start: Any, stop: Any, index: Any, gaps: Any) -> Any:
    """The numbers between two at multiples of the step that is their distance by `gaps`.

    Weights are multiples of a power of 2, hence exact, and so are products of few digits: only the
    sum and the quotient are rounded. Weights of at most 1 cannot overflow. (XLA would turn a
    division by a constant into a product with its inverse.)
    """
    unit = 2.0 ** -(31 if expressions.is_symbolic_dim(gaps) else max(gaps - 1, 0).bit_length())
    stop_weight, start_weight = (
        lax.convert_element_type(x * unit, dtypes.finfo(typeof(start).dtype).dtype)
        for x in (index, expressions.max_size(gaps, 1) - index)
    )
    return (start * start_weight + stop * stop_weight) / (start_weight + stop_weight)


@hiding_frames
def logspace(
    start: arrays.ArrayLike,
    stop: arrays.ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: arrays.ArrayLike = 10.0,
    dtype: dtypes.DTypeLike | None = None,
    axis: int = 0,
) -> arrays.Array:
    """`base` to the power of `num` evenly spaced numbers from `start` to `stop`.

    Arguments:
        start: the first exponent, or an array of first exponents.
        stop: the last exponent, or an array of them.
        num, endpoint: as in `linspace`.
        base: the base, or an array that broadcasts to the exponents.
        dtype, axis: as in `linspace`.

    Raises:
        ValueError: `num` is negative.

    >>> jnp.logspace(0, 4, 5, base=2).round(2)
    Array([ 1.,  2.,  4.,  8., 16.], dtype=float32)
    """
    return _logspace(start, stop, num, endpoint, base, dtype, axis)


@operation(static=("num", "endpoint", "dtype", "axis"))
def _logspace(
    start: Any, stop: Any, num: int, endpoint: bool, base: Any, dtype: Any, axis: int
) -> arrays.Array:
    require_promotable(start, stop)
    exponents = linspace(*_inexact_bounds(start, stop), num, endpoint, axis=axis)
    base, exponents = promote(to_inexact(base), exponents)
    out = lax.pow(base, exponents)
    return out if dtype is None else lax.convert_element_type(out, dtype)


@operation(static=("num", "endpoint", "dtype", "axis"))
def geomspace(
    start: arrays.ArrayLike,
    stop: arrays.ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: dtypes.DTypeLike | None = None,
    axis: int = 0,
) -> arrays.Array:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    Arguments:
        start, stop, num, endpoint, dtype, axis: as in `linspace`.

    Raises:
        ValueError: `num` is negative.

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
        factor: Any = start / lax.convert_element_type(_magnitude(start), of)
    else:
        factor = lax.sign(start)
    first, last = start / factor, stop / factor
    exponents = linspace(lax.log(first), lax.log(last), num, endpoint, axis=0)
    out = lax.exp(exponents) * factor
    num = one_int("geomspace: num", num)
    if num > 0:  # the end points exactly
        head = shapes.expand_dims(shapes.broadcast_to(start, shape(out)[1:]), 0)
        tail = shapes.expand_dims(shapes.broadcast_to(stop, shape(out)[1:]), 0)
        ends_with_stop = endpoint and num > 1
        between = lax.slice_in_dim(out, 1, num - 1 if ends_with_stop else num)
        out = shapes.concatenate([head, between, *([tail] if ends_with_stop else [])], 0)
    out = shapes.moveaxis(out, 0, axis)
    return out if dtype is None else lax.convert_element_type(out, dtype)


def _magnitude(x: Any) -> Any:
    squares = lax.square(lax.real(x)) + lax.square(lax.imag(x))
    return lax.sqrt(squares)


@operation(static=("N", "increasing"))
def vander(x: arrays.ArrayLike, N: int | None = None, increasing: bool = False) -> arrays.Array:
    """The matrix of the powers of a vector: `N` columns, the highest power first.

    Arguments:
        x: the vector.
        N: the number of columns; None: the size of `x`.
        increasing: whether to begin with the power 0.

    Raises:
        ValueError: `x` is not a vector, or `N` negative.

    >>> jnp.vander(jnp.array([2, 3]), 3)
    Array([[4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    if shapes.ndim(x) != 1:
        raise ValueError(f"vander: expected a vector, found {typeof(x)}")
    (count,) = shape(x) if N is None else ints("vander: N", N)
    if count < 0:
        raise ValueError(f"vander: N must not be negative, found {count}")
    kind = typeof(x).dtype
    whole = kind if letter_of(kind) in "iu" else default_int()
    exponents = lax.iota(whole, count)
    if not increasing:
        exponents = expressions.max_size(count - 1, 0) - exponents
    return shapes.expand_dims(x, 1) ** shapes.expand_dims(exponents, 0)


# Arrays in files, bytes and text: numpy's functions for Arrays.


save = np.save
savez = np.savez
array_repr = np.array_repr
array_str = np.array_str
get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions


@evaluated_by_library
def load(file: IO[bytes] | str | os.PathLike[Any], *args: Any, **kwargs: Any) -> arrays.Array:
    """Load a file written by `save` or `savez`: an Array, or numpy's archive.

    Arguments:
        file: the file, or its path.
        args, kwargs: further arguments of `np.load`.

    >>> import io
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.arange(3))
    >>> _ = file.seek(0)
    >>> jnp.load(file)
    Array([0, 1, 2], dtype=int32)
    """
    found = np.load(file, *args, **kwargs)
    if isinstance(found, np.ndarray) and found.dtype == "V2":  # bfloat16 in numpy's files
        found = found.view(dtypes.bfloat16)
    return (
        arrays.array(found) if isinstance(found, np.ndarray) and arrays.is_value(found) else found
    )


@evaluated_by_library
def frombuffer(
    buffer: Any, dtype: dtypes.DTypeLike = float, count: int = -1, offset: int = 0
) -> arrays.Array:
    """An Array of the numbers in a buffer of bytes.

    Arguments:
        buffer: an object with Python's buffer interface, such as bytes.
        dtype: the dtype of the numbers in the buffer.
        count: the count of numbers to read; -1: all.
        offset: the number of bytes to skip.

    Raises:
        ValueError: the buffer is smaller, or its size is not a multiple of the dtype's.

    >>> jnp.frombuffer(bytes([1, 2, 3]), dtype=jnp.uint8)
    Array([1, 2, 3], dtype=uint8)
    """
    return arrays.array(np.frombuffer(buffer, dtype, count, offset).copy())


@evaluated_by_library
def fromfile(*args: Any, **kwargs: Any) -> arrays.Array:
    """Not supported, since it cannot be traced; use `asarray(numpy.fromfile(...))`.

    Raises:
        NotImplementedError: always.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     np.arange(3, dtype=np.int32).tofile(file)
    ...     _ = file.seek(0)
    ...     jnp.asarray(np.fromfile(file, dtype=np.int32))
    Array([0, 1, 2], dtype=int32)
    """
    raise NotImplementedError(
        "fromfile: programs cannot read files; read them by numpy.fromfile, and convert the "
        "result by asarray"
    )


@evaluated_by_library
def fromiter(*args: Any, **kwargs: Any) -> arrays.Array:
    """Not supported, as in JAX; use `asarray(numpy.fromiter(...))`.

    Raises:
        NotImplementedError: always.

    >>> jnp.asarray(np.fromiter((i * i for i in range(4)), dtype=np.int32))
    Array([0, 1, 4, 9], dtype=int32)
    """
    raise NotImplementedError(
        "fromiter: an iterator can be read only once, a traced program runs often; read it by "
        "numpy.fromiter, and make an Array of it by asarray"
    )


@evaluated_by_library
@checking_arguments
def fromstring(
    string: str | bytes, dtype: dtypes.DTypeLike = float, count: int = -1, *, sep: str
) -> arrays.Array:
    """An Array of the numbers written in a string.

    Arguments:
        string: the numbers in decimal notation.
        dtype: the dtype of the result.
        count: the count of numbers to read; -1: all.
        sep: the separator between numbers; spaces around it are ignored.

    Raises:
        ValueError: the string contains anything but numbers, or fewer than `count`.

    >>> jnp.fromstring("1 2 3", sep=" ")
    Array([1., 2., 3.], dtype=float32)
    """
    dtype = dialect().dtype_of("fromstring", float if dtype is None else dtype)
    try:
        return arrays.array(np.fromstring(string, dtype, count, sep=sep))
    except ValueError as error:
        raise ValueError(f"fromstring: cannot read {shown(string)}: {error}") from None
