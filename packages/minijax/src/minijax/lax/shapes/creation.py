"""Arrays made of a number, and of indices."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise.conversion import convert_element_type
from minijax.lax.key_arrays import random_wrap
from minijax.lax.sharding import placed
from minijax.primitives.declare import declare
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import check_shape, type_of
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import Creation, operation
from minijax.settings.key_types import implementation_of, is_key_type
from minijax.settings.number_types import library_number_types, set_number_types
from minijax.settings.promotion import as_weak_as
from minijax.shardings.resharding import divided_like
from minijax.shardings.sharding import Sharding
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.errors import shown
from minijax_stage2.functions import ints, one_int
from minijax_stage2.shaped_array import Shape, dialect, python_scalars
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type


class Filling(Creation):
    """An operation that fills an array with a number, which keeps 64 bits if they are asked for."""

    def _find(self, settings: Any, args: Any, kwargs: Any) -> Any:
        numbers = library_number_types()
        if numbers.settings.explicit_x64_dtypes == "allow":
            given = inspect.signature(self._fun).bind(*args, **kwargs).arguments
            value, dtype = given["fill_value"], given.get("dtype")
            if dtype is not None and isinstance(value, python_scalars):
                with set_number_types(numbers):
                    given["fill_value"] = numbers.scalar(value, dialect().dtype_of("full", dtype))
                args, kwargs = (), given
        return super()._find(settings, args, kwargs)


@partial(Filling, static=("shape", "dtype", "sharding"))
def full(
    shape: int | Sequence[int],
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    sharding: Sharding | None = None,
) -> Array:
    """An array filled with the number `fill_value`, of its dtype unless another is given.

    `sharding` says where it lies; by default on the default device.

    >>> lax.full((2, 2), 7.0)
    Array([[7., 7.],
           [7., 7.]], dtype=float32, weak_type=True)
    """
    if dtype is not None:
        dtype = dialect().dtype_of("full", dtype)
        if is_key_type(dtype):
            fill_value = _key_of(fill_value, dtype)
        elif isinstance(fill_value, python_scalars):
            fill_value = dialect().scalar(fill_value, dtype)  # which staging keeps as a literal
        else:
            aval = typeof(fill_value)
            if aval.weak_type and aval.dtype.kind == "c" and dtype.kind not in "cb":
                raise TypeError(f"full: fill_value is complex, and {dtype} is not")
            fill_value = convert_element_type(fill_value, dtype)
    return placed("full", broadcast_to("full", fill_value, shape), sharding)


@operation(static=("dtype", "shape", "sharding"), types=True, creates=True)
def full_like(
    x: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: int | Sequence[int] | None = None,
    sharding: Sharding | None = None,
) -> Array:
    """An array of the shape and type of `x`, weak as that is, unless others are given.

    `x` may be a `ShapeDtypeStruct`. `sharding` says where the result lies; by default where `x`
    does, if it has the shape of `x`.

    >>> lax.full_like(jnp.array([1, 2], jnp.int8), 7)
    Array([7, 7], dtype=int8)
    """
    aval = type_of(x)
    shape = aval.shape if shape is None else shape
    if dtype is None:
        out = as_weak_as(aval, full(shape, fill_value, aval.dtype))
    else:
        out = full(shape, fill_value, dtype)
    if sharding is None and typeof(out).shape == aval.shape:
        out = divided_like(out, aval)
    return placed("full_like", out, sharding)


def _key_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """A key with all words equal to a number; a key is returned as it is."""
    if is_key_type(typeof(value).dtype):
        return value
    implementation = implementation_of(dtype)
    return random_wrap(full(implementation.key_shape, value, np.uint32), implementation)


def broadcast_to(caller: str, x: Any, shape: int | Sequence[int]) -> Any:
    """`x` repeated to `shape`, by numpy's rule."""
    return stage2.broadcast_to(x, sizes_of(caller, shape))


def sizes_of(caller: str, shape: int | Sequence[int]) -> Shape:
    """A shape as a tuple of sizes.

    Raises:
        TypeError: it is neither an int nor a sequence of ints, or one is negative, or traced.
    """
    sizes = ints(f"{caller}: shape", shape)
    check_shape(caller, sizes)
    return sizes


_MOST_STEPS = 100_000


def steps_of(role: str, given: Any) -> int:
    """Return the number of results or steps to write out one by one, small enough for a program
    that compiles.

    Raises:
        TypeError: it is not an int.
        ValueError: it is too large.
    """
    count = one_int(role, given)
    if count > _MOST_STEPS:
        raise ValueError(f"{role} must be {_MOST_STEPS:,} at most, found {shown(count)}")
    return count


iota_p = Primitive("iota")


def _iota_type(*, dtype: np.dtype[Any], shape: Shape, dimension: int) -> list[ShapedArray]:
    check_shape("iota", shape)
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota: an array of shape {shape} has no axis {dimension}")
    if dtype == np.bool_:
        raise TypeError(f"iota: expected a dtype of numbers, found {dtype}")
    return [ShapedArray(shape, dtype)]


def _lower_iota(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *,
    dtype: np.dtype[Any],
    shape: Shape,
    dimension: int,
) -> list[Value]:
    (out,) = out_avals
    return b.emit(f"stablehlo.iota dim = {dimension} : {mlir_type(out)}", out)


declare(iota_p, abstract_eval=_iota_type, lower=_lower_iota)


@operation(static=("dtype", "shape", "dimension", "out_sharding"))
def broadcasted_iota(
    dtype: DTypeLike, shape: int | Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Array:
    """The array of `shape` in which each element is its index along the axis `dimension`.

    >>> lax.broadcasted_iota(jnp.int32, (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    sizes = sizes_of("broadcasted_iota", shape)
    if dtype is None:
        raise ValueError("iota: dtype must be given, such as jnp.int32, found None")
    dtype = dialect().dtype_of("iota", dtype)
    (dimension,) = ints("broadcasted_iota: dimension", dimension)
    return bind1(iota_p, dtype=dtype, shape=sizes, dimension=dimension)


@operation(static=("dtype", "size"))
def iota(dtype: DTypeLike, size: int) -> Array:
    """0, 1, 2, ... up to `size`, exclusive.

    >>> lax.iota(jnp.int32, 4)
    Array([0, 1, 2, 3], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


@operation(static=("shape", "dtype", "out_sharding"), creates=True)
def empty(shape: int | Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Array:
    """An array of zeros, for use when only shape and dtype matter.

    `out_sharding` says where it lies, by axes of type `Explicit`.

    >>> lax.empty((2, 3), jnp.float32).shape
    (2, 3)
    """
    return placed("empty", full(sizes_of("empty", shape), 0, dtype), None, out_sharding)


__all__ = ["broadcasted_iota", "empty", "full", "full_like", "iota"]
