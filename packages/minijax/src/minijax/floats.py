"""Operands of functions that are written with operators: arrays of one inexact dtype."""

from typing import Any

from minijax.arrays import to_array
from minijax.promotion import promote
from minijax_stage2 import typeof


def inexact_arrays(*operands: Any) -> list[Any]:
    """The operands as real or complex arrays of one dtype, and of one shape or scalars."""
    return [to_array(x) for x in promote(*operands, inexact=True)]


def real_arrays(caller: str, *operands: Any) -> list[Any]:
    """`inexact_arrays` of real operands.

    Raises:
        ValueError: an operand is complex.
    """
    arrays = inexact_arrays(*operands)
    if typeof(arrays[0]).dtype.kind == "c":
        raise ValueError(f"{caller}: expected real operands, found {typeof(arrays[0])}")
    return arrays
