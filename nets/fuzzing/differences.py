"""The differences from JAX that are meant, each with its reason."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nets.fuzzing.comparing import Difference, Raised
from nets.fuzzing.programs import Program


@dataclass(frozen=True)
class Deliberate:
    """A class of differences: why it is meant, and whether one found belongs to it."""

    reason: str
    applies: Callable[[Program, Difference, Any], bool]


def raises(*names: str) -> Callable[[Program, Difference, Any], bool]:
    """JAX raises an error of one of the classes, where we give a result."""

    def applies(program: Program, found: Difference, theirs: Any) -> bool:
        return found.kind == "accepted" and isinstance(theirs, Raised) and theirs.name in names

    return applies


DELIBERATE = [
    Deliberate(
        "What JAX says that it has not implemented, we may have.", raises("NotImplementedError")
    ),
]


def is_deliberate(program: Program, found: Difference, theirs: Any) -> bool:
    return any(each.applies(program, found, theirs) for each in DELIBERATE)
