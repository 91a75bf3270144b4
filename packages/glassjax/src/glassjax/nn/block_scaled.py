"""Products of matrices that are scaled block by block."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.dtypes import DTypeLike, finfo
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.products import scaled
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax.transforms.custom_derivatives import custom_vjp
from glassjax_stage2 import typeof
from glassjax_stage2.shaped_array import dialect

# Products of low-precision matrices with a scale for each block of elements.


@operation(static="preferred_element_type")
def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """The product of matrices and transposed matrices, each times the scales of its blocks.

    Arguments:
        lhs: matrices, of shape `(b, m, k)`.
        rhs: matrices, of shape `(b, n, k)`.
        lhs_scales: the scales of blocks of rows, of shape `(b, m, k / size)`.
        rhs_scales: the same for `rhs`; the sizes may differ.
        preferred_element_type: the dtype of the result.

    Returns:
        An array of shape `(b, m, n)`, summed in float32.

    Raises:
        ValueError: the shapes do not match.

    >>> ones = jnp.ones((1, 2, 4))
    >>> print(scaled_matmul(ones, ones, jnp.full((1, 2, 2), 3.0), jnp.ones((1, 2, 1)))[0])
    [[12. 12.]
     [12. 12.]]
    """
    shapes = [typeof(x).shape for x in (lhs, rhs, lhs_scales, rhs_scales)]
    first, second, *sizes = shapes
    fits = all(len(shape) == 3 for shape in shapes) and first[::2] == second[::2]
    if not fits or first[:2] != sizes[0][:2] or second[:2] != sizes[1][:2]:
        raise ValueError(
            "scaled_matmul: expected shapes (b, m, k), (b, n, k), (b, m, k / size) and "
            f"(b, n, k / size), found {', '.join(map(str, shapes))}"
        )
    wide = [
        scaled("scaled_matmul", operand, scales, np.float32)
        for operand, scales in ((lhs, lhs_scales), (rhs, rhs_scales))
    ]
    product = lax.dot_general(wide[0], wide[1], (((2,), (2,)), ((0,), (0,))))
    return lax.convert_element_type(product, preferred_element_type)


# Products of arrays that are quantized in blocks, forwards and backwards.
#
# The formats: the Open Compute Project's "Microscaling Formats" (MXFP8, MXFP4), and NVFP4. Blocks
# of low-precision numbers lie along the contracted axes, each block with a scale.


_EXPONENT_BITS, _MANTISSA = 23, 0x7FFFFF  # the bits of a float32
_LARGEST_EXPONENT = 0xFE


@dataclass(frozen=True, eq=False)
class BlockScaleConfig:
    """A format of blocks with scales.

    Attributes:
        mode: its name.
        block_size: how many numbers share a scale.
        data_type: the dtype of the numbers.
        scale_type: the dtype of the scales.
        global_scale: what divides all numbers first, of shape (1,); None for no such.
        infer_only: ignored.
    """

    mode: str
    block_size: int
    data_type: DTypeLike
    scale_type: DTypeLike
    global_scale: Any
    infer_only: bool


_FORMATS: dict[str, tuple[int, Any, Any]] = {
    "nvfp4": (16, jnp.float4_e2m1fn, jnp.float8_e4m3fn),
    "mxfp8": (32, jnp.float8_e4m3fn, jnp.float8_e8m0fnu),
    "mxfp4": (32, jnp.float4_e2m1fn, jnp.float8_e8m0fnu),
}


def get_scaled_dot_general_config(
    mode: str, global_scale: ArrayLike | None = None
) -> BlockScaleConfig:
    """The format of an operand of `scaled_dot_general`.

    Arguments:
        mode: "nvfp4", "mxfp8" or "mxfp4".
        global_scale: for "nvfp4" what divides all numbers first, a float32 array of shape (1,); 1
            by default.

    Raises:
        ValueError: there is no such mode, or "mxfp4" is given a scale.

    >>> nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode not in _FORMATS:
        raise ValueError(
            f"get_scaled_dot_general_config: mode must be one of {', '.join(_FORMATS)}, found "
            f"{mode!r}"
        )
    if mode == "mxfp4" and global_scale is not None:
        raise ValueError(
            "get_scaled_dot_general_config: global_scale must be None for mxfp4, whose scales "
            "cover all magnitudes"
        )
    if mode == "nvfp4":
        scale: Any = jnp.ones(1, np.float32) if global_scale is None else global_scale
    else:
        scale = None
    return BlockScaleConfig(mode, *_FORMATS[mode], scale, infer_only=False)


def _power_of_two_above(x: Any) -> Any:
    """The biased exponents, as uint8, of the least powers of two that are not below `x`."""
    bits = lax.bitcast_convert_type(x, np.uint32)
    exponent, mantissa = bits >> _EXPONENT_BITS, bits & _MANTISSA
    tiny = (exponent == 0) & (mantissa <= 1 << (_EXPONENT_BITS - 1))
    up = (mantissa > 0) & (exponent != _LARGEST_EXPONENT) & ~tiny
    return jnp.where(up, exponent + 1, exponent).astype(np.uint8)


def _power_of_two(exponent: Any) -> Any:
    """The float32 of a biased exponent."""
    bits = exponent.astype(np.uint32) << _EXPONENT_BITS
    return jnp.where(
        exponent == 0, np.float32(2.0**-127), lax.bitcast_convert_type(bits, np.float32)
    )


def _quantized(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """Numbers of few bits, of the shape of `x`, and the scales of blocks along the last axis."""
    *lead, count = typeof(x).shape
    if count % config.block_size:
        raise ValueError(
            f"scaled_dot_general: {config.mode} needs a multiple of {config.block_size} numbers "
            f"along the contracted axes, found {count}"
        )
    blocks = jnp.reshape(x, (*lead, count // config.block_size, config.block_size))
    largest = np.float32(finfo(config.data_type).max)
    if config.global_scale is not None:
        blocks = blocks / config.global_scale
    ratio = jnp.abs(blocks).max(-1, keepdims=True).astype(np.float32) / largest
    if config.mode == "nvfp4":
        ratio = jnp.clip(ratio, 0, np.float32(finfo(config.scale_type).max))
        scales = lax.optimization_barrier(ratio.astype(config.scale_type))
        divisor = scales.astype(np.float32)
    else:
        exponents = _power_of_two_above(ratio)
        scales, divisor = exponents, _power_of_two(exponents)
    numbers = jnp.clip(blocks.astype(np.float32) / divisor, -largest, largest)
    numbers = jnp.reshape(numbers.astype(config.data_type), (*lead, count))
    scales = scales[..., 0]
    if scales.dtype != config.scale_type:
        scales = lax.bitcast_convert_type(scales, config.scale_type)
    # Without this the compiler drops the conversion to low precision and back.
    return lax.optimization_barrier((numbers, scales))


def _block_product(lhs: Any, rhs: Any, formats: Sequence[BlockScaleConfig], dtype: Any) -> Any:
    """The product of (b, m, k) with (b, n, k)."""
    (a, a_scales), (b, b_scales) = map(_quantized, (lhs, rhs), formats)
    if formats[0].mode != "nvfp4":
        return scaled_matmul(a, b, a_scales, b_scales, dtype)
    out = scaled_matmul(a, b, a_scales, b_scales, np.float32)
    return (out * (formats[0].global_scale * formats[1].global_scale)).astype(dtype)


def _cotangent(ct: Any, other: Any, operand: Any, config: Any, formats: Any, dtype: Any) -> Any:
    """The cotangent of `operand`: `ct`, (b, m, n), times `other`, (b, n, k)."""
    if formats[0].mode != "nvfp4":
        out = _block_product(ct, jnp.swapaxes(other, 1, 2), formats, dtype)
    else:
        out = jnp.matmul(ct, other, preferred_element_type=dtype)
        reach = float(finfo(config.data_type).max) * float(finfo(config.scale_type).max)
        out = jnp.where(jnp.abs(operand) <= config.global_scale * reach, out, 0)
    return out.astype(operand.dtype)


def _as_matrices(x: Any, contracting: Sequence[int], batch: Sequence[int]) -> tuple[Any, list[int]]:
    """`x` with its batch axes, those kept, and those contracted each joined; and the shape kept."""
    shape = typeof(x).shape
    kept = [i for i in range(len(shape)) if i not in (*contracting, *batch)]
    sizes = [math.prod([shape[i] for i in axes]) for axes in (batch, kept, contracting)]
    return jnp.reshape(jnp.transpose(x, (*batch, *kept, *contracting)), sizes), [
        shape[i] for i in kept
    ]


@hiding_frames
@evaluated_by_library
def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    preferred_element_type: DTypeLike = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Array:
    """`dot_general` of operands quantized in blocks along the contracted axes.

    In reverse mode, the cotangent of the result is quantized, too, and the operands along their
    other axes; with "nvfp4" none is, and numbers out of its range have the cotangent zero.

    Arguments:
        lhs: an array.
        rhs: an array.
        dimension_numbers: as in `lax.dot_general`.
        preferred_element_type: the dtype of the result: float32, bfloat16 or float16.
        configs: the formats of `lhs`, `rhs` and the cotangent, of
            `get_scaled_dot_general_config`. By default nothing is quantized.
        implementation: deprecated, of no effect.

    Raises:
        TypeError: `preferred_element_type` is another.
        ValueError: the size of the contracted axes is not a multiple of the block size.

    >>> formats = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = jnp.ones((2, 32))
    >>> print(nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=formats))
    [[32. 32.]
     [32. 32.]]
    """
    if implementation is not None:
        warnings.warn(
            "scaled_dot_general: implementation is of no effect", DeprecationWarning, stacklevel=3
        )
    if configs is None:
        return lax.dot_general(
            lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type
        )
    dtype = dialect().dtype_of("scaled_dot_general", preferred_element_type)
    if dtype.name not in ("float32", "bfloat16", "float16"):
        raise TypeError(
            "scaled_dot_general: preferred_element_type must be float32, bfloat16 or float16, "
            f"found {dtype}"
        )
    lhs_config, rhs_config, ct_config = configs

    @custom_vjp
    def product(a: Any, b: Any) -> Any:
        return _block_product(a, b, (lhs_config, rhs_config), dtype)

    def forward(a: Any, b: Any) -> Any:
        return product(a, b), (a, b)

    def backward(operands: Any, ct: Any) -> Any:
        a, b = operands
        a_bar = _cotangent(ct, b, a, lhs_config, (ct_config, rhs_config), dtype)
        b_bar = _cotangent(jnp.swapaxes(ct, 1, 2), a, b, rhs_config, (ct_config, lhs_config), dtype)
        return a_bar, b_bar

    product.defvjp(forward, backward)
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    a, rows = _as_matrices(lhs, lhs_contracting, lhs_batch)
    b, columns = _as_matrices(rhs, rhs_contracting, rhs_batch)
    batch = [typeof(lhs).shape[i] for i in lhs_batch]
    return jnp.reshape(product(a, b), (*batch, *rows, *columns))
