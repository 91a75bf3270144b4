"""Sums of products: of vectors, matrices, and arrays of more axes."""

from typing import Any

import minijax_stage2 as stage2
from minijax.lax.precision import PrecisionLike, attributes_of
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.primitives import DotDimensionNumbers
from minijax_stage2.shaped_array import dtype_of_numbers

HOW = ("precision", "preferred_element_type", "out_sharding")


def options(
    caller: str,
    precision: PrecisionLike,
    preferred_element_type: Any,
    out_sharding: None = None,
) -> dict[str, Any]:
    """The parameters of a product: only those that say something."""
    if out_sharding is not None:
        raise NotImplementedError(
            f"{caller}: out_sharding must be None: the result is on one device"
        )
    how: dict[str, Any] = dict(attributes_of(caller, precision))
    if preferred_element_type is not None:
        how["preferred_element_type"] = dtype_of_numbers(caller, preferred_element_type)
    return how


@operation(static=("dimension_numbers", *HOW))
def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: None = None,
) -> Any:
    """Products of `lhs` and `rhs` summed over the contracted axes, for each batch index.

    Arguments:
        lhs: the one operand.
        rhs: the other operand.
        dimension_numbers: a pair of pairs, `((lhs_contracting, rhs_contracting), (lhs_batch,
            rhs_batch))`.
        precision: a `lax.Precision` or its name, a pair of these, or a `lax.DotAlgorithm`.
        preferred_element_type: the dtype in which to sum, and of the result; that of the operands
            if not given.
        out_sharding: must be None.

    Returns:
        An array whose axes are the batch axes, the other axes of `lhs`, the other axes of `rhs`.

    Raises:
        TypeError: axes do not exist, or do not fit together.

    >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 4, 3))
    >>> contracting, batch = ((2,), (2,)), ((0,), (0,))
    >>> lax.dot_general(x, y, (contracting, batch)).shape
    (5, 2, 4)
    """
    how = options("dot_general", precision, preferred_element_type, out_sharding)
    return stage2.dot_general(lhs, rhs, dimension_numbers, **how)


@operation(static=("dimension_numbers", *HOW))
def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
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
    how = options("dot", precision, preferred_element_type, out_sharding)
    return stage2.dot_general(lhs, rhs, dimension_numbers, **how)


@operation(static="precision")
def batch_matmul(lhs: Any, rhs: Any, precision: PrecisionLike = None) -> Any:
    """The matrix products of the last two axes, for each index of the axes before these.

    Raises:
        TypeError: operands have less than two axes, or differ in the sizes of the leading ones.

    >>> lax.batch_matmul(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    a, b = typeof(lhs), typeof(rhs)
    if a.ndim < 2 or a.ndim != b.ndim:
        raise TypeError(f"batch_matmul: takes as many axes of both, at least two; found {a}, {b}")
    lead = tuple(range(a.ndim - 2))
    return dot_general(lhs, rhs, (((a.ndim - 1,), (a.ndim - 2,)), (lead, lead)), precision)


__all__ = [
    "DotDimensionNumbers",
    "batch_matmul",
    "dot",
    "dot_general",
]
