"""Levels of effort of XLA."""

from enum import Enum
from typing import Any


class CompilerEffortLevel(Enum):
    """The effort that XLA makes for a fast program, or for one that fits into memory.

    `jit` takes one, or its name, by `compiler_options`, as "optimization_level" and
    "memory_fitting_level"; `UNKNOWN` leaves it to XLA. More work is a longer compilation.

    >>> minijax.CompilerEffortLevel("O1")
    <CompilerEffortLevel.O1: 19>
    >>> options = {"optimization_level": minijax.CompilerEffortLevel.O1}
    >>> minijax.jit(lambda x: x + 1, compiler_options=options)(1)
    Array(2, dtype=int32, weak_type=True)
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39

    @classmethod
    def _missing_(cls, value: Any) -> "CompilerEffortLevel | None":
        return cls.__members__.get(value) if isinstance(value, str) else None


# The options of `compiler_options` that are effort levels.
EFFORTS = ("optimization_level", "memory_fitting_level")


def with_levels(options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the numbers of effort levels.

    Raises:
        ValueError: there is no such level.
    """
    return {
        name: CompilerEffortLevel(value).value if name in EFFORTS else value
        for name, value in options.items()
    }


__all__ = ["CompilerEffortLevel"]
