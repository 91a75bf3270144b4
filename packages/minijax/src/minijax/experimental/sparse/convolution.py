"""Convolutions of sparse arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax import numpy as jnp
from minijax.experimental.sparse.bcoo_array import BCOO
from minijax.experimental.sparse.conversion import is_inside, masked
from minijax.experimental.sparse.layouts import bcoo_update_layout
from minijax.lax.convolution.dimension_numbers import (
    ConvGeneralDilatedDimensionNumbers,
    Padding,
    conv_dimension_numbers,
    pads_of,
)
from minijax.runtime.array import ArrayLike


def bcoo_conv_general_dilated(
    lhs: BCOO | ArrayLike,
    rhs: BCOO | ArrayLike,
    *,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> BCOO:
    """`lax.conv_general_dilated` of sparse arrays, along one axis, of one example and feature.

    Arguments:
        lhs: the input, of shape `(1, 1, n)`, sparse or dense.
        rhs: the kernel, of shape `(1, 1, k)`, sparse or dense.
        padding: as for `lax.conv_general_dilated`.
        precision: ignored.
        preferred_element_type: must be None.

    The other arguments must be what they are by default, and strides be 1.

    Returns:
        An array of shape `(1, 1, size)` with as many elements as pairs of those of the operands.

    Raises:
        NotImplementedError: the shapes or arguments are others.
        TypeError: the dtypes differ.

    >>> from minijax.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([[[0.0, 1.0, 0.0, 2.0]]]))
    >>> kernel = jnp.array([[[1.0, 10.0]]])
    >>> out = sparse.bcoo_conv_general_dilated(x, kernel, window_strides=(1,), padding="SAME")
    >>> out.todense()
    Array([[[10.,  1., 20.,  2.]]], dtype=float32)
    """
    caller = "bcoo_conv_general_dilated"
    operands = [x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs)]
    left, right = operands[0].shape, operands[1].shape
    if any(len(shape) != 3 or shape[:2] != (1, 1) for shape in (left, right)):
        raise NotImplementedError(
            f"{caller}: expected arrays of shape (1, 1, n), found {left} and {right}"
        )
    for name, given in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if given is not None and tuple(given) != (1,):
            raise NotImplementedError(f"{caller}: {name} must be (1,), found {given}")
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    plain = feature_group_count == batch_group_count == 1
    if not plain or preferred_element_type is not None or out_sharding is not None:
        raise NotImplementedError(
            f"{caller}: group counts must be 1, preferred_element_type and out_sharding None"
        )
    if numbers != conv_dimension_numbers(left, right, None):
        raise NotImplementedError(
            f"{caller}: dimension_numbers must be None, found {dimension_numbers}"
        )
    if operands[0].dtype != operands[1].dtype:
        raise TypeError(f"{caller}: dtypes {operands[0].dtype} and {operands[1].dtype} differ")
    n, k = left[2], right[2]
    ((low, high),) = pads_of(caller, (n,), (k,), (1,), padding)
    size = max(n + low + high - k + 1, 0)
    (x, at), (y, offset) = map(_elements, operands)
    product = (x[:, None] * y[None]).reshape(-1)
    place = (at[:, None] + low - offset[None]).reshape(-1)
    inside = (place >= 0) & (place < size)
    place = jnp.where(inside, place, size)
    return BCOO(
        (masked(inside, product)[None, None], place[None, None, :, None]), shape=(1, 1, size)
    )


def _elements(mat: Any) -> tuple[Any, Any]:
    """The elements along the last axis, and where they are."""
    if not isinstance(mat, BCOO):
        return mat[0, 0], jnp.arange(mat.shape[2])
    mat = bcoo_update_layout(mat, n_batch=0, n_dense=0)
    inside = is_inside(mat.indices, mat.sparse_shape)
    return masked(inside, mat.data), mat.indices[:, 2]


__all__ = ["bcoo_conv_general_dilated"]
