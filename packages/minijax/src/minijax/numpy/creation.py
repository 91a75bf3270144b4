"""Making arrays.

`device`, a device or a sharding, says where the result lies, as `device_put` does; by default on
the default device. `out_sharding` says it by axes of type `Explicit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from minijax.errors.argument_errors import require_flags
from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import Filling, sizes_of
from minijax.lax.sharding import placed
from minijax.numpy.dtypes import default_float, default_int
from minijax.numpy.joining import stack
from minijax.numpy.shapes import expand_dims
from minijax.runtime import array as arrays
from minijax.runtime.array import Array, ArrayLike, in_own_memory
from minijax.runtime.conversion import is_value, to_array
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.settings.number_types import warn_of_lost_part
from minijax.settings.public_names import set_all
from minijax_stage2 import Tracer, tree_leaves, typeof
from minijax_stage2.errors import shown
from minijax_stage2.functions import ints, one_int
from minijax_stage2.shaped_array import dialect

Shape = int | Sequence[int]
_MOST_AXES = 64  # of an array of numpy's
_USUAL_DTYPES = np.dtype, type, str  # ways to say a dtype that need no look before they are used


@evaluated_by_library
def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An Array of numbers.

    Arguments:
        object: a number, an array of any library, or lists and tuples of these, nested to any
            depth.
        dtype: the dtype of the result; by default that of `object`.
        copy: whether the result is in memory of its own, also where `object` is an Array, so that
            a donation of one leaves the other.
        order: must be "K" or None: XLA decides the memory layout of an Array.
        ndmin: the minimum number of axes of the result; missing ones are added in front.
        device: a device or a sharding, where the result lies.
        out_sharding: the same, by axes of type `Explicit`.

    Raises:
        TypeError: `object` holds anything else.
        ValueError: `object` is or holds None, or nested lists have different lengths.

    >>> jnp.array([[1, 2], [3, 4]]), jnp.array([1, 2], dtype=jnp.float32)
    (Array([[1, 2],
           [3, 4]], dtype=int32), Array([1., 2.], dtype=float32))
    """
    if copy is not True:
        require_flags("array", copy=copy)
    out = _converted(object, dtype, order, ndmin, device, out_sharding)
    return in_own_memory(out) if copy and isinstance(object, Array) else out


def _converted(
    object: Any, dtype: Any, order: str | None, ndmin: int, device: Any, out_sharding: Any
) -> Array:
    """As `array`, without a copy of an Array."""
    if dtype is not None and not isinstance(dtype, _USUAL_DTYPES):
        dtype = dialect().dtype_of("array", dtype)
    if order not in ("K", None):
        raise NotImplementedError(f"array: order must be 'K' or None, found {order!r}")
    if isinstance(object, Sequence) and not isinstance(object, str | bytes | memoryview):
        object = list(object)
    out: Any
    if isinstance(object, list) and any(map(_is_no_number, tree_leaves(object))):
        out = stack([asarray(item) for item in object])
        out = lax.convert_element_type(out, typeof(out).dtype)  # a list of numbers is not weak
    else:
        out = _from_other_library(object)
    if hasattr(out, "aval"):  # numpy itself warns of its arrays
        warn_of_lost_part("array", out, dtype, np.exceptions.ComplexWarning)
    if isinstance(out, Tracer):
        out = out if dtype is None else lax.convert_element_type(out, dtype)
    else:
        try:
            out = arrays.array(out, dtype)
        except TypeError:
            _refuse_none(object)
            raise
    if ndmin > _MOST_AXES:
        raise ValueError(f"array: ndmin must be {_MOST_AXES} at most, found {shown(ndmin)}")
    lacking = ndmin - typeof(out).ndim
    out = expand_dims(out, range(lacking)) if lacking > 0 else out
    return placed("array", out, device, out_sharding)


def _refuse_none(object: Any) -> None:
    if any(x is None for x in tree_leaves(object, is_leaf=lambda x: x is None)):
        raise ValueError(
            "array: expected numbers, found None. A function that ends without `return` gives "
            "None; for a number that is missing use nan."
        ) from None


def _is_no_number(leaf: Any) -> bool:
    """Return True for a leaf that is on the device, is traced, or belongs to another library."""
    return hasattr(leaf, "evaluate_primitive") or hasattr(leaf, "__jax_array__")


def _from_other_library(x: Any) -> Any:
    """`x` as a concrete array, if it implements a conversion."""
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
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """`a` as an Array, without a copy if possible or unless `copy`. The arguments are `array`'s.

    >>> x = jnp.arange(3)
    >>> jnp.asarray(x) is x, jnp.asarray([1, 2.5])
    (True, Array([1. , 2.5], dtype=float32))
    """
    if copy is not None:
        require_flags("asarray", copy=copy)
    out = _converted(a, dtype, order, 0, device, out_sharding)
    return in_own_memory(out) if copy and isinstance(a, Array) else out


@operation(static=("shape", "dtype", "device", "out_sharding"), creates=True)
def zeros(
    shape: Shape,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of zeros.

    >>> jnp.zeros((2, 2)), jnp.zeros(2, dtype=bool)
    (Array([[0., 0.],
           [0., 0.]], dtype=float32), Array([False, False], dtype=bool))
    """
    dtype = default_float() if dtype is None else dtype
    out = full(sizes_of("zeros", shape), 0, dtype)
    return placed("zeros", out, device, out_sharding)


@operation(static=("shape", "dtype", "device", "out_sharding"), creates=True)
def ones(
    shape: Shape,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of ones.

    >>> jnp.ones((2, 2)), jnp.ones(2, dtype=jnp.int8)
    (Array([[1., 1.],
           [1., 1.]], dtype=float32), Array([1, 1], dtype=int8))
    """
    dtype = default_float() if dtype is None else dtype
    out = full(sizes_of("ones", shape), 1, dtype)
    return placed("ones", out, device, out_sharding)


@partial(Filling, static=("shape", "dtype", "device", "out_sharding"))
def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array filled with `fill_value`, a number or an array that broadcasts to `shape`.

    >>> jnp.full((2, 2), 7), jnp.full(2, jnp.inf)
    (Array([[7, 7],
           [7, 7]], dtype=int32, weak_type=True), Array([inf, inf], dtype=float32, weak_type=True))
    """
    return placed("full", to_array(lax.full(shape, fill_value, dtype)), device, out_sharding)


@operation(static=("dtype", "shape", "device", "out_sharding"), types=True, creates=True)
def zeros_like(
    a: Any,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Zeros with the shape and dtype of `a`, unless others are given.

    `a` is an array, or anything with a shape and a dtype, such as a `ShapeDtypeStruct`.

    >>> jnp.zeros_like(jnp.array([[5, 6]]))
    Array([[0, 0]], dtype=int32)
    """
    return placed("zeros_like", full_like(a, 0, dtype, shape), device, out_sharding)


@operation(static=("dtype", "shape", "device", "out_sharding"), types=True, creates=True)
def ones_like(
    a: Any,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Ones with the shape and dtype of `a`, an array or its type, unless others are given.

    >>> jnp.ones_like(jnp.array([[5, 6]]))
    Array([[1, 1]], dtype=int32)
    """
    return placed("ones_like", full_like(a, 1, dtype, shape), device, out_sharding)


@operation(static=("dtype", "shape", "device", "out_sharding"), types=True, creates=True)
def full_like(
    a: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array filled with `fill_value`, in the shape and dtype of `a`, unless others are given.

    `a` is an array, or anything with a shape and a dtype, such as a `ShapeDtypeStruct`.

    >>> jnp.full_like(jnp.arange(3), 7), jnp.full_like(jnp.arange(2), 0.5, dtype=jnp.float32)
    (Array([7, 7, 7], dtype=int32), Array([0.5, 0.5], dtype=float32))
    """
    out = to_array(lax.full_like(a, fill_value, dtype, shape))
    return placed("full_like", out, device, out_sharding)


def empty(
    shape: Shape,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array with unspecified elements, which are in fact zeros.

    >>> jnp.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype, **_chosen(device, out_sharding))


@hiding_frames
def empty_like(
    prototype: Any,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Array:
    """As `empty`, in the shape and dtype of `prototype`, unless others are given.

    >>> jnp.empty_like(jnp.arange(3)).dtype
    dtype('int32')
    """
    return zeros_like(prototype, dtype, shape, **_chosen(device, None))


def _chosen(device: Any, out_sharding: Any) -> dict[str, Any]:
    """The arguments that are given."""
    given = {"device": device, "out_sharding": out_sharding}
    return {name: x for name, x in given.items() if x is not None}


@hiding_frames
def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The matrix of `n` rows and columns with ones on its diagonal, zeros elsewhere.

    >>> jnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


@evaluated_by_library
def copy(a: ArrayLike, order: str | None = None) -> Array:
    """An Array of the same numbers in new memory.

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
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
) -> Array:
    """The matrix of `N` rows and `M` columns with ones on its `k`-th diagonal, zeros elsewhere.

    >>> jnp.eye(2), jnp.eye(2, 3, k=1)
    (Array([[1., 0.],
           [0., 1.]], dtype=float32), Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32))
    """
    rows = one_int("eye: N", N)
    (columns,) = (rows,) if M is None else ints("eye: M", M)
    shape = sizes_of("eye", (rows, columns))
    row = lax.broadcasted_iota(default_int(), shape, 0)
    column = lax.broadcasted_iota(default_int(), shape, 1)
    on_diagonal = lax.eq(lax.add(row, k), column)
    out = lax.convert_element_type(on_diagonal, default_float() if dtype is None else dtype)
    return placed("eye", out, device)


set_all(globals())
