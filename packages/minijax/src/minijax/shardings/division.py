"""The `Sharding` of a tiling that XLA chose, by the axes of a known mesh or a new one."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax import xla
from minijax.shardings.mesh import Device, Mesh
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.sharding import NamedSharding


def sharding_of_division(
    division: xla.Division, meshes: Sequence[Mesh], devices: tuple[Device, ...], ndim: int
) -> NamedSharding:
    """The sharding of a tiling, by the axes of one of the meshes if possible."""
    for mesh in meshes:
        found = _in_mesh(division, mesh, ndim)
        if found is not None:
            return found
    return _in_mesh_of_its_own(division, devices, ndim)


def _in_mesh(division: xla.Division, mesh: Mesh, ndim: int) -> NamedSharding | None:
    """The sharding of a tiling by the axes of a mesh, or None if it has none."""
    sizes = mesh.shape
    wanted = _positions(division, ndim)

    def assign(axis: int, left: tuple[Any, ...], chosen: tuple[Any, ...]) -> NamedSharding | None:
        if axis == ndim:
            last = max((i + 1 for i, names in enumerate(chosen) if names), default=0)
            sharding = NamedSharding(mesh, PartitionSpec(*[axes or None for axes in chosen[:last]]))
            at = sharding.coordinates(ndim)
            ours = [at[device] for device in mesh.device_tuple]
            return sharding if ours == wanted else None
        for count in range(len(left) + 1):
            for names in itertools.permutations(left, count):
                if math.prod([sizes[name] for name in names]) == division.parts[axis]:
                    rest = tuple([name for name in left if name not in names])
                    if found := assign(axis + 1, rest, (*chosen, names)):
                        return found
        return None

    useful = tuple([name for name in mesh.axis_names if sizes[name] > 1])
    return assign(0, useful, ())


def _positions(division: xla.Division, ndim: int) -> list[tuple[int, ...]]:
    """For each device, in order, the number of its part along each axis."""
    found: list[tuple[int, ...]] = [()] * len(division.positions)
    for number, device in enumerate(division.positions):
        at = np.unravel_index(number, division.parts)
        found[device] = tuple(map(int, at[:ndim]))
    return found


def _in_mesh_of_its_own(
    division: xla.Division, devices: tuple[Device, ...], ndim: int
) -> NamedSharding:
    ordered = np.array([devices[position] for position in division.positions], dtype=object)
    names = [f"axis{i}" for i in range(len(division.parts))]
    mesh = Mesh(ordered.reshape(division.parts), names)
    return NamedSharding(mesh, PartitionSpec(*names[:ndim]))


def plain_mesh(devices: tuple[Device, ...]) -> Mesh:
    """The mesh of devices in one row."""
    return Mesh(np.array(devices, dtype=object), ("devices",))
