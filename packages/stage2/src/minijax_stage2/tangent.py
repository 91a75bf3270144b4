"""Tangents: the types of small changes, and the change that is none."""

from functools import lru_cache
from typing import Any

import numpy as np

from minijax_stage2.functions import add
from minijax_stage2.promotion import broadcast_to, is_inexact
from minijax_stage2.shaped_array import ShapedArray, float0, typeof


@lru_cache(maxsize=4096)
def tangent_type(aval: ShapedArray) -> ShapedArray:
    """The type of changes of values of type `aval`. Integers and booleans cannot change."""
    if is_inexact(aval.dtype):
        return aval
    return ShapedArray(aval.shape, float0)


# --8<-- [start:zero]
class Zero:
    """A tangent or cotangent known to be zero: no array, and nothing to compute."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"

    @classmethod
    def like(cls, x: Any) -> "Zero":
        """The zero tangent of the value `x`."""
        return cls(tangent_type(typeof(x)))


def instantiate(tangent: Any) -> Any:
    """A tangent as an array, also where it is symbolically zero."""
    if type(tangent) is not Zero:
        return tangent
    aval = tangent.aval
    if aval.weak_type:
        return aval.dtype.type(0).item()
    return np.zeros(aval.shape, aval.dtype)


def sum_of(terms: list[Any], aval: ShapedArray) -> Any:
    """The sum of tangents of type `aval`; those of spread scalars are spread as well."""
    total = None
    for term in terms:
        term = broadcast_to(term, aval.shape)
        total = term if total is None else add(total, term)
    return Zero(tangent_type(aval)) if total is None else total


# --8<-- [end:zero]
