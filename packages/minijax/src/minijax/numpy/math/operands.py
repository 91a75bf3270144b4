"""Operands of functions written with operators: arrays of one inexact dtype."""

from __future__ import annotations

from typing import Any

from minijax.lax import promoting as lax
from minijax.runtime.array import Array
from minijax.runtime.conversion import to_array
from minijax.settings.promotion import promote
from minijax_stage2 import typeof


def inexact_arrays(*operands: Any) -> list[Array]:
    """The operands as real or complex arrays of one dtype, and of one shape or scalars.

    They are weak only if all are, even if a result depends on only some of them.
    """
    arrays = [to_array(x) for x in promote(*operands, inexact=True)]
    are_weak = [typeof(x).weak_type for x in arrays]
    return arrays if all(are_weak) or not any(are_weak) else strong(arrays)


def strong(arrays: list[Any]) -> list[Array]:
    """The arrays, with strong types."""
    return [lax.convert_element_type(x, typeof(x).dtype) for x in arrays]


def real_floats(caller: str, *operands: Any) -> list[Array]:
    """The operands as real numbers of one dtype, for functions of `lax`.

    Raises:
        ValueError: an operand is complex.
    """
    return _require_real(caller, promote(*operands, inexact=True))


def _require_real(caller: str, operands: list[Any]) -> list[Array]:
    if typeof(operands[0]).dtype.kind == "c":
        raise ValueError(f"{caller}: expected real operands, found {typeof(operands[0])}")
    return operands


def real_arrays(caller: str, *operands: Any) -> list[Array]:
    """`inexact_arrays` of real operands.

    Raises:
        ValueError: an operand is complex.
    """
    return _require_real(caller, inexact_arrays(*operands))


def strong_floats(caller: str, *operands: Any) -> list[Array]:
    """`real_arrays` with strong types, even for Python numbers.

    Raises:
        ValueError: an operand is complex.
    """
    return strong(real_arrays(caller, *operands))
