"""`accuracy`, how exact an elementary function of `lax` has to be."""

import enum
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minijax.runtime.operation import Operation
from minijax_stage2.errors import shown
from minijax_stage2.source import name_of


class AccuracyMode(enum.Enum):
    """The most exact implementation of a function, or the default one; here there is one only.

    >>> lax.exp(0.0, accuracy=lax.AccuracyMode.HIGHEST)
    Array(1., dtype=float32, weak_type=True)
    """

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True)
class Tolerance:
    """The largest error of a function: absolute, relative, or in units in the last place.

    Raises:
        ValueError: one of them is negative.

    >>> lax.exp(0.0, accuracy=lax.Tolerance(rtol=1e-6))
    Array(1., dtype=float32, weak_type=True)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if min(self.atol, self.rtol, self.ulps) < 0:
            raise ValueError(f"Tolerance: expected numbers that are not negative, found {self}")


def with_accuracy(function: Callable[..., Any]) -> Any:
    """`function`, an operation of one array, with the argument `accuracy`, which it checks.

    There is one implementation of each function, so that nothing else depends on it.
    """
    operation: Any = function
    name = name_of(function)

    def of_x(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
        if not (accuracy is None or isinstance(accuracy, AccuracyMode | Tolerance)):
            raise NotImplementedError(
                f"{name}: accuracy must be an AccuracyMode, a Tolerance or None, found "
                f"{shown(accuracy)}"
            )
        return operation.__wrapped__(x)

    own = inspect.signature(of_x).parameters["accuracy"]
    theirs = inspect.signature(function)
    wrapped = functools.wraps(operation.__wrapped__)(of_x)
    del wrapped.__wrapped__  # whose signature is another
    (operand,) = theirs.parameters.values()
    wrapped.__signature__ = theirs.replace(parameters=[operand, own])  # type: ignore[attr-defined]
    return Operation(wrapped, "accuracy")


__all__ = ["AccuracyMode", "Tolerance"]
