"""Lowering of operations that XLA cannot compile for numbers narrower than a byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax.runtime.lowering import Rule
from glassjax.settings.number_types import bits_of, letter_of
from glassjax_stage2 import ShapedArray
from glassjax_stage3.lowering import FunctionBuilder, Value, signature

_WIDE = {"i": np.dtype(np.int32), "u": np.dtype(np.uint32), "f": np.dtype(np.float32)}


def wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype to compute in: of 32 bits for numbers narrower than a byte, else `dtype` itself.

    Sums and products of integers wrap around, so narrowing the result gives what narrow integers
    would. Not 8 bits: XLA's compiler for CPUs replaces the conversion of a result of 4 bits to 8
    by arithmetic in 8 bits, which does not wrap around.
    """
    return _WIDE[letter_of(dtype)] if letter_of(dtype) in _WIDE and bits_of(dtype) < 8 else dtype


def in_wide_numbers(lower: Rule) -> Rule:
    """The lowering rule that widens narrow operands, applies `lower`, and narrows the results.

    For some operations on numbers of 2 or 4 bits XLA's compiler for CPUs fails, ends the process,
    or writes a program that computes something else. The conversions fuse with the operation.
    """

    def lower_in_wide_numbers(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value, **params: Any
    ) -> Sequence[Value]:
        wide_operands = [converted(b, x, wide_dtype(x.aval.dtype)) for x in operands]
        wide_avals = [aval.update(dtype=wide_dtype(aval.dtype)) for aval in out_avals]
        outs = lower(b, wide_avals, *wide_operands, **params)
        return [converted(b, out, aval.dtype) for out, aval in zip(outs, out_avals, strict=True)]

    return lower_in_wide_numbers


def through_wide_numbers(convert: Rule) -> Rule:
    """The lowering rule of conversion, in two steps where XLA is wrong about one.

    These are steps from narrow integers to 8 bits, and from narrow floats to integers, where XLA
    takes the largest float for one that the integers do not hold.
    """

    def convert_through_wide_numbers(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, **params: Any
    ) -> Sequence[Value]:
        (out,) = out_avals
        to_integer = letter_of(x.aval.dtype) == "f" and letter_of(out.dtype) in "iu"
        if to_integer or bits_of(out.dtype) == 8:
            x = converted(b, x, wide_dtype(x.aval.dtype))
        return convert(b, out_avals, x, **params)

    return convert_through_wide_numbers


def converted(b: FunctionBuilder, x: Value, dtype: np.dtype[Any]) -> Value:
    """`x` in another dtype."""
    if x.aval.dtype == dtype:
        return x
    aval = x.aval.update(dtype=dtype)
    (out,) = b.emit(f"stablehlo.convert {x.name} : {signature([x], [aval])}", aval)
    return out
