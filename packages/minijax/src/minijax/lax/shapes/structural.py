"""Functions that make arrays, or move elements about without computing with them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.key_arrays import random_wrap
from minijax.primitives.declare import declare
from minijax.runtime.conversion import type_of
from minijax.runtime.operation import operation
from minijax.settings.key_dtype import key_dtype
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.functions import canonical_axes, ints, one_int
from minijax_stage2.promotion import as_weak_as
from minijax_stage2.shaped_array import (
    Shape,
    check_shape,
    dtype_of_numbers,
    number_types,
    python_scalars,
)
from minijax_stage2.shown import shown
from minijax_stage2.vmap import BatchDim, move_batch_dim
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type


@operation(static=("shape", "dtype"))
def full(shape: int | Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    """An array filled with the number `fill_value`, of its dtype unless another is given.

    >>> lax.full((2, 2), 7.0)
    Array([[7., 7.],
           [7., 7.]], dtype=float32, weak_type=True)
    """
    if dtype is not None:
        dtype = dtype_of_numbers("full", dtype)
        if dtype == key_dtype:
            fill_value = _key_of(fill_value)
        elif isinstance(fill_value, python_scalars):
            fill_value = number_types().scalar(
                fill_value, dtype
            )  # which staging keeps as a literal
        else:
            aval = typeof(fill_value)
            if aval.weak_type and aval.dtype.kind == "c" and dtype.kind not in "cb":
                raise TypeError(f"full: fill_value is complex, and {dtype} is not")
            fill_value = stage2.astype(fill_value, dtype)
    return broadcast_to("full", fill_value, shape)


@operation(static=("dtype", "shape"), types=True)
def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: int | Sequence[int] | None = None
) -> Any:
    """An array of the shape and type of `x`, weak as that is, unless others are given.

    `x` may be a `ShapeDtypeStruct`.

    >>> lax.full_like(jnp.array([1, 2], jnp.int8), 7)
    Array([7, 7], dtype=int8)
    """
    aval = type_of(x)
    shape = aval.shape if shape is None else shape
    if dtype is None:
        return as_weak_as(aval, full(shape, fill_value, aval.dtype))
    return full(shape, fill_value, dtype)


def _key_of(value: Any) -> Any:
    """A key both words of which are a number; a key stays as it is."""
    if typeof(value).dtype == key_dtype:
        return value
    return random_wrap(full((2,), value, np.uint32))


def broadcast_to(caller: str, x: Any, shape: int | Sequence[int]) -> Any:
    """`x` repeated to `shape`, by numpy's rule."""
    return stage2.broadcast_to(x, sizes_of(caller, shape))


def sizes_of(caller: str, shape: int | Sequence[int]) -> Shape:
    """A shape as a tuple of sizes, whatever way it was given.

    Raises:
        TypeError: it is neither an int nor a sequence of ints, or one is negative, or known
            only when the program runs.
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


# --8<-- [start:iota]
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


@operation(static=("dtype", "shape", "dimension"))
def broadcasted_iota(dtype: Any, shape: int | Sequence[int], dimension: int) -> Any:
    """The array of `shape` whose elements are their own index along the axis `dimension`.

    >>> lax.broadcasted_iota(jnp.int32, (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    sizes = sizes_of("broadcasted_iota", shape)
    if dtype is None:
        raise ValueError("iota: dtype must be given, such as jnp.int32, found None")
    dtype = dtype_of_numbers("iota", dtype)
    (dimension,) = ints("broadcasted_iota: dimension", dimension)
    return bind1(iota_p, dtype=dtype, shape=sizes, dimension=dimension)


@operation(static=("dtype", "size"))
def iota(dtype: Any, size: int) -> Any:
    """0, 1, 2, ... up to `size`, exclusive.

    >>> lax.iota(jnp.int32, 4)
    Array([0, 1, 2, 3], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


# --8<-- [end:iota]


@operation(static="new_dtype")
def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` with another dtype.

    >>> lax.convert_element_type(jnp.array([1.9, -1.9]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    return stage2.astype(operand, new_dtype)


@operation(static="new_sizes")
def reshape(operand: Any, new_sizes: Sequence[int]) -> Any:
    """`operand` with another shape of the same size.

    >>> lax.reshape(jnp.arange(6), (2, 3))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    return stage2.reshape(operand, new_sizes)


@operation(static="permutation")
def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """`operand` with its axes permuted.

    >>> lax.transpose(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return stage2.transpose(operand, permutation)


@operation(static=("shape", "broadcast_dimensions"))
def broadcast_in_dim(operand: Any, shape: Shape, broadcast_dimensions: Sequence[int]) -> Any:
    """`operand` repeated to `shape`, where its axes become the axes `broadcast_dimensions`.

    >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    sizes = ints("broadcast_in_dim: shape", shape)
    axes = ints("broadcast_in_dim: broadcast_dimensions", broadcast_dimensions)
    return stage2.broadcast_in_dim(operand, sizes, axes)


@operation(static="dimensions")
def expand_dims(array: Any, dimensions: int | Sequence[int]) -> Any:
    """`array` with axes of size 1, where `dimensions` says they stand in the result.

    >>> lax.expand_dims(jnp.zeros((2, 3)), (0, 3)).shape
    (1, 2, 3, 1)
    """
    shape = typeof(array).shape
    given = ints("expand_dims: dimensions", dimensions)
    ndim = len(shape) + len(given)
    new = canonical_axes("expand_dims", given, ndim)
    sizes = iter(shape)
    return reshape(array, [1 if axis in new else next(sizes) for axis in range(ndim)])


@operation(static="dimensions")
def squeeze(array: Any, dimensions: int | Sequence[int]) -> Any:
    """`array` without the axes `dimensions`, which must have size 1.

    >>> lax.squeeze(jnp.zeros((1, 3, 1)), (0,)).shape
    (3, 1)
    """
    shape = typeof(array).shape
    gone = canonical_axes("squeeze", dimensions, len(shape))
    if any(shape[axis] != 1 for axis in gone):
        raise ValueError(f"squeeze: axes {gone} of shape {shape} are not all of size 1")
    return reshape(array, [size for axis, size in enumerate(shape) if axis not in gone])


# --8<-- [start:rev]
rev_p = Primitive("rev")


def _rev_type(x: ShapedArray, *, dimensions: Shape) -> list[ShapedArray]:
    if len(set(dimensions)) != len(dimensions) or not all(0 <= d < x.ndim for d in dimensions):
        raise TypeError(f"rev: {dimensions} are not distinct axes of {x}")
    return [x]


def _lower_rev(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, dimensions: Shape
) -> list[Value]:
    (out,) = out_avals
    return b.emit(f"stablehlo.reverse {x.name}, dims = {list(dimensions)} : {mlir_type(out)}", out)


def _vmap_rev(
    axis_size: int, values: Sequence[Any], dims: Sequence[BatchDim], *, dimensions: Shape
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], axis_size, dims[0], 0)
    return [rev(x, [axis + 1 for axis in dimensions])], [0]


@operation(static="dimensions")
def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """`operand` with its elements in reverse order along the axes `dimensions`.

    >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return bind1(rev_p, operand, dimensions=ints("rev: dimensions", dimensions))


declare(
    rev_p,
    abstract_eval=_rev_type,
    lower=_lower_rev,
    vmap=_vmap_rev,
    jvp=[lambda t, out, x, *, dimensions: rev(t, dimensions)],
    transpose=[lambda ct, x, *, dimensions: rev(ct, dimensions)],
)
# --8<-- [end:rev]


__all__ = [
    "broadcast_in_dim",
    "broadcasted_iota",
    "convert_element_type",
    "expand_dims",
    "full",
    "full_like",
    "iota",
    "reshape",
    "rev",
    "squeeze",
    "transpose",
]
