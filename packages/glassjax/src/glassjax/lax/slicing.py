"""Arrays cut, padded, joined and stacked at static places."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.dimensions.expressions import max_size, surely_less
from glassjax.lax import shapes
from glassjax.lax.elementwise import select
from glassjax.lax.key_arrays import by_halves
from glassjax.primitives import reduction_rules, sparsity_rules
from glassjax.primitives.declare import declare, lower_by, types_by
from glassjax.primitives.narrow_numbers import in_wide_numbers
from glassjax.primitives.sharding_rules import as_any, as_first, by_types
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation, require_dtypes_alike
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.functions import canonical_axis, ints, one_int
from glassjax_stage2.shaped_array import Shape
from glassjax_stage2.tangent import instantiate
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3.lowering import FunctionBuilder, Value, signature
from glassjax_stage4 import UndefPrimal

# Functions that cut and join arrays.
#
# Each is the transpose of another: `pad` puts back among zeros what `slice` cuts out, and vice
# versa; and the transpose of `concatenate` is slices.


slice_p = Primitive("slice")
pad_p = Primitive("pad")
concatenate_p = Primitive("concatenate")

Avals = Sequence[ShapedArray]
Values = Sequence[Any]
_Dims = Sequence[BatchDim]
Batched = tuple[list[Any], list[BatchDim]]
PaddingConfig = tuple[tuple[int, int, int], ...]


@operation(static=("start_indices", "limit_indices", "strides"))
def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Every `strides`-th element of `operand`, from the start to the limit, exclusive.

    Arguments:
        operand: the array.
        start_indices: where to start, for each axis.
        limit_indices: where to stop, for each axis; not beyond the end.
        strides: the step, for each axis; 1 by default.

    Raises:
        TypeError: they do not match the shape of `operand`.

    >>> lax.slice(jnp.arange(12).reshape(3, 4), (0, 1), (3, 4), (2, 1))
    Array([[ 1,  2,  3],
           [ 9, 10, 11]], dtype=int32)
    """
    return stage2.bind1(
        slice_p,
        operand,
        start_indices=ints("slice: start_indices", start_indices),
        limit_indices=ints("slice: limit_indices", limit_indices),
        strides=None if strides is None else ints("slice: strides", strides),
    )


def _slice_type(
    x: ShapedArray, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> list[ShapedArray]:
    cuts = [start_indices, limit_indices, strides or (1,) * len(start_indices)]
    if not all(len(cut) == x.ndim for cut in cuts) or not all(
        not (surely_less(start, 0) or surely_less(limit, start) or surely_less(size, limit))
        and stride > 0
        for start, limit, stride, size in zip(*cuts, x.shape, strict=True)
    ):
        raise TypeError(
            f"slice: {x} has no elements from {start_indices} to {limit_indices} in steps of "
            f"{strides}"
        )
    return [ShapedArray(tuple(map(_slice_size, *cuts)), x.dtype, x.weak_type)]


def _slice_size(start: int, limit: int, stride: int) -> int:
    return (limit - start + stride - 1) // stride


def _slice_lower(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    *,
    start_indices: Shape,
    limit_indices: Shape,
    strides: Shape | None,
) -> list[Value]:
    cuts = zip(start_indices, limit_indices, strides or (1,) * x.aval.ndim, strict=True)
    text = ", ".join(f"{start}:{limit}:{stride}" for start, limit, stride in cuts)
    return b.emit(f"stablehlo.slice {x.name} [{text}] : {signature([x], out_avals)}", *out_avals)


def _slice_vmap(
    axis: BatchAxis,
    values: Values,
    dims: _Dims,
    *,
    start_indices: Shape,
    limit_indices: Shape,
    strides: Shape | None,
) -> Batched:
    x = move_batch_dim(values[0], axis, dims[0], 0)
    steps = None if strides is None else (1, *strides)
    return [slice(x, (0, *start_indices), (axis.size, *limit_indices), steps)], [0]


def _cut(x: Any, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None) -> Any:
    cuts = zip(start_indices, limit_indices, strides or (1,) * x.ndim, strict=True)
    return x[tuple([builtins.slice(*cut) for cut in cuts])]


def _unslice(
    ct: Any, x: UndefPrimal, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> Any:
    """Put the cotangent at the positions of the elements, among zeros."""
    config = []
    for size, start, count, stride in zip(
        x.aval.shape, start_indices, typeof(ct).shape, strides or (1,) * x.aval.ndim, strict=True
    ):
        width = 1 + (count - 1) * stride if count != 0 else 0
        config.append((start, size - start - width, stride - 1))
    return pad(ct, shapes.full((), 0, x.aval.dtype), config)


@operation(static=("start_index", "limit_index", "stride", "axis"))
def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """`slice` along one axis.

    Arguments:
        operand: the array.
        start_index: where the slice begins; negative ones count from the end. None: the first
            index.
        limit_index: where it ends, exclusive; negative ones count from the end. None: the end.
        stride: the step between indices.
        axis: the axis.

    Raises:
        TypeError: the axis has no such elements.
        ValueError: there is no such axis.

    >>> lax.slice_in_dim(jnp.arange(12).reshape(3, 4), 0, -1, stride=2, axis=1)
    Array([[ 0,  2],
           [ 4,  6],
           [ 8, 10]], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = canonical_axis("slice_in_dim", axis, len(shape))
    size = shape[axis]
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    if start_index is not None:
        starts[axis] = start_index + size if start_index < 0 else start_index
    if limit_index is not None:
        limits[axis] = limit_index + size if limit_index < 0 else limit_index
    strides[axis] = stride
    return slice(operand, starts, limits, strides)


@operation(static=("index", "axis", "keepdims"))
def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Take the element at one index of an axis.

    Arguments:
        operand: the array.
        index: the index; negative ones count from the end.
        axis: the axis.
        keepdims: whether to keep the axis, with size 1.

    Raises:
        ValueError: the axis has no such index.

    >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), -1, axis=0, keepdims=False)
    Array([3, 4], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = canonical_axis("index_in_dim", axis, len(shape))
    index = one_int("index_in_dim: index", index)
    if not -shape[axis] <= index < shape[axis]:
        raise ValueError(
            f"index_in_dim: index {index} is out of bounds for axis {axis} of size {shape[axis]}"
        )
    index %= shape[axis]
    out = slice_in_dim(operand, index, index + 1, 1, axis)
    return out if keepdims else shapes.squeeze(out, axis)


declare(
    slice_p,
    abstract_eval=_slice_type,
    lower=by_halves(_slice_lower),
    vmap=_slice_vmap,
    sharding=as_first,
    reduction=reduction_rules.linear,
    sparsity=sparsity_rules.by_moving(_cut),
    jvp=[lambda t, out, x, **params: stage2.bind1(slice_p, t, **params)],
    transpose=[_unslice],
)


@operation(static="padding_config")
def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> Array:
    """`operand` with `padding_value` before, after and between its elements.

    Arguments:
        operand: the array.
        padding_value: a scalar of its dtype.
        padding_config: for each axis the numbers of elements to add before, after, and between any
            two elements. A negative number before or after removes elements.

    Raises:
        TypeError: dtypes differ.
        ValueError: the configuration is invalid.

    >>> lax.pad(jnp.array([1, 2, 3]), 0, [(1, 2, 1)])
    Array([0, 1, 0, 2, 0, 3, 0, 0], dtype=int32)
    """
    config = tuple([ints("pad: padding_config", axis_padding) for axis_padding in padding_config])
    if any(len(axis_padding) != 3 for axis_padding in config):
        raise ValueError(f"pad: padding_config must hold three ints for each axis, found {config}")
    return stage2.bind1(pad_p, operand, padding_value, padding_config=config)


def _pad_type(
    x: ShapedArray, padding_value: ShapedArray, *, padding_config: PaddingConfig
) -> list[ShapedArray]:
    if padding_value.shape or padding_value.dtype != x.dtype:
        raise TypeError(f"pad: {x} takes a scalar of its dtype, found {padding_value}")
    if len(padding_config) != x.ndim or any(interior < 0 for *_, interior in padding_config):
        raise ValueError(
            f"pad: {x} takes {x.ndim} triples of ints, the last of each from 0 on; found "
            f"{padding_config}"
        )
    sizes = [
        low + high + size + interior * max_size(size - 1, 0)
        for size, (low, high, interior) in zip(x.shape, padding_config, strict=True)
    ]
    if any(surely_less(size, 0) for size in sizes):
        raise ValueError(f"pad: {padding_config} takes away more elements than {x} has")
    return [ShapedArray(tuple(sizes), x.dtype, x.weak_type and padding_value.weak_type)]


def _pad_lower(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    padding_value: Value,
    *,
    padding_config: PaddingConfig,
) -> list[Value]:
    low, high, interior = ([config[i] for config in padding_config] for i in range(3))
    return b.emit(
        f"stablehlo.pad {x.name}, {padding_value.name}, low = {low}, high = {high}, "
        f"interior = {interior} : {signature([x, padding_value], out_avals)}",
        *out_avals,
    )


def _pad_vmap(
    axis: BatchAxis, values: Values, dims: _Dims, *, padding_config: PaddingConfig
) -> Batched:
    (x, padding_value), (x_dim, padding_dim) = values, dims
    x = move_batch_dim(x, axis, x_dim, 0)
    config = ((0, 0, 0), *padding_config)
    if padding_dim is None:
        return [pad(x, padding_value, config)], [0]
    # Each example has its own padding value: pad with 0, then replace the padding by a select.
    padded = pad(x, shapes.full((), 0, typeof(x).dtype), config)
    shape = typeof(padded).shape
    own = shapes.broadcast_in_dim(padding_value, shape, (0,))
    return [select(_is_padding(typeof(x).shape, config), own, padded)], [0]


def _is_padding(shape: Shape, padding_config: PaddingConfig) -> Any:
    return pad(shapes.full(shape, False), True, padding_config)


def _pad_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Avals,
    params: dict[str, Any],
) -> list[Any]:
    x, padding_value = operands
    (out,), config = out_avals, params["padding_config"]
    if padding_value.ids.any():
        return sparsity_rules.dense(analysis, operands, out_avals, params)
    window: dict[str, Any] = {
        "window_dimensions": (1,) * out.ndim,
        "window_strides": (1,) * out.ndim,
        "padding": [(low, high) for low, high, _ in config],
        "base_dilation": [gap + 1 for *_, gap in config],
        "window_dilation": (1,) * out.ndim,
    }
    return [sparsity_rules.windows(x.ids, **window).reshape(out.shape)]


def _unpad(ct: Any, x: UndefPrimal, padding_value: Any, *, padding_config: PaddingConfig) -> Any:
    """Cut the elements out; those that padding removed do not affect the result."""
    cropping = [(-low, -high, 0) for low, high, _ in padding_config]
    cropped = pad(ct, shapes.full((), 0, typeof(ct).dtype), cropping)
    strides = [interior + 1 for *_, interior in padding_config]
    return slice(cropped, [0] * len(strides), typeof(cropped).shape, strides)


def _sum_of_padding(
    ct: Any, x: Any, padding_value: UndefPrimal, *, padding_config: PaddingConfig
) -> Any:
    shape = x.aval.shape if isinstance(x, UndefPrimal) else typeof(x).shape
    padding = select(_is_padding(shape, padding_config), ct, shapes.full_like(ct, 0))
    return stage2.reduce_sum(padding, tuple(range(typeof(ct).ndim)))


declare(
    pad_p,
    abstract_eval=_pad_type,
    lower=by_halves(_pad_lower),
    vmap=_pad_vmap,
    sharding=as_first,
    reduction=reduction_rules.linear_in_first,  # padding with zeros
    sparsity=_pad_sparsity,
    jvp=[
        lambda t, out, x, padding_value, *, padding_config: pad(
            t, shapes.full_like(padding_value, 0), padding_config
        ),
        lambda t, out, x, padding_value, *, padding_config: pad(
            shapes.full_like(x, 0), t, padding_config
        ),
    ],
    transpose=[_unpad, _sum_of_padding],
    jointly=True,
)


@operation(static="dimension")
def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """The operands joined along an axis.

    Arguments:
        operands: arrays whose shapes differ along the axis `dimension` only; at least one.
        dimension: the axis, counted from 0.

    Raises:
        TypeError: the shapes do not match.

    >>> lax.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4]])], 0)
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if not len(operands):
        raise ValueError("concatenate: there must be at least one operand")
    require_dtypes_alike("concatenate", *map(typeof, operands))
    (dimension,) = ints("concatenate: dimension", dimension)
    return stage2.bind1(concatenate_p, *operands, dimension=dimension)


def _concatenate_type(*operands: ShapedArray, dimension: int) -> list[ShapedArray]:
    first = operands[0]
    if not 0 <= dimension < first.ndim:
        raise TypeError(f"concatenate: {first} has no axis {dimension}")
    sizes = [_with_size(x, dimension, 0) for x in operands]
    if any(x != sizes[0] for x in sizes):
        found = ", ".join(map(str, operands))
        raise TypeError(f"concatenate: operands may differ along axis {dimension} only: {found}")
    out = _with_size(first, dimension, sum(x.shape[dimension] for x in operands))
    return [ShapedArray(out.shape, out.dtype, all(x.weak_type for x in operands))]


def _with_size(x: ShapedArray, axis: int, size: int) -> ShapedArray:
    if not 0 <= axis < x.ndim:
        return x
    return ShapedArray((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)


def _concatenate_lower(
    b: FunctionBuilder, out_avals: Avals, *operands: Value, dimension: int
) -> list[Value]:
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f"stablehlo.concatenate {names}, dim = {dimension} : {signature(operands, out_avals)}",
        *out_avals,
    )


def _concatenate_vmap(axis: BatchAxis, values: Values, dims: _Dims, *, dimension: int) -> Batched:
    operands = [move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True)]
    return [concatenate(operands, dimension + 1)], [0]


def _concatenate_jvp(
    primals: Values, tangents: Values, *, dimension: int
) -> tuple[list[Any], list[Any]]:
    out = concatenate(primals, dimension)
    return [out], [concatenate([instantiate(t) for t in tangents], dimension)]


def _concatenate_transpose(cts: Values, *operands: Any, dimension: int) -> list[Any]:
    """Split the cotangent at the boundaries of the operands."""
    avals = [x.aval if isinstance(x, UndefPrimal) else typeof(x) for x in operands]
    parts = split(cts[0], [aval.shape[dimension] for aval in avals], dimension)
    pairs = zip(operands, parts, strict=True)
    return [part if isinstance(x, UndefPrimal) else None for x, part in pairs]


declare(
    concatenate_p,
    abstract_eval=_concatenate_type,
    lower=in_wide_numbers(by_halves(_concatenate_lower)),
    vmap=_concatenate_vmap,
    sharding=as_any(concatenate_p),
    reduction=reduction_rules.linear,
    sparsity=sparsity_rules.by_moving(lambda *xs, dimension: np.concatenate(xs, dimension)),
    jvp=_concatenate_jvp,
    transpose=_concatenate_transpose,
)


# Splitting arrays along an axis.


split_p = Primitive("split")


@operation(static=("sizes", "axis"))
def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """The consecutive parts of `operand` with these sizes along `axis`.

    Arguments:
        operand: the array.
        sizes: the size of each part.
        axis: the axis to split.

    Raises:
        ValueError: the sizes do not add up to the size of the axis, or one is negative, or there is
            no such axis.

    >>> import glassjax.numpy as jnp
    >>> split(jnp.arange(3), (1, 2))
    [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    aval = typeof(operand)
    sizes = ints("split: sizes", sizes)
    axis = canonical_axis("split", axis, aval.ndim)
    if any(size < 0 for size in sizes) or sum(sizes) != aval.shape[axis]:
        raise ValueError(
            f"split: sizes must not be negative, and add up to the size of axis {axis} of {aval}, "
            f"found {sizes}"
        )
    return bind(split_p, operand, sizes=sizes, axis=axis)


def _split_type(x: ShapedArray, *, sizes: Shape, axis: int) -> list[ShapedArray]:
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [ShapedArray((*before, size, *after), x.dtype, x.weak_type) for size in sizes]


def _split_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, sizes: Shape, axis: int
) -> list[Value]:
    parts, start = [], 0
    for part in out_avals:
        cuts = [f"0:{size}:1" for size in part.shape]
        cuts[axis] = f"{start}:{start + part.shape[axis]}:1"
        text = f"stablehlo.slice {x.name} [{', '.join(cuts)}] : {signature([x], [part])}"
        parts += b.emit(text, part)
        start += part.shape[axis]
    return parts


def _split_vmap(
    batch_axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    sizes: Shape,
    axis: int,
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], batch_axis, dims[0], 0)
    return bind(split_p, x, sizes=sizes, axis=axis + 1), [0] * len(sizes)


def _split_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    parts = bind(split_p, *primals, **params)
    if type(tangents[0]) is stage2.Zero:
        return parts, [stage2.Zero.like(part) for part in parts]
    return parts, bind(split_p, *tangents, **params)


def _split_transpose(cts: Sequence[Any], x: Any, *, sizes: Shape, axis: int) -> list[Any]:
    return [concatenate([instantiate(ct) for ct in cts], axis)]


declare(
    split_p,
    abstract_eval=_split_type,
    lower=_split_lower,
    vmap=_split_vmap,
    sharding=as_first,
    reduction=reduction_rules.linear,
    sparsity=sparsity_rules.by_moving(
        lambda x, *, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis)
    ),
    jvp=_split_jvp,
    transpose=_split_transpose,
)


# Stacking arrays along a new axis, and its inverse.


stack_p = Primitive("stack")
unstack_p = Primitive("unstack")


@operation(static="axis")
def stack(operands: Sequence[Any], axis: int = 0) -> Array:
    """The arrays, all of one shape and dtype, stacked along a new axis.

    Raises:
        ValueError: there are none, or their shapes differ.
        TypeError: their dtypes differ.

    >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    avals = [typeof(x) for x in operands]
    found = ", ".join(map(str, avals))
    if len({aval.shape for aval in avals}) != 1:
        raise ValueError(f"stack: takes arrays of one shape, found {found or 'none'}")
    if len({aval.dtype for aval in avals}) != 1:
        raise TypeError(f"stack: takes arrays of one dtype, found {found}")
    axis = canonical_axis("stack", axis, avals[0].ndim + 1)
    return stage2.bind1(stack_p, *operands, axis=axis)


@operation(static="axis")
def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The elements of `x` along `axis`, without that axis.

    Raises:
        ValueError: there is no such axis.

    >>> lax.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
    (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    axis = canonical_axis("unstack", axis, typeof(x).ndim)
    return tuple(bind(unstack_p, x, axis=axis))


def _stack_type(*operands: ShapedArray, axis: int) -> list[ShapedArray]:
    first = operands[0]
    shape = (*first.shape[:axis], len(operands), *first.shape[axis:])
    return [ShapedArray(shape, first.dtype, all(x.weak_type for x in operands))]


def _stacked(*operands: Any, axis: int) -> list[Any]:
    return [concatenate([shapes.expand_dims(x, (axis,)) for x in operands], axis)]


def _stack_vmap(batch_axis: BatchAxis, values: Values, dims: _Dims, *, axis: int) -> Batched:
    first = dims[0]
    if first is None or any(dim != first for dim in dims):
        xs = [move_batch_dim(x, batch_axis, dim, 0) for x, dim in zip(values, dims, strict=True)]
        return bind(stack_p, *xs, axis=axis + 1), [0]
    is_before = axis <= first
    return bind(stack_p, *values, axis=axis + (not is_before)), [first + is_before]


def _stack_jvp(primals: Values, tangents: Values, *, axis: int) -> tuple[list[Any], list[Any]]:
    out = bind(stack_p, *primals, axis=axis)
    return out, bind(stack_p, *map(instantiate, tangents), axis=axis)


def _stack_transpose(cts: Values, *operands: Any, axis: int) -> list[Any]:
    pairs = zip(operands, unstack(cts[0], axis), strict=True)
    return [ct if isinstance(x, UndefPrimal) else None for x, ct in pairs]


declare(
    stack_p,
    abstract_eval=_stack_type,
    lower=lower_by(_stacked),
    vmap=_stack_vmap,
    sharding=by_types(types_by(_stacked)),
    reduction=reduction_rules.linear,
    jvp=_stack_jvp,
    transpose=_stack_transpose,
)


def _unstack_type(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    return [ShapedArray(shape, x.dtype, x.weak_type)] * x.shape[axis]


def _unstacked(x: Any, *, axis: int) -> list[Any]:
    return [index_in_dim(x, i, axis, keepdims=False) for i in range(typeof(x).shape[axis])]


def _unstack_vmap(
    batch_axis: BatchAxis, values: Values, dims: Sequence[Any], *, axis: int
) -> Batched:
    (dim,) = dims
    follows = dim <= axis
    outs = bind(unstack_p, *values, axis=axis + follows)
    return outs, [dim - (not follows)] * len(outs)


def _unstack_jvp(primals: Values, tangents: Values, *, axis: int) -> tuple[list[Any], list[Any]]:
    outs = bind(unstack_p, *primals, axis=axis)
    return outs, bind(unstack_p, *tangents, axis=axis)


def _unstack_transpose(cts: Values, x: Any, *, axis: int) -> list[Any]:
    return [stack([instantiate(ct) for ct in cts], axis)]


declare(
    unstack_p,
    abstract_eval=_unstack_type,
    lower=lower_by(_unstacked),
    vmap=_unstack_vmap,
    sharding=by_types(types_by(_unstacked)),
    reduction=reduction_rules.linear,
    jvp=_unstack_jvp,
    transpose=_unstack_transpose,
)
