"""Tangents: their types, and the symbolic zero."""

from functools import lru_cache, reduce, singledispatch
from typing import Any

import numpy as np

from glassjax_stage2.functions import add
from glassjax_stage2.promotion import broadcast_to
from glassjax_stage2.shaped_array import ShapedArray, dialect, float0, is_inexact, typeof
from glassjax_stage2.trace import EvalTrace, Primitive, current_trace


@lru_cache(maxsize=4096)
def tangent_type(aval: ShapedArray) -> ShapedArray:
    """The tangent type of values of type `aval`. Integers and booleans cannot change."""
    if is_inexact(aval.dtype):
        return aval
    return aval.update(dtype=float0, weak_type=False)


class Zero:
    """A tangent or cotangent known to be zero: not an array, and nothing to compute.

    >>> Zero.like(np.ones(3, np.float32)), Zero.like(np.arange(3))
    (Zero(f32[3]), Zero(float0[3]))
    """

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"

    @classmethod
    def like(cls, x: Any) -> "Zero":
        """The zero tangent of the value `x`."""
        return cls(tangent_type(typeof(x)))


def instantiate(tangent: Any) -> Any:
    """A tangent as an array, even if it is a symbolic zero."""
    return zeros(tangent.aval) if type(tangent) is Zero else tangent


@singledispatch
def zeros(aval: ShapedArray) -> Any:
    """Zeros of a type. A staged program makes its own instead of keeping them as constants."""
    if isinstance(current_trace(), EvalTrace) and (aval.shape or aval.dtype == float0):
        return np.zeros(aval.shape, aval.dtype)
    zero = np.zeros((), aval.dtype)[()]
    return broadcast_to(zero.item() if aval.weak_type else zero, aval.shape)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, or cotangents, of one value."""
    return dialect().function(add)(x, y)


def sum_of(terms: list[Any], aval: ShapedArray, operands: Any) -> Any:
    """The sum of tangents of a result of type `aval`.

    Tangents of scalars and of smaller operands are broadcast. A term of another shape is returned
    alone, and `check_out_tangent` rejects it.
    """
    for term in terms:
        shape = typeof(term).shape
        if shape not in ((), aval.shape) and shape not in [typeof(x).shape for x in operands]:
            return term
    if not terms:
        return Zero(tangent_type(aval))
    return broadcast_to(reduce(add_tangents, terms), aval.shape)


def check_out_tangent(primitive: Primitive, tangent: Any, out: Any) -> None:
    """Raise an error if a jvp rule returns a tangent that does not fit its result."""
    if type(tangent) is Zero:
        return
    expected, found = tangent_type(typeof(out)), typeof(tangent)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise TypeError(
            f"the jvp rule of `{primitive}` returned a tangent of type {found} for a result of "
            f"type {typeof(out)}: it must have type {expected}. Fix jvp_rules[{primitive}_p], or "
            "the formulas that defjvp was given for it."
        )
