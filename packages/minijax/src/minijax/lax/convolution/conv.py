"""Special convolutions, in terms of the general one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax.convolution.conv_general_dilated import conv_general_dilated
from minijax.lax.convolution.dimension_numbers import (
    ConvGeneralDilatedDimensionNumbers,
    Padding,
    conv_dimension_numbers,
    dilated,
    spatial_sizes,
)
from minijax.lax.dot import dot_general
from minijax.lax.elementwise.conversion import convert_element_type
from minijax.lax.precision import PrecisionLike
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.lax.shapes.creation import sizes_of, steps_of
from minijax.lax.shapes.reshaping import reshape, rev
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.counted import counted
from minijax.settings.public_names import set_all
from minijax_stage2 import transpose, typeof


@operation(static=("window_strides", "padding", "precision", "preferred_element_type"))
def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`conv_general_dilated` with strides and padding only.

    >>> signal, kernel = jnp.array([[[0.0, 1.0, 4.0, 9.0]]]), jnp.array([[[-1.0, 1.0]]])
    >>> lax.conv(signal, kernel, window_strides=(1,), padding="VALID")
    Array([[[1., 3., 5.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@operation(
    static=(
        "window_strides",
        "padding",
        "lhs_dilation",
        "rhs_dilation",
        "precision",
        "preferred_element_type",
    )
)
def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`conv_general_dilated` with strides, padding and dilations only.

    >>> signal, kernel = jnp.arange(5.0).reshape(1, 1, 5), jnp.ones((1, 1, 3))
    >>> lax.conv_with_general_padding(signal, kernel, (1,), [(1, 1)], None, None)
    Array([[[1., 3., 6., 9., 7.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@operation(
    static=(
        "strides",
        "padding",
        "rhs_dilation",
        "dimension_numbers",
        "transpose_kernel",
        "precision",
        "preferred_element_type",
        "use_consistent_padding",
    )
)
def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """The transposed convolution, which enlarges what a convolution with these strides shrinks.

    Arguments:
        lhs: the input.
        rhs: the kernel.
        strides: those of the convolution to transpose, for each spatial axis.
        padding: "SAME" or "VALID", as for that convolution; or pairs, of zeros put before and after
            the input.
        rhs_dilation: the dilation of the kernel.
        dimension_numbers: the meaning of the axes; by default features come last, with the kernel's
            input features before its output features.
        transpose_kernel: whether the kernel is that of the convolution to transpose: then it is
            flipped, and its input and output features are swapped.
        precision: the precision of the products, a `lax.Precision`.
        preferred_element_type: the dtype of the sums and of the result.
        use_consistent_padding: whether pairs, too, are the padding of the convolution to transpose.

    >>> signal, kernel = jnp.array([[[1.0], [2.0]]]), jnp.ones((2, 1, 1))
    >>> lax.conv_transpose(signal, kernel, strides=(2,), padding="VALID")[0, :, 0]
    Array([1., 1., 2., 2.], dtype=float32)
    """
    ndim = typeof(lhs).ndim
    if dimension_numbers is None:
        letters = {3: "H", 4: "HW", 5: "HWD"}.get(ndim)
        if letters is None:
            raise ValueError(
                f"conv_transpose: say dimension_numbers for an input of {counted(ndim, 'axis')}"
            )
        dimension_numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    windows = spatial_sizes(typeof(rhs).shape, numbers.rhs_spec)
    windows = tuple(map(dilated, windows, rhs_dilation or (1,) * len(windows)))
    if len(strides) != len(windows):
        raise ValueError(
            f"conv_transpose: strides must be one for each of {len(windows)} spatial axes, found "
            f"{strides}"
        )
    if isinstance(padding, str):
        pads = [_transposed(k, s, padding) for k, s in zip(windows, strides, strict=True)]
    elif use_consistent_padding:
        pads = [(k - 1 - lo, k - 1 - hi) for k, (lo, hi) in zip(windows, padding, strict=True)]
    else:
        pads = list(padding)
    if transpose_kernel:
        rhs = rev(rhs, numbers.rhs_spec[2:])
        out_features, in_features, *spatial = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(in_features, out_features, *spatial))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(strides),
        pads,
        strides,
        rhs_dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed(window: int, stride: int, padding: str) -> tuple[int, int]:
    """The padding that reverses a padding given by name."""
    if padding == "VALID":
        return window - 1, stride - 1 + max(window - stride, 0)
    if padding != "SAME":
        raise ValueError(f"conv_transpose: padding must be 'SAME' or 'VALID', found {padding!r}")
    total = window + stride - 2
    before = window - 1 if stride >= window else -(-total // 2)
    return before, total - before


LOCAL = (
    "filter_shape",
    "window_strides",
    "padding",
    "lhs_dilation",
    "rhs_dilation",
    "dimension_numbers",
    "precision",
)


@operation(static=(*LOCAL, "preferred_element_type"))
def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Array:
    """Extract the patches that a kernel of shape `filter_shape` covers, as features of the result.

    The arguments are those of `conv_general_dilated`. The result has one feature for each input
    feature and element of the kernel.

    >>> signal = jnp.arange(5.0).reshape(1, 1, 5)
    >>> lax.conv_general_dilated_patches(signal, (3,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.],
            [2., 3., 4.]]], dtype=float32)
    """
    filter_shape = sizes_of("conv_general_dilated_patches", filter_shape)
    ndim = len(filter_shape) + 2
    if ndim != typeof(lhs).ndim:
        raise ValueError(
            "conv_general_dilated_patches: filter_shape must be one size for each of "
            f"{typeof(lhs).ndim - 2} spatial axes, found {filter_shape}"
        )
    steps_of("conv_general_dilated_patches: the elements of a filter", math.prod(filter_shape))
    numbers = conv_dimension_numbers(typeof(lhs).shape, (1,) * ndim, dimension_numbers)
    features, count = typeof(lhs).shape[numbers.lhs_spec[1]], math.prod(filter_shape)
    dtype = typeof(lhs).dtype
    # A kernel for each of its elements, which picks that one; the same for all input features.
    pick = convert_element_type(np.eye(count, dtype=np.bool_), dtype)
    pick = broadcast_in_dim(pick, (features, count, count), (1, 2))
    kernel = reshape(pick, (features * count, 1, *filter_shape))
    kernel = transpose(kernel, [numbers.rhs_spec.index(axis) for axis in range(ndim)])
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@operation(static=LOCAL)
def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """A convolution with a different kernel at each position.

    Arguments:
        rhs: the kernels: an axis of output features, one of the features of
            `conv_general_dilated_patches`, and spatial axes as large as those of the result.
        filter_shape: the spatial shape of the kernels.

    The others are those of `conv_general_dilated`.

    >>> signal, kernels = jnp.ones((1, 1, 4)), jnp.arange(6.0).reshape(1, 2, 3)
    >>> lax.conv_general_dilated_local(signal, kernels, (1,), "VALID", filter_shape=(2,))
    Array([[[3., 5., 7.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        precision=precision,
    )
    _, rhs_spec, out_spec = numbers
    contracted = ((out_spec[1],), (rhs_spec[1],))
    out = dot_general(
        patches, rhs, (contracted, (tuple(out_spec[2:]), tuple(rhs_spec[2:]))), precision
    )
    # The axes of the product are the spatial ones, that of the examples, that of the features.
    found = [*out_spec[2:], out_spec[0], out_spec[1]]
    return transpose(out, [found.index(axis) for axis in range(len(found))])


set_all(globals())
