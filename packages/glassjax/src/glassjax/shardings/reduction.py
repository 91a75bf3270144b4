"""Unreduced and reduced types: sums over devices that are still to be made.

An array that is *unreduced* over a mesh axis is the sum of the parts on the devices along it: a
product whose summed axis is sharded leaves such parts, and the sum may wait until it is needed. The
cotangent of a value that all devices use is such a sum, too. An array that is *reduced* over an
axis is the same on all devices along it, and its cotangent is left unreduced; so the two states are
each other's dual.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from glassjax.shardings.partition_spec import PartitionSpec, UnreducedKind

Names = frozenset[Hashable]


class Reduction(NamedTuple):
    """Over which mesh axes an array, or its cotangent, is still to be combined.

    Attributes:
        unreduced: the mesh axes along which the devices hold parts of the array.
        reduced: the mesh axes along which the devices hold parts of its cotangent.
    """

    unreduced: Names = frozenset()
    reduced: Names = frozenset()

    @property
    def dual(self) -> "Reduction":
        """The state of a cotangent."""
        return Reduction(self.reduced, self.unreduced)

    @property
    def names(self) -> Names:
        """All mesh axes of the state."""
        return self.unreduced | self.reduced

    def along(self, names: Iterable[Hashable]) -> "Reduction":
        """The state over some of the mesh axes."""
        chosen = frozenset(names)
        return Reduction(self.unreduced & chosen, self.reduced & chosen)

    def without(self, names: Iterable[Hashable]) -> "Reduction":
        """The state over the other mesh axes."""
        return self.along(self.names.difference(names))

    def union(self, other: "Reduction") -> "Reduction":
        """The state over the mesh axes of both."""
        return Reduction(self.unreduced | other.unreduced, self.reduced | other.reduced)

    def labels(self, order: Sequence[Hashable]) -> list[str]:
        """The state as types show it, `U:x` and `R:(y,z)`; mesh axes in a given order."""
        return [label(*each, order) for each in zip("UR", self, strict=True) if each[1]]


COMPLETE = Reduction()


def reduction_in(spec: PartitionSpec) -> Reduction:
    """The state that a spec names.

    Raises:
        NotImplementedError: parts are to be combined by another operation than a sum.
    """
    if spec.unreduced_kind not in (None, UnreducedKind.sum):
        raise NotImplementedError(
            f"{spec}: parts that are combined by {spec.unreduced_kind} are not supported, only "
            "sums. Leave out unreduced_kind, and combine by lax.pmax or lax.pmin in a shard_map"
        )
    return Reduction(frozenset(spec.unreduced), frozenset(spec.reduced))


def with_reduction(spec: PartitionSpec, state: Reduction) -> PartitionSpec:
    """The spec with another state of reduction."""
    if state == reduction_in(spec):
        return spec
    return PartitionSpec(*spec.partitions, unreduced=state.unreduced, reduced=state.reduced)


def label(letter: str, names: Iterable[Hashable], order: Sequence[Hashable]) -> str:
    """Mesh axes as types show them: `V:x`, or `V:(x,y)`."""
    ordered = [*map(str, sorted(names, key=[*order, *sorted(names, key=str)].index))]
    return f"{letter}:{ordered[0]}" if len(ordered) == 1 else f"{letter}:({','.join(ordered)})"
