"""Slices taken and written at places that a program computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax import gathering
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.key_arrays import by_halves
from glassjax.lax.scattering import scatter_p
from glassjax.lax.shapes import expand_dims, full, full_like, squeeze
from glassjax.lax.slicing import concatenate, slice_in_dim
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import as_any, as_first
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.nesting import nests_calls
from glassjax.runtime.operation import operation, require_dtypes_alike
from glassjax.settings.names import counted
from glassjax.settings.number_types import letter_of
from glassjax_stage2 import ShapedArray, Zero, bind1, typeof
from glassjax_stage2.functions import canonical_axis, ints, one_int
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import Shape
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim, vmap_rules
from glassjax_stage3.lowering import FunctionBuilder, Value, signature
from glassjax_stage4 import UndefPrimal

dynamic_slice_p = stage2.Primitive("dynamic_slice")
dynamic_update_slice_p = stage2.Primitive("dynamic_update_slice")

Values = Sequence[Any]
Batched = tuple[list[Any], list[BatchDim]]
Wraps = bool | Sequence[bool]


def _start_indices(name: str, start_indices: Any, shape: Shape, wraps: Wraps) -> list[Any]:
    """Return the start of a slice as one scalar for each axis, all of one dtype."""
    given = start_indices
    if not isinstance(given, list | tuple):
        aval = typeof(given)
        if aval.ndim != 1:
            raise ValueError(f"{name}: start_indices must have one axis, found {aval}")
        given = [squeeze(slice_in_dim(given, i, i + 1), 0) for i in range(aval.shape[0])]
    if len(given) != len(shape):
        raise ValueError(
            f"{name}: start_indices must be one for each of {counted(len(shape), 'axis')}, found "
            f"{len(given)}"
        )
    for start in given:
        if letter_of(typeof(start).dtype) not in "iu" or typeof(start).shape:
            raise TypeError(f"{name}: start_indices must be integer scalars, found {typeof(start)}")
    each = list(wraps) if isinstance(wraps, list | tuple) else [bool(wraps)] * len(shape)
    if len(each) != len(shape):
        raise ValueError(
            f"{name}: allow_negative_indices must be a bool, or one for each of "
            f"{counted(len(shape), 'axis')}, found {wraps}"
        )
    wide = gathering.index_dtype(*given)
    starts = [
        gathering.wrapped_index(start, size, wide) if w else start
        for start, size, w in zip(given, shape, each, strict=True)
    ]
    return [gathering.as_index(start, wide) for start in starts]


@operation(static=("slice_sizes", "allow_negative_indices"))
def dynamic_slice(
    operand: ArrayLike,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: Wraps = True,
) -> Array:
    """The slice of `operand` that begins at `start_indices`.

    Arguments:
        operand: the array.
        start_indices: an integer for each axis, or an array of them.
        slice_sizes: the size of the slice along each axis.
        allow_negative_indices: whether negative indices count from the end, for each axis or
            for all; otherwise they are moved to 0.

    Raises:
        TypeError: indices are not integers, or sizes exceed the shape of `operand`.
        ValueError: there is not one index for each axis.

    >>> window = glassjax.jit(lambda x, start: lax.dynamic_slice(x, (start,), (3,)))
    >>> window(jnp.arange(10), 4), window(jnp.arange(10), 99)
    (Array([4, 5, 6], dtype=int32), Array([7, 8, 9], dtype=int32))
    """
    if isinstance(start_indices, list | tuple):
        require_dtypes_alike("dynamic_slice: start_indices", *map(typeof, start_indices))
    return slice_at(operand, start_indices, slice_sizes, allow_negative_indices)


@operation(static=("slice_sizes", "wraps"))
def slice_at(operand: Any, start_indices: Any, slice_sizes: Sequence[int], wraps: Wraps) -> Any:
    """`dynamic_slice` at indices that may differ in dtype."""
    starts = _start_indices("dynamic_slice", start_indices, typeof(operand).shape, wraps)
    return bind1(
        dynamic_slice_p,
        operand,
        *starts,
        slice_sizes=ints("dynamic_slice: slice_sizes", slice_sizes),
    )


def _dynamic_slice_type(
    x: ShapedArray, *starts: ShapedArray, slice_sizes: Shape
) -> list[ShapedArray]:
    _check_starts("dynamic_slice", x, starts)
    if len(slice_sizes) != x.ndim or not all(
        0 <= size <= bound for size, bound in zip(slice_sizes, x.shape, strict=True)
    ):
        raise TypeError(f"dynamic_slice: {x} has no slices of sizes {slice_sizes}")
    return [ShapedArray(slice_sizes, x.dtype, x.weak_type)]


def _check_starts(name: str, x: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    if (
        len(starts) != x.ndim
        or len({start.dtype for start in starts}) > 1
        or any(start.shape or letter_of(start.dtype) not in "iu" for start in starts)
    ):
        found = ", ".join(map(str, starts))
        raise TypeError(
            f"{name}: {x} takes an integer scalar for each axis, all of one dtype; found {found}"
        )


def _dynamic_slice_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *starts: Value,
    slice_sizes: Shape,
) -> list[Value]:
    if not starts:
        return [x]
    names = ", ".join(operand.name for operand in (x, *starts))
    return b.emit(
        f"stablehlo.dynamic_slice {names}, sizes = {list(slice_sizes)} : "
        f"{signature([x, *starts], out_avals)}",
        *out_avals,
    )


def _dynamic_slice_vmap(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, slice_sizes: Shape
) -> Batched:
    """Batching rule: with a shared start, a slice with one more axis; otherwise a gather."""
    x, *starts = values
    x_dim, *start_dims = dims
    is_shared = all(dim is None for dim in start_dims)
    if is_shared and not (starts and nests_calls()):  # JAX gathers this, too
        x = move_batch_dim(x, axis, x_dim, 0)
        sizes = (axis.size, *slice_sizes)
        return [bind1(dynamic_slice_p, x, *_and_first(starts), slice_sizes=sizes)], [0]
    axes = tuple(range(len(slice_sizes)))
    return vmap_rules[gathering.gather_p](
        axis,
        [x, _index_vectors(axis, starts, start_dims)],
        [x_dim, None if is_shared else 0],
        dimension_numbers=gathering.GatherDimensionNumbers(axes, (), axes),
        slice_sizes=slice_sizes,
        fill_value=None,
        **_ONE_INDEX,
    )


# How one index for each example is gathered or scattered.
_ONE_INDEX = {
    "unique_indices": True,
    "indices_are_sorted": True,
    "mode": gathering.GatherScatterMode.CLIP,
}


def _and_first(starts: Values) -> list[Any]:
    """Return the start of a slice that takes all of an additional leading axis."""
    return [cast(0, typeof(starts[0])) if starts else 0, *starts]


def _index_vectors(axis: BatchAxis, starts: Values, dims: Sequence[BatchDim]) -> Any:
    """Each example's start, or the start that all share."""
    if any(dim is not None for dim in dims):
        starts = [
            move_batch_dim(start, axis, dim, 0) for start, dim in zip(starts, dims, strict=True)
        ]
    last = typeof(starts[0]).ndim
    columns = [expand_dims(start, last) for start in starts]
    return concatenate(columns, last) if len(columns) > 1 else columns[0]


def _dynamic_slice_jvp(primals: Values, tangents: Values, *, slice_sizes: Shape) -> Any:
    x, *starts = primals
    tangent = tangents[0]
    if type(tangent) is not Zero:
        tangent = bind1(dynamic_slice_p, tangent, *starts, slice_sizes=slice_sizes)
    out = bind1(dynamic_slice_p, x, *starts, slice_sizes=slice_sizes)
    return [out], [Zero.like(out) if type(tangent) is Zero else tangent]


def _places(
    operands: Sequence[sparsity_rules.Operand], sizes: Shape
) -> tuple[tuple[slice, ...], list[int]]:
    """The bounds of a slice of these sizes, and the axes along which they are unknown."""
    x, starts = operands[0], [start.value() for start in operands[-len(sizes) :] if sizes]
    limits = [total - size for total, size in zip(x.aval.shape, sizes, strict=True)]
    unknown = [axis for axis, start in enumerate(starts) if start is None and limits[axis]]
    begins = [
        0 if start is None else min(max(int(start), 0), limit)
        for start, limit in zip(starts, limits, strict=True)
    ]
    return tuple([slice(i, i + size) for i, size in zip(begins, sizes, strict=True)]), unknown


def _dynamic_slice_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    places, unknown = _places(operands, out_avals[0].shape)
    return [sparsity_rules.union_everywhere(analysis.sets, operands[0].ids, unknown)[places]]


def _dynamic_slice_transpose(
    cts: Values, x: UndefPrimal, *starts: Any, slice_sizes: Shape
) -> list[Any]:
    zeros = full(x.aval.shape, 0, x.aval.dtype)
    return [bind1(dynamic_update_slice_p, zeros, cts[0], *starts), *[None] * len(starts)]


declare(
    dynamic_slice_p,
    abstract_eval=_dynamic_slice_type,
    lower=by_halves(_dynamic_slice_lower),
    vmap=_dynamic_slice_vmap,
    sharding=as_first,
    sparsity=_dynamic_slice_sparsity,
    jvp=_dynamic_slice_jvp,
    transpose=_dynamic_slice_transpose,
)


@operation(static="allow_negative_indices")
def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: Any,
    *,
    allow_negative_indices: Wraps = True,
) -> Array:
    """`operand` with the slice that begins at `start_indices` replaced by `update`.

    Arguments:
        operand: the array.
        update: an array of the same rank, no larger along any axis.
        start_indices: an integer for each axis, or an array of them.
        allow_negative_indices: whether negative indices count from the end, for each axis or
            for all; otherwise they are moved to 0.

    Raises:
        TypeError: indices are not integers, or `update` does not match `operand`.
        ValueError: there is not one index for each axis.

    >>> lax.dynamic_update_slice(jnp.zeros((2, 4)), jnp.ones((1, 2)), (1, 1))
    Array([[0., 0., 0., 0.],
           [0., 1., 1., 0.]], dtype=float32)
    """
    shape = typeof(operand).shape
    name = "dynamic_update_slice"
    require_dtypes_alike(name, typeof(operand), typeof(update))
    starts = _start_indices(name, start_indices, shape, allow_negative_indices)
    out = bind1(dynamic_update_slice_p, operand, update, *starts)
    return convert_element_type(out, typeof(out).dtype)


def _dynamic_update_slice_type(
    x: ShapedArray, update: ShapedArray, *starts: ShapedArray
) -> list[ShapedArray]:
    _check_starts("dynamic_update_slice", x, starts)
    if update.dtype != x.dtype or update.ndim != x.ndim:
        raise TypeError(
            f"dynamic_update_slice: the update of {x} must have its dtype and number of axes, "
            f"found {update}"
        )
    if any(size > bound for size, bound in zip(update.shape, x.shape, strict=True)):
        raise TypeError(f"dynamic_update_slice: the update {update} does not fit into {x}")
    return [x]


def _dynamic_update_slice_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    update: Value,
    *starts: Value,
) -> list[Value]:
    if not starts:
        return [update]
    names = ", ".join(operand.name for operand in (x, update, *starts))
    types = signature([x, update, *starts], out_avals)
    return b.emit(f"stablehlo.dynamic_update_slice {names} : {types}", *out_avals)


def _dynamic_update_slice_vmap(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim]
) -> Batched:
    x, update, *starts = values
    x_dim, update_dim, *start_dims = dims
    if all(dim is None for dim in start_dims):
        x = move_batch_dim(x, axis, x_dim, 0)
        update = move_batch_dim(update, axis, update_dim, 0)
        return [bind1(dynamic_update_slice_p, x, update, *_and_first(starts))], [0]
    axes = tuple(range(len(starts)))
    return vmap_rules[scatter_p](
        axis,
        [x, _index_vectors(axis, starts, start_dims), update],
        [x_dim, 0, update_dim],
        dimension_numbers=gathering.ScatterDimensionNumbers(axes, (), axes),
        **_ONE_INDEX,
    )


def _dynamic_update_slice_jvp(primals: Values, tangents: Values) -> Any:
    x, update, *starts = primals
    x_dot, update_dot = tangents[:2]
    out = bind1(dynamic_update_slice_p, x, update, *starts)
    if type(x_dot) is Zero and type(update_dot) is Zero:
        return [out], [Zero.like(out)]
    x_dot = full_like(x, 0) if type(x_dot) is Zero else x_dot
    update_dot = full_like(update, 0) if type(update_dot) is Zero else update_dot
    return [out], [bind1(dynamic_update_slice_p, x_dot, update_dot, *starts)]


def _dynamic_update_slice_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    x, update, *_ = operands
    places, unknown = _places(operands, update.aval.shape)
    if not unknown:
        ids = x.ids.copy()
        ids[places] = update.ids
        return [ids]
    put = np.zeros(x.aval.shape, np.int64)
    put[places] = update.ids
    return [
        analysis.sets.union(x.ids, sparsity_rules.union_everywhere(analysis.sets, put, unknown))
    ]


def _dynamic_update_slice_transpose(cts: Values, x: Any, update: Any, *starts: Any) -> list[Any]:
    (ct,) = cts
    aval = update.aval if isinstance(update, UndefPrimal) else typeof(update)
    x_ct = update_ct = None
    if isinstance(x, UndefPrimal):
        zeros = full(aval.shape, 0, aval.dtype)
        x_ct = bind1(dynamic_update_slice_p, ct, zeros, *starts)
    if isinstance(update, UndefPrimal):
        update_ct = bind1(dynamic_slice_p, ct, *starts, slice_sizes=aval.shape)
    return [x_ct, update_ct, *[None] * len(starts)]


declare(
    dynamic_update_slice_p,
    abstract_eval=_dynamic_update_slice_type,
    lower=by_halves(_dynamic_update_slice_lower),
    vmap=_dynamic_update_slice_vmap,
    sharding=as_any(dynamic_update_slice_p),
    sparsity=_dynamic_update_slice_sparsity,
    jvp=_dynamic_update_slice_jvp,
    transpose=_dynamic_update_slice_transpose,
)


def _starts_along(axis: int, ndim: int, index: Any) -> list[Any]:
    return [index if i == axis else 0 for i in range(ndim)]


@operation(static=("slice_size", "axis", "allow_negative_indices"))
def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """`dynamic_slice` of `slice_size` elements along one axis.

    Arguments:
        operand: the array.
        start_index: the index at which the slice begins.
        slice_size: its size along the axis.
        axis: the axis.
        allow_negative_indices: whether a negative index counts from the end; otherwise it is moved
            to 0.

    Raises:
        TypeError: the index is not an integer, or the slice is larger than the axis.
        ValueError: there is no such axis.

    >>> lax.dynamic_slice_in_dim(jnp.arange(12).reshape(2, 6), 3, 2, axis=1)
    Array([[ 3,  4],
           [ 9, 10]], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = canonical_axis("dynamic_slice_in_dim", axis, len(shape))
    slice_size = one_int("dynamic_slice_in_dim: slice_size", slice_size)
    sizes = [slice_size if i == axis else size for i, size in enumerate(shape)]
    starts = _starts_along(axis, len(shape), start_index)
    return slice_at(operand, starts, sizes, allow_negative_indices)


@operation(static=("axis", "allow_negative_indices"))
def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """`dynamic_update_slice` along one axis, from `start_index` on.

    Arguments:
        operand, update: as in `dynamic_update_slice`.
        start_index, axis, allow_negative_indices: as in `dynamic_slice_in_dim`.

    Raises:
        TypeError: the index is not an integer, or `update` does not match `operand`.
        ValueError: there is no such axis.

    >>> lax.dynamic_update_slice_in_dim(jnp.zeros(5), jnp.array([7.0, 8.0]), 2, axis=0)
    Array([0., 0., 7., 8., 0.], dtype=float32)
    """
    require_dtypes_alike("dynamic_update_slice_in_dim", typeof(operand), typeof(update))
    ndim = typeof(operand).ndim
    axis = canonical_axis("dynamic_update_slice_in_dim", axis, ndim)
    starts = _starts_along(axis, ndim, start_index)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@operation(static=("axis", "keepdims", "allow_negative_indices"))
def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Take the element at one index of an axis.

    Arguments:
        operand: the array.
        index: the index; one out of bounds is moved inside.
        axis: the axis.
        keepdims: whether to keep the axis, with size 1.
        allow_negative_indices: as in `dynamic_slice_in_dim`.

    Raises:
        TypeError: the index is not an integer.
        ValueError: there is no such axis.

    >>> lax.dynamic_index_in_dim(jnp.array([[1, 2], [3, 4]]), 1, axis=1, keepdims=False)
    Array([2, 4], dtype=int32)
    """
    out = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return out if keepdims else squeeze(out, axis)


@operation(static=("axis", "allow_negative_indices"))
def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """`operand` with `update` at one index of an axis.

    Arguments:
        operand: the array.
        update: an array of the other axes of `operand`, or of all, with size 1 along `axis`.
        index, axis, allow_negative_indices: as in `dynamic_index_in_dim`.

    Raises:
        TypeError: the index is not an integer, or `update` does not match `operand`.
        ValueError: there is no such axis.

    >>> lax.dynamic_update_index_in_dim(jnp.zeros(4), 5.0, 2, axis=0)
    Array([0., 0., 5., 0.], dtype=float32)
    """
    require_dtypes_alike("dynamic_update_index_in_dim", typeof(operand), typeof(update))
    ndim = typeof(operand).ndim
    axis = canonical_axis("dynamic_update_index_in_dim", axis, ndim)
    if typeof(update).ndim != ndim:
        update = expand_dims(update, axis)
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )
