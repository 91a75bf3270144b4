"""Partition specs: which mesh axes each array axis is sharded over."""

from collections.abc import Hashable, Iterator, Sequence, Set
from enum import Enum
from typing import Any

from glassjax_stage2.errors import shown

MeshAxis = Hashable  # the name of an axis of a mesh


class _Unconstrained:
    """Leaves an axis to the partitioner."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> Any:
        return _unconstrained, ()


def _unconstrained() -> _Unconstrained:
    return PartitionSpec.UNCONSTRAINED


class UnreducedKind(Enum):
    """The operation that combines the parts of an unreduced array.

    >>> P = glassjax.sharding.PartitionSpec
    >>> P(None, "data", unreduced={"model"}, unreduced_kind=glassjax.sharding.UnreducedKind.max)
    P(None, 'data', unreduced={'model'}, unreduced_kind=max)
    """

    sum = 1
    max = 2
    min = 3

    def __str__(self) -> str:
        return self.name


class PartitionSpec:
    """The mesh axes that each axis of an array is sharded over.

    Arguments:
        partitions: for each array axis, the name of the mesh axis that it is sharded over; a tuple
            of names, slowest first; `None` for an axis that is not sharded; or
            `PartitionSpec.UNCONSTRAINED` to leave the choice to the partitioner. Further array
            axes are not sharded.
        unreduced: a set of mesh axes over which the parts are still to be combined.
        reduced: a set of mesh axes over which the parts of its cotangent are still to be combined.
        unreduced_kind: the operation that combines them, `UnreducedKind.sum` by default.

    Raises:
        TypeError: an entry is none of these, or a set is of another type.
        ValueError: a mesh axis is in two places, or None is in a set.

    >>> P = glassjax.sharding.PartitionSpec
    >>> P("data", None), P(("data", "model")), len(P(None, "model"))
    (P('data', None), P(('data', 'model'),), 2)
    """

    UNCONSTRAINED = _Unconstrained()

    __slots__ = ("_partitions", "reduced", "unreduced", "unreduced_kind")

    def __init__(
        self,
        *partitions: Any,
        unreduced: Set[MeshAxis] = frozenset(),
        reduced: Set[MeshAxis] = frozenset(),
        unreduced_kind: UnreducedKind | None = None,
    ):
        self._partitions = tuple([_normalized_entry(entry) for entry in partitions])
        self.unreduced, self.reduced = unreduced, reduced
        self.unreduced_kind = unreduced_kind
        if unreduced or reduced or unreduced_kind:
            self._check_sets()

    def _check_sets(self) -> None:
        for role in ("unreduced", "reduced"):
            names = getattr(self, role)
            if not isinstance(names, Set):
                raise TypeError(
                    f"PartitionSpec: {role} must be a set of names of mesh axes, found "
                    f"{shown(names)} of type {type(names).__name__}"
                )
            if None in names:
                raise ValueError(f"PartitionSpec: {role} must hold names of mesh axes, found None")
            setattr(self, role, frozenset(names))
        twice = self.unreduced & self.reduced
        for entry in self._partitions:
            twice |= self.unreduced & {*_names(entry)}
        if twice:
            raise ValueError(
                f"PartitionSpec: the mesh axes {sorted(map(str, twice))} are unreduced, and cannot "
                "also be reduced, or shard the array"
            )
        if self.unreduced:
            self.unreduced_kind = self.unreduced_kind or UnreducedKind.sum

    @property
    def partitions(self) -> tuple[Any, ...]:
        """The names of the mesh axes that each axis of the array is sharded over."""
        return self._partitions

    def names(self) -> list[tuple[MeshAxis, ...]]:
        """The mesh axes that each axis of the array is sharded over."""
        return [_names(entry) for entry in self._partitions]

    def _sets(self) -> dict[str, Any]:
        """The given keyword arguments."""
        named = [(name, getattr(self, name)) for name in ("unreduced", "reduced", "unreduced_kind")]
        return {name: value for name, value in named if value}

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, index: Any) -> Any:
        return self._partitions[index]

    def __add__(self, other: Any) -> "PartitionSpec":
        if not isinstance(other, PartitionSpec | tuple):
            return NotImplemented
        others = other._sets() if isinstance(other, PartitionSpec) else self._sets()
        sets = self._sets()
        if sets.get("unreduced_kind") != others.get("unreduced_kind") or (
            sets and not isinstance(other, PartitionSpec)
        ):
            raise TypeError(
                f"PartitionSpec: {self} and {other} are not added: both must be specs, and "
                "unreduced in one way"
            )
        for role in ("unreduced", "reduced"):
            if role in others:
                sets[role] = sets.get(role, frozenset()) | others[role]
        return PartitionSpec(*self, *other, **sets)

    def __radd__(self, other: Any) -> "PartitionSpec":
        if not isinstance(other, tuple):
            return NotImplemented
        return PartitionSpec(*other, *self, **self._sets())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSpec):
            return False
        return self._partitions == other._partitions and self._sets() == other._sets()

    def __hash__(self) -> int:
        return hash(self._partitions)

    def __reduce__(self) -> Any:
        return _made, (self._partitions, self._sets())

    def __repr__(self) -> str:
        sets = self._sets()
        if not sets:
            return f"P{self._partitions!r}"
        given = [*map(repr, self._partitions)]
        for name, value in sets.items():
            listed = ", ".join(sorted(map(repr, value))) if name != "unreduced_kind" else ""
            given.append(f"{name}={{{listed}}}" if listed else f"{name}={value}")
        return f"P({', '.join(given)})"

    def update(self, **changes: Any) -> "PartitionSpec":
        """The spec with other `partitions`, or sets of mesh axes."""
        return _made(changes.pop("partitions", self._partitions), {**self._sets(), **changes})

    def index(self, entry: Any) -> int:
        """The first axis of the array that is sharded over `entry`."""
        return self._partitions.index(_normalized_entry(entry))

    def count(self, entry: Any) -> int:
        """The number of array axes that are sharded over `entry`."""
        return self._partitions.count(_normalized_entry(entry))


def _made(partitions: Sequence[Any], sets: dict[str, Any]) -> PartitionSpec:
    return PartitionSpec(*partitions, **sets)


def with_axis(spec: PartitionSpec, axis: int, entry: Any) -> PartitionSpec:
    """The spec for arrays with one more axis, sharded over an entry."""
    before = [*spec[:axis], *[None] * (axis - len(spec))]
    return spec.update(partitions=(*before, entry, *spec[axis:]))


class _Infer:
    """The value of `in_specs` that infers them from the types of the arguments."""

    def __repr__(self) -> str:
        return "Infer"


Infer = _Infer()


def _normalized_entry(entry: Any) -> Any:
    """A normalized entry: a single name without a tuple, no name as None."""
    if isinstance(entry, list | tuple):
        if any(isinstance(name, list | tuple) or name is None for name in entry):
            raise TypeError(
                "PartitionSpec: a tuple holds names of mesh axes, found " + shown(entry)
            )
        return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    if entry is not None and not isinstance(entry, Hashable):
        raise TypeError(
            "PartitionSpec: an entry is the name of a mesh axis, a tuple of names or None, found "
            f"{shown(entry)} of type {type(entry).__name__}"
        )
    return entry


def _names(entry: Any) -> tuple[MeshAxis, ...]:
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
