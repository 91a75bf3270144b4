"""The effort that XLA makes for a program: its levels, and the settings for all programs."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from minijax.settings.config import config


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


# The options of `compiler_options` that are levels of effort; settings have the same names.
EFFORTS = ("optimization_level", "memory_fitting_level")

_LEVELS = tuple(CompilerEffortLevel.__members__)
_optimization_level = config.declare(
    "optimization_level",
    _LEVELS,
    "UNKNOWN",
    "The effort that XLA makes for fast programs, unless compiler_options of jit says it.",
)
_memory_fitting_level = config.declare(
    "memory_fitting_level",
    _LEVELS,
    "O2",
    "The effort that XLA makes for programs that fit into memory, likewise. O2 is XLA's own.",
)
_disable_most_optimizations = config.declare(
    "disable_most_optimizations",
    bool,
    False,
    "Whether XLA leaves out most optimizations: compilations are faster, and programs slower.",
)
_FEW_OPTIMIZATIONS = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}


def with_levels(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the numbers of levels of effort.

    Raises:
        ValueError: there is no such level.
    """
    return {
        name: CompilerEffortLevel(value).value if name in EFFORTS else value
        for name, value in options.items()
    }


def with_settings(options: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """Return the options of a program, sorted, with those that the settings give to all."""
    everywhere = dict(_FEW_OPTIMIZATIONS) if _disable_most_optimizations.value else {}
    for setting in (_optimization_level, _memory_fitting_level):
        if setting.value != setting.default:
            everywhere[setting.name] = CompilerEffortLevel[setting.value].value
    return tuple(sorted({**everywhere, **dict(options)}.items())) if everywhere else options


__all__ = ["CompilerEffortLevel"]
