"""`ManualAxisType`: how values differ along the axes of a mesh in the body of `shard_map`."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from minijax.shardings.partition_spec import UnreducedKind


@dataclass(frozen=True, kw_only=True)
class ManualAxisType:
    """The differences of a value between devices, part of its type in the body of `shard_map`.

    Attributes:
        varying: the axes of the mesh along which each device may hold another value.
        unreduced, reduced: the axes of values that are not reduced yet. No value here has any.
        unreduced_kind: what combines these.

    >>> minijax.typeof(jnp.ones(2)).manual_axis_type.varying
    frozenset()
    """

    varying: Iterable[Hashable] = frozenset()
    unreduced: Iterable[Hashable] = frozenset()
    reduced: Iterable[Hashable] = frozenset()
    unreduced_kind: UnreducedKind | None = None

    def __post_init__(self) -> None:
        for name in ("varying", "unreduced", "reduced"):
            object.__setattr__(self, name, frozenset(getattr(self, name)))
        if self.unreduced and self.unreduced_kind is None:
            object.__setattr__(self, "unreduced_kind", UnreducedKind.sum)

    @property
    def empty(self) -> bool:
        """True if all devices hold the same value."""
        return not (self.varying or self.unreduced or self.reduced)

    def update(self, **changes: Any) -> "ManualAxisType":
        """The same with other attributes."""
        return replace(self, **changes)
