"""Frontend attributes: names and texts that operations bring along for the passes of XLA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minijax.settings.user_context import make_user_context
from minijax_stage2.errors import shown

Attributes = tuple[tuple[str, str], ...]

# The attributes of the operations that are staged now, a part of the keys of all programs.
attributes_in_context = make_user_context(())


def as_attributes(given: Mapping[str, Any]) -> Attributes:
    """Attributes in the order of their names, with values as texts."""
    return tuple(
        sorted(
            (name, str(x).lower() if isinstance(x, bool) else str(x)) for name, x in given.items()
        )
    )


def checked_attributes(caller: str, given: Any) -> Attributes:
    """`as_attributes` of a mapping from names to str, bool, int or float; else TypeError."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{caller}: expected a dict of metadata, found {shown(given)}")
    for name, x in given.items():
        if not isinstance(x, str | int | float):
            raise TypeError(
                f"{caller}: {name} must be a str, bool, int or float, found {shown(x)} of type "
                f"{type(x).__name__}"
            )
    return as_attributes(given)
