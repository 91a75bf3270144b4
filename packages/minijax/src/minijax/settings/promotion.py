"""Promotion of the arguments of a function, which settings may forbid.

`numpy_dtype_promotion` and `numpy_rank_promotion` apply to the arguments that the user passes. A
function of the library calls these on its arguments; values that it computes from them promote
freely.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from minijax.settings.number_types import LibraryDialect
from minijax_stage2 import ShapedArray, astype, bind1, promotion, typeof
from minijax_stage2.primitives import convert_element_type_p
from minijax_stage2.shaped_array import dialect

if TYPE_CHECKING:
    from minijax.runtime.array import Array


def promote(*operands: Any, inexact: bool = False) -> list[Array]:
    """Arguments converted to one dtype, and to one shape or scalar, as primitives require.

    With `inexact`, that dtype is real or complex.

    Raises:
        TypePromotionError: their dtypes differ, and `numpy_dtype_promotion` is "strict".
        ValueError: their ranks differ, and `numpy_rank_promotion` is "raise".
    """
    if getattr(dialect(), "checks_arguments", False):
        require_meeting(*operands)
    return promotion.promote(*operands, inexact=inexact)


def result_type(*avals: ShapedArray) -> ShapedArray:
    """The promoted dtype of arguments of these types, as a scalar type, weak if all are.

    Raises:
        TypePromotionError: they differ, and `numpy_dtype_promotion` is "strict".
    """
    if numbers := _checking():
        numbers.check_dtypes(avals)
    return promotion.result_type(*avals)


def as_weak_as(aval: ShapedArray, x: Any) -> Any:
    """`x`, of the dtype of `aval`, weak if that is."""
    if not aval.weak_type or typeof(x).weak_type:
        return x
    return bind1(convert_element_type_p, x, new_dtype=aval.dtype, weak_type=True)


def weak_if_all_are(out: Any, *operands: Any) -> Any:
    """`out`, weak only if all operands that it was computed from are."""
    aval = typeof(out)
    if not aval.weak_type or all(typeof(x).weak_type for x in operands):
        return out
    return astype(out, aval.dtype)


def require_meeting(*operands: Any) -> None:
    """Raise an error if settings forbid promoting these arguments."""
    numbers = dialect()
    if getattr(numbers, "checks_arguments", False):
        numbers.check_meeting(*map(typeof, operands))  # type: ignore[attr-defined]


def require_one_dtype(*operands: Any) -> None:
    """Raise an error if settings forbid promoting arguments of these dtypes."""
    if numbers := _checking():
        numbers.check_dtypes([typeof(x) for x in operands])


def require_one_rank(*operands: Any) -> None:
    """Raise an error if settings forbid broadcasting arguments of these ranks."""
    if numbers := _checking():
        numbers.check_ranks([typeof(x) for x in operands])


def require_one_count(caller: str, leading: Iterable[int]) -> None:
    """Raise an error if settings forbid broadcasting these numbers of leading axes."""
    if numbers := _checking():
        numbers.check_counts(caller, list(leading))


def _checking() -> LibraryDialect | None:
    """The number types, if they restrict the promotion of arguments."""
    numbers = dialect()
    if isinstance(numbers, LibraryDialect) and numbers.checks_arguments:
        return numbers
    return None
