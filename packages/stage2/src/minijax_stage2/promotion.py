"""Bringing operands to one dtype and one shape, before a primitive sees them.

The dtypes form JAX's lattice: of several kinds (boolean, integer, real, complex) the highest
wins, and only operands of that kind say how wide it is. Python numbers are weak: they say the
kind, never the width.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from minijax_stage2.primitives import broadcast_in_dim_p, convert_element_type_p
from minijax_stage2.shaped_array import (
    Shape,
    ShapedArray,
    python_scalars,
    typeof,
)
from minijax_stage2.trace import bind1

_BOOL, _INTEGER, _REAL, _COMPLEX = range(4)
_DEFAULT = {
    _BOOL: np.dtype(np.bool_),
    _INTEGER: np.dtype(np.int64),
    _REAL: np.dtype(np.float64),
    _COMPLEX: np.dtype(np.complex128),
}
_KINDS = {"b": _BOOL, "i": _INTEGER, "u": _INTEGER, "f": _REAL, "c": _COMPLEX}
_PYTHON_TYPE = {_BOOL: bool, _INTEGER: int, _REAL: float, _COMPLEX: complex}


def kind_of(dtype: np.dtype[Any]) -> int:
    """The kind of a dtype as a rank: boolean, integer, real, complex."""
    kind = _KINDS.get(dtype.kind)
    if kind is None:  # one that ml_dtypes defines
        return _INTEGER if "int" in dtype.name else _REAL
    return kind


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of this dtype are real or complex, so that derivatives make sense."""
    return dtype.isbuiltin != 0 and kind_of(dtype) >= _REAL


# --8<-- [start:result_type]
@lru_cache(maxsize=4096)
def result_type(*avals: ShapedArray) -> ShapedArray:
    """The dtype in which operands of these types meet, as a scalar type, weak if all are."""
    kind = max(kind_of(aval.dtype) for aval in avals)
    strong = [aval.dtype for aval in avals if not aval.weak_type]
    deciding = [dtype for dtype in strong if kind_of(dtype) == kind]
    if not strong:
        return ShapedArray((), _DEFAULT[kind], weak_type=True)
    if kind == _COMPLEX:  # a real operand says how wide a complex number must be
        deciding = [np.result_type(d, np.complex64) for d in strong if kind_of(d) >= _REAL]
    return ShapedArray((), _join(deciding) if deciding else _DEFAULT[kind])


def _join(dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The narrowest dtype that holds all of these, which are of one kind."""
    if len(set(dtypes)) == 1:
        return dtypes[0]
    try:
        return np.result_type(*dtypes)
    except TypeError:  # two narrow floats of different make
        return np.dtype(np.float32)


# --8<-- [end:result_type]


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape in which these shapes meet, by numpy's rule.

    Raises:
        ValueError: two sizes of one axis differ and neither is 1.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = " and ".join(map(str, shapes))
        raise ValueError(
            f"shapes {shown} do not broadcast: aligned from the right, the sizes of each axis "
            "must be equal, or one of them 1"
        ) from None


# --8<-- [start:promote]
def promote(*operands: Any) -> list[Any]:
    """Operands of one dtype, and of one shape or scalar, which is what primitives take."""
    targets = _meeting_types(*[typeof(x) for x in operands])
    if targets is None:
        return list(operands)
    return [
        x if target is None else _meet(x, *target)
        for x, target in zip(operands, targets, strict=True)
    ]


@lru_cache(maxsize=16_384)
def _meeting_types(*avals: ShapedArray) -> list[tuple[np.dtype[Any], Shape] | None] | None:
    """What each operand has to become to meet the others; None: it is fit already."""
    dtype = result_type(*avals).dtype
    shapes = {aval.shape for aval in avals if aval.shape}
    shape = broadcast_shapes(*shapes) if len(shapes) > 1 else None
    targets = [
        None
        if aval.dtype == dtype and (not aval.shape or shape in (None, aval.shape))
        else (dtype, shape if shape and aval.shape else aval.shape)
        for aval in avals
    ]
    return targets if any(targets) else None


def _meet(x: Any, dtype: np.dtype[Any], shape: Shape) -> Any:
    return broadcast_to(cast(x, typeof(x), dtype), shape)


def cast(x: Any, aval: ShapedArray, dtype: np.dtype[Any]) -> Any:
    """`x`, whose type is `aval`, with another dtype. Python numbers stay Python numbers."""
    if aval.dtype == dtype:
        return x
    if type(x) in python_scalars:
        default = _DEFAULT[kind_of(dtype)]
        return _PYTHON_TYPE[kind_of(dtype)](x) if dtype == default else dtype.type(x)
    return bind1(convert_element_type_p, x, new_dtype=dtype)


def to_inexact(x: Any) -> Any:
    """`x` as a real or complex number: integers and booleans become the default float."""
    aval = typeof(x)
    return x if kind_of(aval.dtype) >= _REAL else cast(x, aval, _DEFAULT[_REAL])


# --8<-- [end:promote]


def broadcast_to(x: Any, shape: Shape) -> Any:
    """`x` repeated to `shape`, by numpy's rule.

    Raises:
        ValueError: `x` does not broadcast to `shape`.
    """
    found = typeof(x).shape
    if found == shape:
        return x
    lead = len(shape) - len(found)
    if lead < 0 or any(n not in (1, m) for n, m in zip(found, shape[lead:], strict=True)):
        raise ValueError(f"an array of shape {found} does not broadcast to shape {shape}")
    axes = tuple(range(lead, len(shape)))
    return bind1(broadcast_in_dim_p, x, shape=shape, broadcast_dimensions=axes)
