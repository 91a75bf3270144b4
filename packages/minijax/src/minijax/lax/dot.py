"""Sums of products: of vectors, matrices, and arrays of more axes."""

from __future__ import annotations

from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise.conversion import convert_element_type
from minijax.lax.precision import PrecisionLike, attributes_of
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import as_weak_as
from minijax_stage2 import typeof
from minijax_stage2.primitives import DotDimensionNumbers
from minijax_stage2.promotion import result_type
from minijax_stage2.shaped_array import dialect, is_inexact

HOW = ("precision", "preferred_element_type", "out_sharding")


def options(
    caller: str,
    precision: PrecisionLike,
    preferred_element_type: Any,
    *operands: Any,
) -> dict[str, Any]:
    """The parameters of a product of operands, without those that are defaults.

    Raises:
        TypeError: the dtype in which to sum is narrower than that of the operands, unless these
            are floats.
    """
    how: dict[str, Any] = dict(attributes_of(caller, precision))
    if preferred_element_type is not None:
        wanted = dialect().dtype_of(caller, preferred_element_type)
        met = result_type(*map(typeof, operands)).dtype
        if met.kind in "iuc" and width(wanted) < width(met):
            raise TypeError(
                f"{caller}: preferred_element_type must not be narrower than {met}, the dtype of "
                f"the operands, found {wanted}"
            )
        how["preferred_element_type"] = wanted
    return how


def width(dtype: np.dtype[Any]) -> int:
    """The number of bits of a number of this dtype; for a complex one, of each part."""
    return 1 if dtype.kind == "b" else 8 * dtype.itemsize // (2 if dtype.kind == "c" else 1)


def _strong_if_they_differ(lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """Operands made strong if their dtypes differ, so that they are promoted as arrays."""
    if typeof(lhs).dtype == typeof(rhs).dtype:
        return lhs, rhs
    return convert_element_type(lhs, typeof(lhs).dtype), convert_element_type(
        rhs, typeof(rhs).dtype
    )


def _bytes_widened(lhs: Any, rhs: Any, preferred_element_type: Any) -> tuple[Any, Any]:
    """Operands, of which floats of a byte are converted to a dtype in which they are multiplied.

    That is the dtype of the other operand, or of the sums. They are not promoted otherwise, and a
    derivative multiplies them by cotangents of a wider dtype.
    """
    dtypes = [typeof(lhs).dtype, typeof(rhs).dtype]
    wide = [dtype for dtype in dtypes if not _is_float_of_a_byte(dtype)]
    if preferred_element_type is not None:
        wide.append(dialect().dtype_of("dot_general", preferred_element_type))
    if all(dtype in wide for dtype in dtypes) or not wide or not is_inexact(wide[0]):
        return lhs, rhs
    return (
        convert_element_type(lhs, wide[0]) if _is_float_of_a_byte(dtypes[0]) else lhs,
        convert_element_type(rhs, wide[0]) if _is_float_of_a_byte(dtypes[1]) else rhs,
    )


def _is_float_of_a_byte(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize == 1 and is_inexact(dtype)


def _weak_if_both_are(out: Any, lhs: Any, rhs: Any) -> Any:
    """The product, weak if its operands are, unless another dtype was requested."""
    a, b = typeof(lhs), typeof(rhs)
    is_weak = a.weak_type and b.weak_type and typeof(out).dtype == a.dtype
    return as_weak_as(a, out) if is_weak else out


@operation(static=("dimension_numbers", *HOW))
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Products of `lhs` and `rhs` summed over the contracted axes, for each batch index.

    Arguments:
        lhs: the left operand.
        rhs: the right operand.
        dimension_numbers: a pair of pairs, `((lhs_contracting, rhs_contracting), (lhs_batch,
            rhs_batch))`.
        precision: a `lax.Precision` or its name, a pair of these, or a `lax.DotAlgorithm`.
        preferred_element_type: the dtype of the sums and of the result; that of the operands by
            default.
        out_sharding: the division of the result along axes of type `Explicit`.

    Returns:
        An array whose axes are the batch axes, the other axes of `lhs`, the other axes of `rhs`.

    Raises:
        TypeError: axes do not exist, or do not match.

    >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 4, 3))
    >>> contracting, batch = ((2,), (2,)), ((0,), (0,))
    >>> lax.dot_general(x, y, (contracting, batch)).shape
    (5, 2, 4)
    """
    lhs, rhs = _bytes_widened(lhs, rhs, preferred_element_type)
    lhs, rhs = _strong_if_they_differ(lhs, rhs)
    how = options("dot_general", precision, preferred_element_type, lhs, rhs)
    out = stage2.dot_general(lhs, rhs, dimension_numbers, **how)
    return _weak_if_both_are(out, lhs, rhs)


@operation(static=("dimension_numbers", *HOW))
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The product of vectors or matrices; with `dimension_numbers` it is `dot_general`.

    Raises:
        TypeError: without `dimension_numbers`, an operand has neither one axis nor two, or the
            sizes of the contracted axes differ.

    >>> lax.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    if dimension_numbers is None:
        a, b = typeof(lhs), typeof(rhs)
        if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2 and a.shape[-1] == b.shape[0]):
            raise TypeError(f"dot: takes vectors and matrices that fit together, found {a} and {b}")
        dimension_numbers = (((a.ndim - 1,), (0,)), ((), ()))
    lhs, rhs = _bytes_widened(lhs, rhs, preferred_element_type)
    lhs, rhs = _strong_if_they_differ(lhs, rhs)
    how = options("dot", precision, preferred_element_type, lhs, rhs)
    out = stage2.dot_general(lhs, rhs, dimension_numbers, **how)
    return _weak_if_both_are(out, lhs, rhs)


@operation(static="precision")
def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """The matrix products of the last two axes, for each index of the axes before these.

    Raises:
        TypeError: operands have fewer than two axes, or differ in the sizes of the leading ones.

    >>> lax.batch_matmul(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    a, b = typeof(lhs), typeof(rhs)
    if a.ndim < 2 or a.ndim != b.ndim:
        raise TypeError(f"batch_matmul: takes as many axes of both, at least two; found {a}, {b}")
    lead = tuple(range(a.ndim - 2))
    return dot_general(lhs, rhs, (((a.ndim - 1,), (a.ndim - 2,)), (lead, lead)), precision)


__all__ = ["DotDimensionNumbers", "batch_matmul", "dot", "dot_general"]
