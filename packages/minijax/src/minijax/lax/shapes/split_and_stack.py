"""Splitting arrays along an axis, and stacking them along a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax.lax.indexing.slice_pad_concatenate import concatenate, slice_in_dim
from minijax.lax.shapes.reshaping import expand_dims, squeeze
from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import as_first
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import Primitive, ShapedArray, Zero, bind, typeof
from minijax_stage2.functions import canonical_axis, ints
from minijax_stage2.shaped_array import Shape
from minijax_stage2.tangent import instantiate
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3.lowering import FunctionBuilder, Value, signature

split_p = Primitive("split")


@operation(static=("sizes", "axis"))
def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """The consecutive parts of `operand` with these sizes along `axis`.

    Raises:
        ValueError: the sizes do not add up to that of `operand`, or one is negative, or there is
            no such axis.

    >>> import minijax.numpy as jnp
    >>> split(jnp.arange(3), (1, 2))
    [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    aval = typeof(operand)
    sizes = ints("split: sizes", sizes)
    axis = canonical_axis("split", axis, aval.ndim)
    if any(size < 0 for size in sizes) or sum(sizes) != aval.shape[axis]:
        raise ValueError(
            f"split: sizes must not be negative, and add up to that of axis {axis} of {aval}, "
            f"found {sizes}"
        )
    return bind(split_p, operand, sizes=sizes, axis=axis)


def _split_type(x: ShapedArray, *, sizes: Shape, axis: int) -> list[ShapedArray]:
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [ShapedArray((*before, size, *after), x.dtype, x.weak_type) for size in sizes]


def _lower_split(
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


def _vmap_split(
    batch_axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    sizes: Shape,
    axis: int,
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], batch_axis, dims[0], 0)
    return bind(split_p, x, sizes=sizes, axis=axis + 1), [0] * len(sizes)


def _jvp_split(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    parts = bind(split_p, *primals, **params)
    if type(tangents[0]) is Zero:
        return parts, [Zero.like(part) for part in parts]
    return parts, bind(split_p, *tangents, **params)


def _transpose_split(cts: Sequence[Any], x: Any, *, sizes: Shape, axis: int) -> list[Any]:
    return [concatenate([instantiate(ct) for ct in cts], axis)]


declare(
    split_p,
    abstract_eval=_split_type,
    lower=_lower_split,
    vmap=_vmap_split,
    sharding=as_first,
    jvp=_jvp_split,
    transpose=_transpose_split,
)


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
    return concatenate([expand_dims(x, (axis,)) for x in operands], axis)


@operation(static="axis")
def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The elements of `x` along `axis`, without that axis.

    Raises:
        ValueError: there is no such axis.

    >>> lax.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
    (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    axis = canonical_axis("unstack", axis, typeof(x).ndim)
    parts = [slice_in_dim(x, i, i + 1, axis=axis) for i in range(typeof(x).shape[axis])]
    return tuple([squeeze(part, (axis,)) for part in parts])


__all__ = ["split", "stack", "unstack"]
