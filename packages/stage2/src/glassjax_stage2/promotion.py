"""Promotion of operands to one dtype and shape, before a primitive sees them.

The dialect in force decides the dtype.
"""

import operator
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from glassjax_stage2.errors import ShapeMismatchError
from glassjax_stage2.primitives import broadcast_in_dim_p, convert_element_type_p
from glassjax_stage2.shaped_array import Dialect, Shape, ShapedArray, dialect, inexact_dtype, typeof
from glassjax_stage2.trace import bind1


def result_type(*avals: ShapedArray) -> ShapedArray:
    """The promoted dtype of operands of these types, as a scalar type, weak if all are."""
    return dialect().result_type(*avals)


@lru_cache(maxsize=4096)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape of these shapes, by numpy's broadcasting rule.

    Raises:
        ShapeMismatchError: two sizes of one axis differ and neither is 1.
    """
    # from the last axis to the first
    sizes = [{*axis} - {1} or {1} for axis in zip_longest(*map(reversed, shapes), fillvalue=1)]
    if any(len(found) > 1 for found in sizes):
        raise ShapeMismatchError(
            f"Incompatible shapes for broadcasting: {' and '.join(map(str, shapes))}. Aligned from "
            "the right, sizes must be equal or 1. Reshape or transpose what does not fit."
        )
    return tuple([found.pop() for found in reversed(sizes)])


def promote(*operands: Any, inexact: bool = False) -> list[Any]:
    """Operands converted to one dtype, and to one rank or scalar, as primitives require.

    With `inexact`, that dtype is real or complex, so numbers that no integer dtype holds are fine.
    """
    avals = [typeof(x) for x in operands]
    targets = _promoted_types(dialect(), inexact, *avals)
    if not any(targets):
        return list(operands)
    return [
        x if target is None else broadcast_to(cast(x, target), target.shape)
        for x, target in zip(operands, targets, strict=True)
    ]


@lru_cache(maxsize=16_384)
def _promoted_types(
    dialect: Dialect, inexact: bool, *avals: ShapedArray
) -> list[ShapedArray | None]:
    """Return the type to which to convert each operand; None if it has it already."""
    common = dialect.result_type(*avals)
    if inexact:
        common = common.update(dtype=inexact_dtype(common.dtype))
    # Scalars stay scalars, and primitives broadcast axes of size 1.
    ndim = len(broadcast_shapes(*dict.fromkeys(aval.shape for aval in avals)))
    targets = [common.update(shape=x.shape and (1,) * (ndim - x.ndim) + x.shape) for x in avals]
    keeps = operator.is_ if dialect.converts_weak else ShapedArray.accepts
    return [None if keeps(target, x) else target for x, target in zip(avals, targets, strict=True)]


def cast(x: Any, target: ShapedArray) -> Any:
    """`x` with the dtype of `target`. Python numbers stay Python numbers if they can."""
    if typeof(x).dtype == target.dtype and not (
        dialect().converts_weak and typeof(x).weak_type and not target.weak_type
    ):
        return x
    if isinstance(x, (int, float, complex)):
        return dialect().number(x, target)
    weak = {"weak_type": True} if target.weak_type else {}
    return bind1(convert_element_type_p, x, new_dtype=target.dtype, **weak)


def to_inexact(x: Any) -> Any:
    """`x` as a real or complex number: 64-bit integers become 64-bit floats, others 32-bit."""
    aval = typeof(x)
    dtype = inexact_dtype(aval.dtype)
    return x if dtype is aval.dtype else cast(x, aval.update(dtype=dtype))


def broadcast_to(x: Any, shape: Shape) -> Any:
    """`x` broadcast to `shape`, by numpy's rule.

    Raises:
        ShapeMismatchError: `x` does not broadcast to `shape`.
    """
    found = typeof(x).shape
    if found == shape:
        return x
    axes = _axes_in(shape, found)
    return bind1(broadcast_in_dim_p, x, shape=shape, broadcast_dimensions=axes)


@lru_cache(maxsize=4096)
def _axes_in(shape: Shape, found: Shape) -> tuple[int, ...]:
    """Return the axes of `shape` that the axes of `found` are broadcast to."""
    lead = len(shape) - len(found)
    if lead < 0 or any(n not in (1, m) for n, m in zip(found, shape[lead:], strict=True)):
        raise ShapeMismatchError(
            f"an array of shape {found} does not broadcast to shape {shape}: aligned from the "
            "right, its sizes must equal the shape's, or be 1. Reshape it, or give another shape."
        )
    return tuple(range(lead, len(shape)))
