"""Groups of devices that communicate, and the axes of a mesh along which they lie."""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

Groups = Sequence[Sequence[int]]

_LISTED = re.compile(r"(?:replica_groups|source_target_pairs)=\{((?:\{[\d,]*\},?)*)\}")
_COUNTED = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_BY_AXES = re.compile(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}")
_AXIS_SIZE = re.compile(r"'([^']*)'=(\d+)")
_PART_OF_AXIS = re.compile(r"'([^']*)'(?::\((\d+)\)(\d+))?")


def groups_of(attributes: str, num_devices: int) -> Groups:
    """The groups of devices, by number, in the attributes of a collective in HLO.

    HLO writes them in three ways: as lists, as a reshaped and transposed range of numbers, and as
    axes of a mesh of its own.

    Raises:
        ValueError: they are written in another way.
    """
    if found := _LISTED.search(attributes):
        groups = [_ints(each) for each in re.findall(r"\{([\d,]+)\}", found[1])]
        return groups or [range(num_devices)]
    if found := _COUNTED.search(attributes):
        shape, sizes, order = map(_ints, (found[1], found[2], found[3] or ""))
        numbers = np.arange(num_devices).reshape(sizes)
        return _lists(numbers.transpose(order or range(len(sizes))).reshape(shape))
    if found := _BY_AXES.search(attributes):
        return _groups_by_axes(found[1], found[2])
    raise ValueError(f"cannot read the groups of devices in{attributes[:200]}")


def _groups_by_axes(mesh: str, chosen: str) -> Groups:
    """Groups along axes: of `'x'=8,'y'=2` the axes `'y','x':(2)4`, the latter a part of `x`."""
    parts = [(name, int(before or 1), int(size or 0)) for name, before, size in
             _PART_OF_AXIS.findall(chosen)]  # fmt: skip
    sizes: list[int] = []
    position: dict[tuple[str, int], int] = {}  # of the axis that begins after so many parts
    for name, text in _AXIS_SIZE.findall(mesh):
        size = int(text)
        cuts = {1, size}
        for part, before, length in parts:
            if part == name:
                cuts |= {before, before * (length or size)}
        ordered = sorted(cuts)
        for before, after in zip(ordered, ordered[1:] or [size], strict=False):
            position[name, before] = len(sizes)
            sizes.append(after // before)
    within = []
    for name, before, length in parts:
        end = before * length if length else None
        starts = [at for each, at in position if each == name and at >= before]
        within += [position[name, at] for at in sorted(starts) if end is None or at < end]
    others = [axis for axis in range(len(sizes)) if axis not in within]
    numbers = np.arange(np.prod(sizes, dtype=int)).reshape(sizes).transpose([*others, *within])
    return _lists(numbers.reshape(-1, int(np.prod([sizes[axis] for axis in within], dtype=int))))


def axes_of(groups: Groups, mesh: Mapping[Hashable, int]) -> tuple[Hashable, ...]:
    """The axes of a mesh, of these sizes, along which the devices of a group differ."""
    sizes = tuple(mesh.values())
    differ = np.zeros(len(sizes), bool)
    for group in groups:
        at = np.array(np.unravel_index(np.asarray(group), sizes))
        differ |= (at != at[:, :1]).any(axis=1)
    return tuple([name for name, differs in zip(mesh, differ, strict=True) if differs])


def _ints(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each]


def _lists(groups: np.ndarray[Any, Any]) -> list[list[int]]:
    found: list[list[int]] = groups.tolist()
    return found
