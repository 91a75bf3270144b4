"""The mesh of a `shard_map`, and the types of the parts of arrays that its devices have."""

import math
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from minijax.primitives.varying import (
    NONE,
    AxisNames,
    MeshAxis,
    VaryingArray,
    mesh_axes,
    plain_type,
    vary,
    vma_of,
)
from minijax.shardings.mesh import AbstractMesh, AxisType, Mesh, mesh_in_context
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.resharding import leave_to_compiler
from minijax.shardings.sharding import NamedSharding
from minijax.shardings.types import division_of, reshard_p
from minijax_stage2 import ShapedArray, bind1, typeof


class Manual(NamedTuple):
    """The mesh of a `shard_map`, and the axes along which its program sees one device.

    Attributes:
        outside: the mesh as it is outside of the program.
        names: those axes.
        checked: whether types say along which axes values vary.
        of_examples: the axes of the mesh that are to divide examples of `vmap`: to the program of
            one example there is one device along them.
    """

    outside: Mesh | AbstractMesh
    names: tuple[Hashable, ...]
    checked: bool
    of_examples: AxisNames = NONE

    @property
    def mesh(self) -> Mesh | AbstractMesh:
        """The mesh as the program sees it: those axes have the type `Manual`."""
        return _with_manual(self.outside, self.names)

    @property
    def axes(self) -> list[MeshAxis]:
        """The axes along which the program sees one device."""
        mesh = self.mesh.abstract_mesh
        return [MeshAxis(name, mesh, self.checked) for name in self.names]

    def size(self, names: Sequence[Hashable]) -> int:
        """The number of devices along axes."""
        return math.prod([self.mesh.shape[name] for name in names])

    def part(self, aval: ShapedArray, spec: PartitionSpec) -> ShapedArray:
        """The type of a device's part of an array."""
        shape = list(aval.shape)
        for axis, names in enumerate(spec.names()):
            shape[axis] //= self.size(names)
        part = aval.update(shape=tuple(shape))
        return vary(part, names_in(spec)) if self.checked else part

    def whole(self, part: ShapedArray, spec: PartitionSpec) -> ShapedArray:
        """The type of the array of which each device has a part of this type."""
        shape = list(part.shape)
        for axis, names in enumerate(spec.names()):
            shape[axis] *= self.size(names)
        whole = plain_type(part).update(shape=tuple(shape))
        return VaryingArray(whole, vma_of(part) - {*self.names})

    def as_inside(self, x: Any) -> Any:
        """`x`, of a type that says nothing about the axes along which the program sees a device."""
        return leave_to_compiler(x, self.mesh.abstract_mesh)

    def as_outside(self, x: Any, spec: PartitionSpec) -> Any:
        """A result, of a type that says how it is divided along axes `Explicit` outside."""
        mesh = self.outside.abstract_mesh
        explicit = {*mesh.explicit_axes}
        rest = division_of(typeof(x))
        entries = [*spec.names(), *[()] * (len(rest) - len(spec))]
        division = [
            (*[name for name in axes if name in explicit], *more)
            for axes, more in zip(entries, rest, strict=True)
        ]
        if not any(division):
            return x
        return bind1(reshard_p, x, sharding=NamedSharding(mesh, PartitionSpec(*division)))

    def stacking(self, aval: ShapedArray) -> PartitionSpec:
        """The spec that stacks, along a new first axis, the values that devices have."""
        varies = vma_of(aval) if self.checked else {*self.names} - self.of_examples
        axes = [name for name in self.mesh.axis_names if name in varies and name in self.names]
        return PartitionSpec(axes) if axes else PartitionSpec()

    def not_in(self, spec: PartitionSpec) -> list[MeshAxis]:
        """The axes along which devices have the same part, where types do not say so."""
        names = names_in(spec) | self.of_examples
        return [] if self.checked else [axis for axis in self.axes if axis.name not in names]

    @contextmanager
    def running(self) -> Iterator[None]:
        """A context in which the program, or one that is made of it, is staged."""
        token = mesh_in_context.set(self.mesh)
        try:
            with mesh_axes(self.axes):
                yield
        finally:
            mesh_in_context.reset(token)


@lru_cache(maxsize=256)
def _with_manual(mesh: Mesh | AbstractMesh, names: tuple[Hashable, ...]) -> Mesh | AbstractMesh:
    if isinstance(mesh, AbstractMesh):
        return mesh.update_axis_types(dict.fromkeys(names, AxisType.Manual))
    pairs = zip(mesh.axis_names, mesh.axis_types, strict=True)
    types = [AxisType.Manual if name in names else found for name, found in pairs]
    return Mesh(mesh.devices, mesh.axis_names, tuple(types))


def names_in(spec: PartitionSpec) -> AxisNames:
    """The names of the axes in a spec."""
    return frozenset([name for names in spec.names() for name in names])
