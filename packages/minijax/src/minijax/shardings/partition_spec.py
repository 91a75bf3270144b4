"""Partition specs: which axes of a mesh divide each axis of an array."""

from collections.abc import Hashable, Iterator
from typing import Any

from minijax_stage2.shown import shown

MeshAxis = Hashable  # the name of an axis of a mesh


class _Unconstrained:
    """Leaves an axis to the partitioner."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> Any:
        return _unconstrained, ()


def _unconstrained() -> _Unconstrained:
    return PartitionSpec.UNCONSTRAINED


class PartitionSpec:
    """A division of the axes of an array among the axes of a mesh.

    Arguments:
        partitions: for each axis of the array, the name of the mesh axis that divides it, a tuple
            of names, the first of which varies slowest, `None` for an axis that stays whole, or
            `PartitionSpec.UNCONSTRAINED` to leave the choice to the partitioner. Axes of the array
            beyond those given stay whole.

    Raises:
        TypeError: an entry is none of these.

    >>> P = minijax.sharding.PartitionSpec
    >>> P("data", None), P(("data", "model")), len(P(None, "model"))
    (P('data', None), P(('data', 'model'),), 2)
    """

    UNCONSTRAINED = _Unconstrained()

    __slots__ = ("_partitions",)

    def __init__(self, *partitions: Any):
        self._partitions = tuple([_checked(entry) for entry in partitions])

    def names(self) -> list[tuple[MeshAxis, ...]]:
        """The mesh axes that divide each axis of the array."""
        return [_names(entry) for entry in self._partitions]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, index: Any) -> Any:
        return self._partitions[index]

    def __add__(self, other: Any) -> "PartitionSpec":
        if not isinstance(other, PartitionSpec | tuple):
            return NotImplemented
        return PartitionSpec(*self, *other)

    def __radd__(self, other: Any) -> "PartitionSpec":
        return PartitionSpec(*other, *self) if isinstance(other, tuple) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            return self._partitions == other._partitions
        return isinstance(other, tuple) and self._partitions == tuple(map(_checked, other))

    def __hash__(self) -> int:
        return hash(self._partitions)

    def __reduce__(self) -> Any:
        return PartitionSpec, self._partitions

    def __repr__(self) -> str:
        return f"P{self._partitions!r}"

    def update(self, **changes: Any) -> "PartitionSpec":
        """The spec with other `partitions`."""
        return PartitionSpec(*changes.get("partitions", self._partitions))

    def index(self, entry: Any) -> int:
        """The first axis of the array that `entry` divides."""
        return self._partitions.index(_checked(entry))

    def count(self, entry: Any) -> int:
        """The number of axes of the array that `entry` divides."""
        return self._partitions.count(_checked(entry))


def with_axis(spec: PartitionSpec, axis: int, entry: Any) -> PartitionSpec:
    """The spec for arrays with one more axis, divided as an entry says."""
    before = [*spec[:axis], *[None] * (axis - len(spec))]
    return PartitionSpec(*before, entry, *spec[axis:])


class _Infer:
    """The value of `in_specs` that leaves them to the types of the arguments."""

    def __repr__(self) -> str:
        return "Infer"


Infer = _Infer()


def _checked(entry: Any) -> Any:
    """An entry as it is kept: one name by itself, no name as None."""
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
