"""Arrays made, reshaped, joined and split."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.dimensions.expressions import is_symbolic
from glassjax.dtypes import DTypeLike
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.key_arrays import by_halves, random_wrap
from glassjax.lax.placement import placed_result
from glassjax.primitives import reduction_rules, sparsity_rules
from glassjax.primitives.declare import declare, lower_by, types_by
from glassjax.primitives.sharding_rules import as_first, by_types
from glassjax.runtime.array import Array, ArrayLike, check_shape, type_of
from glassjax.runtime.operation import Creation, operation, require_counted_from_0
from glassjax.settings import number_types
from glassjax.shardings.sharding import Sharding
from glassjax.shardings.types import sharded_like, spec_of
from glassjax_stage2 import Primitive, ShapedArray, bind1, promotion, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axes, ints, one_int
from glassjax_stage2.shaped_array import Shape, dialect, python_scalars
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

# Arrays made of a number, and of indices.


class Filling(Creation):
    """Creation of an array from a number, which is not rounded to 32 bits if `dtype` has 64."""

    def _find(self, settings: Any, args: Any, kwargs: Any) -> Any:
        numbers = number_types.library_number_types()
        if numbers.settings.explicit_x64_dtypes == "allow":
            given = inspect.signature(self._fun).bind(*args, **kwargs).arguments
            value, dtype = given["fill_value"], given.get("dtype")
            if dtype is not None and isinstance(value, python_scalars):
                with number_types.set_number_types(numbers):
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
    """An array filled with a number.

    Arguments:
        shape: the shape of the result, an int or a sequence of ints.
        fill_value: the number.
        dtype: the dtype of the result; None: the dtype of `fill_value`.
        sharding: where the result lies; None: on the default device.

    Raises:
        TypeError: a size is negative, `fill_value` is not a scalar, or it is complex and `dtype` is
            not.

    >>> lax.full((2, 2), 7.0)
    Array([[7., 7.],
           [7., 7.]], dtype=float32, weak_type=True)
    """
    _require_scalar("full", fill_value)
    return placed_result("full", filled(shape, fill_value, dtype), sharding)


def _require_scalar(caller: str, fill_value: Any) -> None:
    if type(fill_value) not in (int, float) and typeof(fill_value).shape:
        raise TypeError(f"{caller}: fill_value must be a scalar, found {typeof(fill_value)}")


def filled(shape: int | Sequence[int], fill_value: Any, dtype: DTypeLike | None = None) -> Any:
    """`full` of a number, or of an array that broadcasts to `shape`; a scalar may stay a number."""
    if dtype is not None:
        dtype = dialect().dtype_of("full", dtype)
        if number_types.is_key_type(dtype):
            fill_value = _key_of(fill_value, dtype)
        elif isinstance(fill_value, python_scalars):
            fill_value = dialect().scalar(fill_value, dtype)  # staging keeps scalars as literals
        else:
            aval = typeof(fill_value)
            if aval.weak_type and aval.dtype.kind == "c" and dtype.kind not in "cb":
                raise TypeError(f"full: fill_value is complex, and {dtype} is not")
            fill_value = convert_element_type(fill_value, dtype)
    return broadcast_to("full", fill_value, shape)


@operation(static=("dtype", "shape", "sharding"), types=True, creates=True)
def full_like(
    x: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: int | Sequence[int] | None = None,
    sharding: Sharding | None = None,
) -> Array:
    """An array of the shape and type of `x`, weak as that is, unless others are given.

    Arguments:
        x: an array, or a `ShapeDtypeStruct`.
        fill_value: the number.
        dtype: the dtype of the result; None: the dtype of `x`.
        shape: the shape of the result; None: the shape of `x`.
        sharding: where the result lies; None: where `x` lies, if the result has its shape.

    >>> lax.full_like(jnp.array([1, 2], jnp.int8), 7)
    Array([7, 7], dtype=int8)
    """
    _require_scalar("full_like", fill_value)
    return filled_like(x, fill_value, dtype, shape, sharding)


def filled_like(
    x: Any,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    shape: int | Sequence[int] | None = None,
    sharding: Sharding | None = None,
) -> Any:
    """`full_like` of a number, or of an array that broadcasts to the shape."""
    aval = type_of(x)
    shape = aval.shape if shape is None else shape
    out = filled(shape, fill_value, aval.dtype if dtype is None else dtype)
    out = number_types.as_weak_as(aval, out) if dtype is None else out
    if sharding is None and typeof(out).shape == aval.shape:
        out = sharded_like(out, aval)
    return placed_result("full_like", out, sharding)


def _key_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """A key with all words equal to a number; a key is returned as it is."""
    if number_types.is_key_type(typeof(value).dtype):
        return value
    implementation = number_types.implementation_of(dtype)
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
        ValueError: it is too large, or depends on symbolic sizes.
    """
    count = one_int(role, given)
    if is_symbolic((count,)):
        raise ValueError(f"{role} must not depend on symbolic sizes, found {count}")
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


def _iota_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *,
    dtype: np.dtype[Any],
    shape: Shape,
    dimension: int,
) -> list[Value]:
    (out,) = out_avals
    return b.emit(f"stablehlo.iota dim = {dimension} : {mlir_type(out)}", out)


declare(iota_p, abstract_eval=_iota_type, lower=_iota_lower)


@operation(static=("dtype", "shape", "dimension", "out_sharding"))
def broadcasted_iota(
    dtype: DTypeLike, shape: int | Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Array:
    """The array of `shape` in which each element is its index along the axis `dimension`.

    Arguments:
        dtype: the dtype of the result.
        shape: the shape of the result, an int or a sequence of ints.
        dimension: the axis along which the elements count.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError: `dtype` is None, or there is no axis `dimension`.

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

    Arguments:
        shape: the shape of the result, an int or a sequence of ints.
        dtype: the dtype of the result.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    >>> lax.empty((2, 3), jnp.float32).shape
    (2, 3)
    """
    return placed_result("empty", full(sizes_of("empty", shape), 0, dtype), None, out_sharding)


# Changing the shape of arrays, and the order of axes or elements.


@operation(static=("new_sizes", "dimensions", "out_sharding"))
def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """`operand` with another shape of the same size.

    Arguments:
        operand: the array.
        new_sizes: the shape of the result.
        dimensions: the order of the axes of `operand` in which to read it; None: as they are.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ShapeMismatchError: the sizes differ.

    >>> lax.reshape(jnp.arange(6), (2, 3))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    require_counted_from_0("reshape", "new_sizes", new_sizes)
    require_counted_from_0("reshape", "dimensions", dimensions)
    if dimensions is not None:
        operand = stage2.transpose(operand, dimensions)
    return stage2.reshape(operand, new_sizes)


@operation(static="permutation")
def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """`operand` with its axes permuted.

    >>> lax.transpose(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    require_counted_from_0("transpose", "permutation", permutation)
    return stage2.transpose(operand, permutation)


@operation(static="dimensions")
def expand_dims(array: ArrayLike, dimensions: int | Sequence[int]) -> Array:
    """`array` with axes of size 1 inserted at the positions `dimensions` of the result.

    >>> lax.expand_dims(jnp.zeros((2, 3)), (0, 3)).shape
    (1, 2, 3, 1)
    """
    shape = typeof(array).shape
    given = ints("expand_dims: dimensions", dimensions)
    ndim = len(shape) + len(given)
    new = canonical_axes("expand_dims", given, ndim)
    if not new:
        return array  # type: ignore[return-value]
    sizes = iter(shape)
    kept = tuple([axis for axis in range(ndim) if axis not in new])
    return stage2.broadcast_in_dim(
        array, tuple([1 if axis in new else next(sizes) for axis in range(ndim)]), kept
    )


squeeze_p = Primitive("squeeze")


@operation(static="dimensions")
def squeeze(array: ArrayLike, dimensions: int | Sequence[int]) -> Array:
    """`array` without the axes `dimensions`, which must have size 1.

    Raises:
        ValueError: an axis does not exist, or its size is not 1.

    >>> lax.squeeze(jnp.zeros((1, 3, 1)), (0,)).shape
    (3, 1)
    """
    shape = typeof(array).shape
    gone = canonical_axes("squeeze", dimensions, len(shape))
    if any(shape[axis] != 1 for axis in gone):
        raise ValueError(f"squeeze: axes {gone} of shape {shape} are not all of size 1")
    return bind1(squeeze_p, array, dimensions=gone) if gone else array  # type: ignore[return-value]


def _without(shape: Sequence[Any], dimensions: Shape) -> tuple[Any, ...]:
    return tuple([each for axis, each in enumerate(shape) if axis not in dimensions])


def _squeeze_type(x: ShapedArray, *, dimensions: Shape) -> list[ShapedArray]:
    if any(not 0 <= axis < x.ndim or x.shape[axis] != 1 for axis in dimensions):
        raise ValueError(f"squeeze: {dimensions} are not axes of size 1 of {x}")
    return [ShapedArray(_without(x.shape, dimensions), x.dtype, x.weak_type)]


def _squeeze_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, dimensions: Shape
) -> list[Value]:
    (out,) = out_avals
    return b.emit(f"stablehlo.reshape {x.name} : {signature([x], [out])}", out)


def _squeeze_vmap(
    batch_axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, dimensions: Shape
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], batch_axis, dims[0], 0)
    return [squeeze(x, [axis + 1 for axis in dimensions])], [0]


def _squeeze_sharding(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Any]:
    return [_without(spec_of(in_avals[0]), params["dimensions"])]


declare(
    squeeze_p,
    abstract_eval=_squeeze_type,
    lower=by_halves(_squeeze_lower),
    vmap=_squeeze_vmap,
    sharding=_squeeze_sharding,
    sparsity=sparsity_rules.by_moving(lambda x, *, dimensions: np.squeeze(x, dimensions)),
    reduction=reduction_rules.linear,
    jvp=[lambda t, out, x, *, dimensions: squeeze(t, dimensions)],
    transpose=[lambda ct, x, *, dimensions: expand_dims(ct, dimensions)],
)


# --8<-- [start:rev]
rev_p = Primitive("rev")


def _rev_type(x: ShapedArray, *, dimensions: Shape) -> list[ShapedArray]:
    if len(set(dimensions)) != len(dimensions) or not all(0 <= d < x.ndim for d in dimensions):
        raise TypeError(f"rev: {dimensions} are not distinct axes of {x}")
    return [x]


def _rev_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, dimensions: Shape
) -> list[Value]:
    (out,) = out_avals
    return b.emit(f"stablehlo.reverse {x.name}, dims = {list(dimensions)} : {mlir_type(out)}", out)


def _rev_vmap(
    batch_axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, dimensions: Shape
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], batch_axis, dims[0], 0)
    return [rev(x, [axis + 1 for axis in dimensions])], [0]


@operation(static="dimensions")
def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """`operand` with its elements in reverse order along the axes `dimensions`.

    >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (1,))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return bind1(rev_p, operand, dimensions=ints("rev: dimensions", dimensions))


declare(
    rev_p,
    abstract_eval=_rev_type,
    lower=_rev_lower,
    vmap=_rev_vmap,
    sharding=as_first,
    reduction=reduction_rules.linear,
    sparsity=sparsity_rules.by_moving(lambda x, *, dimensions: np.flip(x, dimensions)),
    jvp=[lambda t, out, x, *, dimensions: rev(t, dimensions)],
    transpose=[lambda ct, x, *, dimensions: rev(ct, dimensions)],
)
# --8<-- [end:rev]


@operation(static=("start_dimension", "stop_dimension"))
def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """`operand` with the axes from `start_dimension` up to `stop_dimension`, exclusive, as one.

    The bounds work as in Python's slices.

    Arguments:
        operand: the array.
        start_dimension: the first axis to merge.
        stop_dimension: the axis after the last one; None: the number of axes.

    Raises:
        ValueError: the second comes before the first.

    >>> lax.collapse(jnp.zeros((2, 3, 4)), 1, 3).shape
    (2, 12)
    """
    shape = typeof(operand).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(
            f"collapse: there are no axes from {start_dimension} to {stop_dimension} of {shape}"
        )
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


# Repeating arrays along new axes.


@hiding_frames
def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The common shape of arrays of these shapes, by numpy's broadcasting rule.

    Raises:
        TypeError: a size is not an int, or negative.
        ValueError: two sizes of one axis differ and neither is 1.

    >>> lax.broadcast_shapes((3, 1), (4,), (2, 1, 1))
    (2, 3, 4)
    """
    return promotion.broadcast_shapes(*[sizes_of("broadcast_shapes", given) for given in shapes])


@operation(static=("sizes", "out_sharding"))
def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """`operand` broadcast along new leading axes of these sizes.

    Arguments:
        operand: the array.
        sizes: the sizes of the new axes.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: a size is negative.

    >>> lax.broadcast(jnp.array([1, 2]), (3,))
    Array([[1, 2],
           [1, 2],
           [1, 2]], dtype=int32)
    """
    new = ints("broadcast: sizes", sizes)
    shape = typeof(operand).shape
    own = range(len(new), len(new) + len(shape))
    return broadcast_in_dim(operand, (*new, *shape), tuple(own))


@operation
def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """`arr` broadcast to the shape of `like_arr`.

    >>> lax.broadcast_like(1.0, jnp.zeros((2, 2), jnp.int8))
    Array([[1., 1.],
           [1., 1.]], dtype=float32, weak_type=True)
    """
    return stage2.broadcast_to(arr, typeof(like_arr).shape)


@operation(static="rank")
def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """`x` with axes of size 1 in front, so that it has `rank` axes.

    >>> lax.broadcast_to_rank(jnp.zeros((2, 3)), 4).shape
    (1, 1, 2, 3)
    """
    return broadcast(x, (1,) * (rank - typeof(x).ndim))


@operation(static=("shape", "broadcast_dimensions", "out_sharding"))
def broadcast_in_dim(
    operand: ArrayLike,
    shape: Shape,
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Array:
    """`operand` broadcast to `shape`; its axes become the axes `broadcast_dimensions`.

    Arguments:
        operand: the array.
        shape: the shape of the result.
        broadcast_dimensions: the axis of the result for each axis of `operand`.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: a size is neither 1 nor the size of its axis in `shape`, or the axes do not
            exist.

    >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    sizes = ints("broadcast_in_dim: shape", shape)
    axes = ints("broadcast_in_dim: broadcast_dimensions", broadcast_dimensions)
    if sizes == typeof(operand).shape and axes == tuple(range(len(sizes))):
        return operand  # type: ignore[return-value]
    return stage2.broadcast_in_dim(operand, sizes, axes)


tile_p = Primitive("tile")


@operation(static="reps")
def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """`operand` repeated `reps` times along each axis.

    Raises:
        TypeError: `reps` does not have one number for each axis.
        ValueError: one of them is negative.

    >>> lax.tile(jnp.array([[1, 2]]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    aval = typeof(operand)
    reps = ints("tile: reps", reps)
    if len(reps) != aval.ndim:
        raise TypeError(f"tile: reps must have a number for each axis of {aval}, found {reps}")
    if any(count < 0 for count in reps):
        raise ValueError(f"tile: reps must not be negative, found {reps}")
    return stage2.bind1(tile_p, operand, reps=reps)


def _tile_type(x: ShapedArray, *, reps: Shape) -> list[ShapedArray]:
    shape = tuple(count * size for count, size in zip(reps, x.shape, strict=True))
    return [ShapedArray(shape, x.dtype, x.weak_type)]


def _pairs(reps: Shape, shape: Shape) -> Shape:
    return tuple(size for pair in zip(reps, shape, strict=True) for size in pair)


def _tiled(x: Any, *, reps: Shape) -> list[Any]:
    shape = typeof(x).shape
    repeated = broadcast_in_dim(x, _pairs(reps, shape), range(1, 2 * len(shape), 2))
    return [reshape(repeated, [n * size for n, size in zip(reps, shape, strict=True)])]


def _tile_vmap(
    batch_axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, reps: Shape
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], batch_axis, dims[0], 0)
    return [bind1(tile_p, x, reps=(1, *reps))], [0]


def _sum_of_tiles(ct: Any, x: Any, *, reps: Shape) -> Any:
    return stage2.reduce_sum(reshape(ct, _pairs(reps, typeof(x).shape)), range(0, 2 * len(reps), 2))


declare(
    tile_p,
    abstract_eval=_tile_type,
    lower=lower_by(_tiled),
    vmap=_tile_vmap,
    sharding=by_types(types_by(_tiled)),
    reduction=reduction_rules.linear,
    jvp=[lambda t, out, x, *, reps: bind1(tile_p, t, reps=reps)],
    transpose=[_sum_of_tiles],
)
