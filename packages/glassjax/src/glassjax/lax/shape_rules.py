"""The shapes of results, under JAX's names."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax.errors.arguments import checking_arguments
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.convolution import conv_general_dilated, conv_transpose
from glassjax.lax.windowed_reductions import windowed_shape
from glassjax.runtime.array import is_value
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax_stage2 import ShapedArray, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints
from glassjax_stage2.shaped_array import Shape, dialect
from glassjax_stage3.staging import trace_to_jaxpr

Padding = str | Sequence[tuple[int, int]]


@evaluated_by_library
def dtype(x: Any) -> np.dtype[Any]:
    """The dtype of a value, or the dtype denoted by a type or a name.

    It has 32 bits unless 64 are enabled.

    Raises:
        TypeError: `x` neither has a dtype nor is one.

    >>> dtype(1.5), dtype("int8")
    (dtype('float32'), dtype('int8'))
    """
    if x is None:
        raise ValueError("dtype: expected a value or a dtype, found None")
    return typeof(x).dtype if is_value(x) else dialect().dtype_of("dtype", x)


@checking_arguments
def shape_as_value(shape: Sequence[int]) -> Any:
    """The sizes of a shape as an array of integers, numpy's.

    Raises:
        OverflowError: a size does not fit in 32 bits.

    >>> shape_as_value((2, 3))
    array([2, 3], dtype=int32)
    """
    sizes = ints("shape_as_value: shape", shape)
    if any(not -(2**31) <= size < 2**31 for size in sizes):
        raise OverflowError(f"shape_as_value: a size does not fit in 32 bits: {sizes}")
    return np.array(sizes, np.int32)


@hiding_frames
@checking_arguments
def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Shape:
    """The result shape of `reduce_window` for these arguments.

    Arguments:
        operand_shape: the shape of the operand.
        window_dimensions, window_strides: as in `lax.reduce_window`.
        padding: the numbers of elements to add before and after, for each axis.
        base_dilation, window_dilation: as in `lax.reduce_window`.

    Raises:
        ValueError: a stride is not positive.

    >>> reduce_window_shape_tuple((6,), (2,), (2,), [(0, 0)])
    (3,)
    """
    shape = ints("operand_shape", operand_shape)
    ones, strides = (1,) * len(shape), ints("window_strides", window_strides)
    if min(strides, default=1) < 1:
        raise ValueError(f"window_strides must be positive, found {strides}")
    window = {
        "window_dimensions": ints("window_dimensions", window_dimensions),
        "window_strides": strides,
        "padding": [_pad_pair(pads) for pads in padding],
        "base_dilation": ones if base_dilation is None else ints("base_dilation", base_dilation),
        "window_dilation": (
            ones if window_dilation is None else ints("window_dilation", window_dilation)
        ),
    }
    return windowed_shape(shape, window)


def _pad_pair(pads: Any) -> tuple[int, int]:
    found = ints("padding", pads)
    if len(found) != 2:
        raise ValueError(f"padding must be a pair of ints for each axis, found {shown(pads)}")
    return found[0], found[1]


@hiding_frames
@checking_arguments
def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Padding,
    batch_group_count: int = 1,
) -> Shape:
    """The shape of the result of `conv_general_dilated`, with axes in their usual order.

    Arguments:
        lhs_shape: the shape of the input: examples, features, spatial axes.
        rhs_shape: the shape of the kernel: output features, input features, spatial axes.
        strides, pads, batch_group_count: as for `conv_general_dilated`.

    >>> lax.conv_shape_tuple((1, 3, 8), (5, 3, 3), (1,), "VALID")
    (1, 5, 6)
    """

    def conv_shapes(lhs: Any, rhs: Any) -> Any:
        return conv_general_dilated(lhs, rhs, strides, pads, batch_group_count=batch_group_count)

    return _shape_of(conv_shapes, lhs_shape, rhs_shape)


@hiding_frames
@checking_arguments
def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Any,
) -> Shape:
    """The result shape of `conv_general_dilated` for these arguments.

    Arguments:
        lhs_shape, rhs_shape: the shapes of the input and of the kernel.
        window_strides, padding, dimension_numbers: as in `lax.conv_general_dilated`.

    Raises:
        TypeError, ValueError: as in `lax.conv_general_dilated`.

    >>> conv_general_shape_tuple((1, 8, 3), (3, 3, 5), (2,), "SAME", ("NHC", "HIO", "NHC"))
    (1, 4, 5)
    """

    def general_shapes(lhs: Any, rhs: Any) -> Any:
        return conv_general_dilated(
            lhs, rhs, window_strides, padding, dimension_numbers=dimension_numbers
        )

    return _shape_of(general_shapes, lhs_shape, rhs_shape)


@hiding_frames
@checking_arguments
def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Any,
) -> Shape:
    """The result shape of `conv_transpose` for these arguments.

    Arguments:
        lhs_shape, rhs_shape: the shapes of the input and of the kernel.
        window_strides: as `strides` in `lax.conv_transpose`.
        padding, dimension_numbers: as in `lax.conv_transpose`.

    >>> lax.conv_transpose_shape_tuple((1, 4, 3), (2, 3, 5), (2,), "VALID", ("NHC", "HIO", "NHC"))
    (1, 8, 5)
    """

    def transpose_shapes(lhs: Any, rhs: Any) -> Any:
        return conv_transpose(
            lhs, rhs, window_strides, padding, dimension_numbers=dimension_numbers
        )

    return _shape_of(transpose_shapes, lhs_shape, rhs_shape)


def _shape_of(function: Callable[..., Any], *shapes: Sequence[int]) -> Shape:
    avals = [ShapedArray(ints("shape", shape), np.float32) for shape in shapes]
    closed = trace_to_jaxpr(lambda *xs: [function(*xs)], avals, "shape", function)
    return closed.out_avals[0].shape
