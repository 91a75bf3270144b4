"""Elements converted to another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.dtypes import DTypeLike
from glassjax.errors.tracebacks import hiding_frames
from glassjax.primitives.declare import declare
from glassjax.primitives.narrow_numbers import through_wide_numbers
from glassjax.primitives.sharding_rules import require_whole
from glassjax.runtime.array import Array, ArrayLike, to_array
from glassjax.runtime.lowering import own_lowering_rules
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import bits_of, parse_dtype, warn_of_lost_part
from glassjax.shardings.types import Spec, spec_of
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.primitives import convert_element_type_p
from glassjax_stage2.shaped_array import dialect
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import lowering_rules
from glassjax_stage3.lowering import FunctionBuilder, Value, signature


def convert_element_type(operand: ArrayLike, new_dtype: Any) -> Array:
    """`operand` with another dtype. Conversion to a real dtype keeps only the real part.

    Raises:
        TypeError: `operand` is a Python complex number, and `new_dtype` real.
        ValueError: `new_dtype` is None.

    Warns:
        numpy.exceptions.ComplexWarning: `operand` is a complex array, and `new_dtype` real.

    >>> lax.convert_element_type(jnp.array([1.9, -1.9]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    kind = getattr(getattr(operand, "dtype", None), "kind", "c")
    if new_dtype is not None and kind != "c":
        return convert_silently(operand, new_dtype)
    return _convert_complex(operand, new_dtype)


@hiding_frames
def _convert_complex(operand: Any, new_dtype: Any) -> Any:
    if new_dtype is None:
        raise ValueError("convert_element_type: new_dtype must not be None")
    dtype = parse_dtype("convert_element_type", new_dtype)
    is_number = isinstance(operand, complex)
    if typeof(operand).dtype.kind == "c" and dtype.kind not in ("bcV" if is_number else "cV"):
        if is_number:
            raise TypeError(
                f"convert_element_type: {operand} is complex, and {dtype} is not. Take operand.real"
            )
        warn_of_lost_part("convert_element_type", operand, dtype, np.exceptions.ComplexWarning)
        operand = operand.real
    return to_array(convert_silently(operand, new_dtype))


@operation(static="new_dtype")
def convert_silently(operand: Any, new_dtype: Any) -> Any:
    """`convert_element_type` for callers that mean to drop imaginary parts, or have warned."""
    return stage2.astype(operand, new_dtype)


own_lowering_rules[convert_element_type_p] = through_wide_numbers(
    lowering_rules[convert_element_type_p]
)


bitcast_convert_type_p = Primitive("bitcast_convert_type")


@operation(static="new_dtype")
def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The bits of `operand`, read as another dtype.

    If the new dtype is narrower, the parts of each number form a new last axis, lowest bits first;
    if it is wider, the last axis holds the parts, and is removed.

    Raises:
        TypeError: a dtype is boolean or complex.
        ValueError: the last axis does not hold the parts.

    >>> lax.bitcast_convert_type(jnp.float32(1), jnp.uint32) == 0x3F800000
    Array(True, dtype=bool)
    >>> lax.bitcast_convert_type(jnp.uint32(0x01020304), jnp.uint8)
    Array([4, 3, 2, 1], dtype=uint8)
    """
    if new_dtype is None:
        raise ValueError("bitcast_convert_type: new_dtype must not be None")
    if typeof(operand).dtype.names:
        raise TypeError(f"bitcast_convert_type: expected numbers, found {typeof(operand)}")
    dtype = dialect().dtype_of("bitcast_convert_type", new_dtype)
    if typeof(operand).dtype == dtype:
        return convert_element_type(operand, dtype)  # drops the weak type
    return bind1(bitcast_convert_type_p, operand, new_dtype=dtype)


def _bitcast_type(x: ShapedArray, *, new_dtype: np.dtype[Any]) -> list[ShapedArray]:
    if x.dtype.kind in "bc" or new_dtype.kind in "bc":
        raise TypeError(
            f"bitcast_convert_type: expected dtypes that are neither boolean nor complex, found "
            f"{x.dtype} and {new_dtype}"
        )
    old, new = bits_of(x.dtype), bits_of(new_dtype)
    if old == new:
        shape = x.shape
    elif old > new:
        shape = (*x.shape, old // new)
    elif x.shape and x.shape[-1] * old == new:
        shape = x.shape[:-1]
    else:
        raise ValueError(
            f"bitcast_convert_type: a {new_dtype} is made of {new // old} {x.dtype}, which must "
            f"stand along the last axis, found {x}"
        )
    return [ShapedArray(shape, new_dtype)]


def _bitcast_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, new_dtype: np.dtype[Any]
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], axis, dims[0], 0)
    return [bind1(bitcast_convert_type_p, x, new_dtype=new_dtype)], [0]


def _bitcast_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *,
    new_dtype: np.dtype[Any],
) -> list[Value]:
    (out,) = out_avals
    return b.emit(f"stablehlo.bitcast_convert {x.name} : {signature([x], out_avals)}", out)


def _bitcast_sharding(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Spec]:
    """The parts of a wider number, along the last axis, stay together."""
    (x,), (out,) = in_avals, out_avals
    if out.ndim < x.ndim:
        require_whole(bitcast_convert_type_p, x, [x.ndim - 1], "it holds the parts of a number")
    return [(*spec_of(x), ())[: out.ndim]]


declare(
    bitcast_convert_type_p,
    abstract_eval=_bitcast_type,
    lower=_bitcast_lower,
    vmap=_bitcast_vmap,
    sharding=_bitcast_sharding,
)
