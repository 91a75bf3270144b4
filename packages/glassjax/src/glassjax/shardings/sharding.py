"""Shardings: which device holds which part of an array."""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from glassjax import xla
from glassjax.shardings.memories import DEVICE, checked_kind
from glassjax.shardings.mesh import AbstractMesh, AxisType, Device, Mesh, mesh_in_context
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax_stage2 import tree_leaves
from glassjax_stage2.errors import TreeMismatchError, shown
from glassjax_stage2.shaped_array import Shape
from glassjax_stage2.tree import broadcast_prefix

# Shardings: the devices of an array, and the part of it on each.


Index = tuple[slice, ...]


class Sharding:
    """The devices of an array, and the part of it on each; the base of all shardings.

    >>> isinstance(jnp.ones(3).sharding, Sharding)
    True
    """

    memory_kind: str

    @property
    def unreduced_count(self) -> int:
        """The number of parts that are still to be combined into each element."""
        return 1

    @property
    def is_abstract(self) -> bool:
        """True if it is for a mesh without devices."""
        return False

    @property
    def device_tuple(self) -> tuple[Device, ...]:
        """The devices, in the order of programs."""
        raise NotImplementedError(f"{type(self).__name__} must define device_tuple")

    def parts(self, ndim: int) -> tuple[int, ...]:
        """The number of parts along each axis of an array of `ndim` axes."""
        raise NotImplementedError(f"{type(self).__name__} must define parts")

    def tiling(self, ndim: int) -> xla.Tiling | None:
        """XLA's tiling of an array of `ndim` axes."""
        raise NotImplementedError(f"{type(self).__name__} must define tiling")

    def placement(self, ndim: int) -> xla.Placement:
        """jaxlib's placement for arrays of `ndim` axes; one object for equal shardings."""
        return _placement(self, ndim)

    @property
    def device_set(self) -> Set[Device]:
        """The set of devices."""
        return {*self.device_tuple}

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return len(self.device_tuple)

    @property
    def addressable_devices(self) -> Set[Device]:
        """The set of devices that belong to this process."""
        here = xla.process_index()
        return {device for device in self.device_tuple if device.process_index == here}

    @cached_property
    def is_fully_addressable(self) -> bool:
        """True if all devices belong to this process."""
        return len(self.addressable_devices) == self.num_devices

    @property
    def is_fully_replicated(self) -> bool:
        """True if each device holds all of the array."""
        raise NotImplementedError(f"{type(self).__name__} must define is_fully_replicated")

    @property
    def has_addressable_devices(self) -> bool:
        """True if a device belongs to this process."""
        return bool(self.addressable_devices)

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        """Raise ValueError unless arrays of this shape have all sharded axes."""
        self.parts(len(aval_shape))

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of the part that each device holds of an array of `global_shape`.

        Raises:
            ValueError: an axis is not divisible evenly, or the array lacks a sharded axis.
        """
        parts = self.parts(len(global_shape))
        for axis, (size, count) in enumerate(zip(global_shape, parts, strict=True)):
            if size % count:
                raise ValueError(
                    f"axis {axis} of an array of shape {tuple(global_shape)} is sharded into "
                    f"{count} parts by {self}, and its size {size} is not a multiple of {count}. "
                    "Pad the array, or shard another axis."
                )
        return tuple([size // count for size, count in zip(global_shape, parts, strict=True)])

    def devices_indices_map(self, global_shape: Shape) -> Mapping[Device, Index]:
        """The slices of an array of `global_shape` that each device holds."""
        return _device_indices(self, tuple(global_shape))[0]

    def addressable_devices_indices_map(self, global_shape: Shape) -> Mapping[Device, Index]:
        """The slices that each device of this process holds."""
        return _device_indices(self, tuple(global_shape))[1]

    def indices_here(self, global_shape: Shape) -> tuple[Index, ...]:
        """The slices that each device of this process holds, in the order of the devices."""
        return _device_indices(self, tuple(global_shape))[2]

    def coordinates(self, ndim: int) -> Mapping[Device, tuple[int, ...]]:
        """For each device the number of its part along each axis."""
        raise NotImplementedError(f"{type(self).__name__} must define _coordinates")

    def is_equivalent_to(self, other: "Sharding", ndim: int) -> bool:
        """Return True if both shardings mean the same for arrays of `ndim` axes."""
        return (
            isinstance(other, Sharding)
            and not (self.is_abstract or other.is_abstract)
            and self.device_tuple == other.device_tuple
            and self.memory_kind == other.memory_kind
            and self.coordinates(ndim) == other.coordinates(ndim)
            and self.parts(ndim) == other.parts(ndim)
        )

    def everywhere(self) -> "Sharding":
        """The sharding that gives each of the same devices the whole array."""
        return self

    def with_memory_kind(self, kind: str) -> "Sharding":
        """The sharding in another kind of memory of its devices."""
        raise NotImplementedError(f"{type(self).__name__} must define with_memory_kind")


@lru_cache(maxsize=4096)
def _placement(sharding: Sharding, ndim: int) -> xla.Placement:
    kind = sharding.memory_kind
    made = xla.new_placement(sharding.device_tuple, sharding.tiling(ndim), kind)
    made.sharding = sharding
    here = sharding.addressable_devices
    parts = sharding.coordinates(ndim)
    # this process has each part at least once
    made.is_readable = {*parts.values()} == {parts[device] for device in here} and (
        sharding.unreduced_count == 1
    )
    return made


Indices = Mapping[Device, Index]


@lru_cache(maxsize=4096)
def _device_indices(
    sharding: Sharding, global_shape: Shape
) -> tuple[Indices, Indices, tuple[Index, ...]]:
    """The slices of all devices, of this process's devices, and the latter as a list."""
    ndim = len(global_shape)
    shape, parts = sharding.shard_shape(global_shape), sharding.parts(ndim)
    whole = slice(None)
    every = {
        device: tuple(
            [
                whole if count == 1 else slice(at * size, (at + 1) * size)
                for at, size, count in zip(coordinates, shape, parts, strict=True)
            ]
        )
        for device, coordinates in sharding.coordinates(ndim).items()
    }
    devices = sharding.addressable_devices
    here = {device: index for device, index in every.items() if device in devices}
    return MappingProxyType(every), MappingProxyType(here), tuple(here.values())


def sharding_of(where: xla.Placement) -> Sharding:
    """The sharding of arrays with a placement."""
    try:
        return where.sharding
    except AttributeError:  # stage 3's placement, on the default device
        sharding = where.sharding = SingleDeviceSharding(where.device)
        return sharding


class SingleDeviceSharding(Sharding):
    """All of an array on one device.

    Arguments:
        device: the device.
        memory_kind: a kind of memory that the device can address, such as "pinned_host"; None for
            its own memory, "device".

    Raises:
        ValueError: the device cannot address such a memory.

    >>> glassjax.sharding.SingleDeviceSharding(glassjax.devices()[0]).is_fully_replicated
    True
    """

    is_fully_replicated = True

    def __init__(self, device: Device, *, memory_kind: str | None = None):
        if not isinstance(device, xla.device_class()):
            raise TypeError(
                f"SingleDeviceSharding: expected a device, found {shown(device)} of type "
                f"{type(device).__name__}"
            )
        self._device: Device = device
        self.memory_kind = checked_kind("SingleDeviceSharding", device, memory_kind)

    def with_memory_kind(self, kind: str) -> "SingleDeviceSharding":
        return SingleDeviceSharding(self._device, memory_kind=kind)

    @property
    def device_tuple(self) -> tuple[Device, ...]:
        return (self._device,)

    def parts(self, ndim: int) -> tuple[int, ...]:
        return (1,) * ndim

    def tiling(self, ndim: int) -> None:
        return xla.WHOLE

    def coordinates(self, ndim: int) -> Mapping[Device, tuple[int, ...]]:
        return {self._device: (0,) * ndim}

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SingleDeviceSharding)
            and self._device == other._device
            and self.memory_kind == other.memory_kind
        )

    def __hash__(self) -> int:
        return hash((self._device, self.memory_kind))

    def __reduce__(self) -> Any:
        return _single_device_of_id, (self._device.id, self._device.platform, self.memory_kind)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """The sharding of arrays on one device.

    Raises:
        TypeError: `device` is not a device.
        ValueError: the device cannot address a memory of this kind.

    >>> glassjax.sharding.make_single_device_sharding(glassjax.devices()[0]).num_devices
    1
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def _single_device_of_id(
    number: int, platform: str | None = None, kind: str | None = None
) -> SingleDeviceSharding:
    by_id: dict[int, Device] = {device.id: device for device in xla.devices(platform)}
    return SingleDeviceSharding(by_id[number], memory_kind=kind)


class NamedSharding(Sharding):
    """A sharding over the axes of a mesh.

    Arguments:
        mesh: the mesh.
        spec: the mesh axes that each array axis is sharded over.
        memory_kind: a kind of memory that the devices can address, such as "pinned_host"; None for
            their own memory, "device".

    Raises:
        ValueError: `spec` names an axis that the mesh lacks, or `memory_kind` a memory that the
            devices cannot address.
        TypeError: an argument is of another type.

    >>> P = glassjax.sharding.PartitionSpec
    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> glassjax.sharding.NamedSharding(mesh, P("data")).shard_shape((8, 2))
    (8, 2)
    """

    def __init__(
        self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None
    ):
        if not isinstance(mesh, Mesh | AbstractMesh):
            raise TypeError(
                f"NamedSharding: mesh must be a Mesh, found {shown(mesh)} of type "
                f"{type(mesh).__name__}"
            )
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding: spec must be a PartitionSpec, found {shown(spec)} of type "
                f"{type(spec).__name__}; write PartitionSpec(...)"
            )
        names = [name for axes in spec.names() for name in axes]
        for name in (*spec.unreduced, *spec.reduced):
            self._require_explicit(mesh, spec, name)
        for name in names:
            if name not in mesh.axis_names:
                raise ValueError(
                    f"NamedSharding: {spec} names the axis {name!r}, which {mesh} lacks; its "
                    f"axes are {mesh.axis_names}"
                )
            if names.count(name) > 1:
                raise ValueError(
                    f"NamedSharding: {spec} names the mesh axis {name!r} twice; a mesh axis "
                    "shards at most one axis of an array"
                )
        self.mesh = mesh
        self.spec = spec
        device = mesh.devices.flat[0] if isinstance(mesh, Mesh) and mesh.size else None
        self.memory_kind = checked_kind("NamedSharding", device, memory_kind)
        self._hash = hash((mesh, spec, self.memory_kind))

    @staticmethod
    def _require_explicit(mesh: Mesh | AbstractMesh, spec: PartitionSpec, name: Hashable) -> None:
        """Raise an error unless arrays can be unreduced over a mesh axis."""
        if name in mesh.explicit_axes:
            return
        kind = dict(zip(mesh.axis_names, mesh.axis_types, strict=True)).get(name)
        role = f"is of type {kind}" if kind else "is not in the mesh"
        raise ValueError(
            f"NamedSharding: {spec} has the unreduced or reduced axis {name!r}, and it {role}: "
            f"{mesh}. Types record that over mesh axes of type Explicit"
        )

    def update(self, **changes: Any) -> "NamedSharding":
        """The same sharding with another `mesh`, `spec` or `memory_kind`."""
        given = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self.memory_kind} | changes
        return NamedSharding(given.pop("mesh"), given.pop("spec"), **given)

    def with_memory_kind(self, kind: str) -> "NamedSharding":
        return self if kind == self.memory_kind else self.update(memory_kind=kind)

    @property
    def is_abstract(self) -> bool:
        return isinstance(self.mesh, AbstractMesh)

    @property
    def device_tuple(self) -> tuple[Device, ...]:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(f"{self} has no devices: its mesh is abstract")
        return self.mesh.device_tuple

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    def axes(self, ndim: int) -> list[tuple[Hashable, ...]]:
        """The mesh axes that each axis of an array is sharded over."""
        names = self.spec.names()
        if len(names) > ndim:
            raise ValueError(
                f"{self.spec} has entries for {len(names)} axes, and the array has {ndim}. "
                "Give at most one entry for each axis."
            )
        return [*names, *[()] * (ndim - len(names))]

    def parts(self, ndim: int) -> tuple[int, ...]:
        sizes = self.mesh.shape
        return tuple([math.prod([sizes[name] for name in axes]) for axes in self.axes(ndim)])

    @property
    def unreduced_count(self) -> int:
        """The number of parts that are still to be combined into each element."""
        return math.prod([self.mesh.shape[name] for name in self.spec.unreduced])

    def everywhere(self) -> "NamedSharding":
        return self.update(spec=PartitionSpec())

    def tiling(self, ndim: int) -> xla.Tiling | None:
        parts, names = self.parts(ndim), self.mesh.axis_names
        summands = self.unreduced_count
        if math.prod(parts) == summands == 1:
            return xla.WHOLE
        used = [names.index(name) for axes in self.axes(ndim) for name in axes]
        unused = [axis for axis in range(len(names)) if axis not in used]
        open_axes = [axis for axis in unused if names[axis] in self.spec.unreduced]
        same = [axis for axis in unused if axis not in open_axes]
        rest = math.prod([self.mesh.axis_sizes[axis] for axis in same])
        counts = *parts, *[each for each in (summands, rest) if each > 1]
        order = *used, *open_axes, *same
        return xla.Tiling(counts, self.mesh.axis_sizes, order, rest > 1, summands > 1)

    @cached_property
    def is_fully_replicated(self) -> bool:
        return math.prod(self.parts(len(self.spec))) == self.unreduced_count == 1

    def coordinates(self, ndim: int) -> Mapping[Device, tuple[int, ...]]:
        sizes, names = self.mesh.axis_sizes, self.mesh.axis_names
        axes = [[names.index(name) for name in each] for each in self.axes(ndim)]
        found = {}
        for number, device in enumerate(self.device_tuple):
            at = _unravel(number, sizes)
            found[device] = tuple(
                _ravel([at[axis] for axis in each], [sizes[axis] for axis in each]) for each in axes
            )
        return found

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        if isinstance(other, NamedSharding) and self.mesh == other.mesh:
            # On one mesh the names decide, without a look at the part of each device.
            sizes = self.mesh.shape
            ours, theirs = self.axes(ndim), other.axes(ndim)
            if (self.spec.unreduced, self.memory_kind) != (other.spec.unreduced, other.memory_kind):
                return False
            return all(
                [name for name in a if sizes[name] > 1] == [name for name in b if sizes[name] > 1]
                for a, b in zip(ours, theirs, strict=True)
            )
        return super().is_equivalent_to(other, ndim)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, NamedSharding)
            and self.spec == other.spec
            and self.mesh == other.mesh
            and self.memory_kind == other.memory_kind
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return _named_sharding, (self.mesh, self.spec, self.memory_kind)

    def __repr__(self) -> str:
        is_known = isinstance(self.mesh, Mesh) or self.memory_kind != DEVICE
        memory = f", memory_kind={self.memory_kind}" if is_known else ""
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec}{memory})"


def _named_sharding(mesh: Mesh, spec: PartitionSpec, memory_kind: str) -> NamedSharding:
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


def _unravel(number: int, sizes: Sequence[int]) -> list[int]:
    """The coordinates of a device in a mesh of these sizes."""
    at = []
    for size in reversed(sizes):
        number, rest = divmod(number, size)
        at.append(rest)
    return at[::-1]


def _ravel(at: Sequence[int], sizes: Sequence[int]) -> int:
    number = 0
    for position, size in zip(at, sizes, strict=True):
        number = number * size + position
    return number


# Layouts of arrays in memory. Only row-major ones are supported.


@dataclass(frozen=True)
class Layout:
    """The order of an array's axes in memory.

    Attributes:
        major_to_minor: the axes, from the largest stride to the smallest.
        tiling: the sizes of tiles, if there are tiles.
        sub_byte_element_size_in_bits: the size of elements that share bytes, else 0.
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


@dataclass(frozen=True)
class Format:
    """A layout and a sharding.

    Attributes:
        layout: a `Layout`; None leaves it to XLA.
        sharding: a `Sharding`; None leaves it to XLA.
    """

    layout: Any = None
    sharding: Any = None

    def sharding_by(self, caller: str, role: str) -> Any:
        """The sharding, if the layout is supported.

        Raises:
            ValueError: the layout is not row-major.
        """
        layout = self.layout
        if layout is not None:
            order = tuple(layout.major_to_minor)
            if order != tuple(range(len(order))) or layout.tiling:
                raise ValueError(
                    f"{caller}: {role} has the layout {layout}, and arrays here are row-major: "
                    "leave the layout out, and transpose the array instead"
                )
        return self.sharding


def format_of(ndim: int, sharding: Any) -> Format:
    """The format of an array of `ndim` axes."""
    return Format(Layout(tuple(range(ndim)), ()), sharding)


# Shardings from user input: devices, specs of the mesh in context, prefixes of pytrees.


def _is_entry(x: Any) -> bool:
    return x is None or isinstance(x, Sharding | PartitionSpec | Format)


def shardings_for(caller: str, role: str, given: Any, tree: Any) -> list[Sharding | None]:
    """A sharding, or None, for each leaf of a pytree, from a prefix `given`.

    Raises:
        TypeError: a leaf of `given` is not a device, a sharding, a spec or None.
        ValueError: `given` is not a prefix of the pytree, or a spec is given without a mesh.
    """
    return [as_sharding(caller, role, entry) for entry in entries_for(caller, role, given, tree)]


def entries_for(caller: str, role: str, given: Any, tree: Any) -> list[Any]:
    """The entry for each leaf of a pytree, from a prefix `given`.

    Raises:
        ValueError: `given` is not a prefix of the pytree.
    """
    try:
        return broadcast_prefix(given, tree, _is_entry)
    except TreeMismatchError as error:
        raise TreeMismatchError(
            f"{caller}: {role} is not a prefix of the arrays: {error}"
        ) from None


def require_shardings(caller: str, role: str, given: Any) -> None:
    """Raise a TypeError if a leaf of `given` is not a device, a sharding, a spec or None."""
    for entry in tree_leaves(given, is_leaf=_is_entry):
        if not isinstance(entry, PartitionSpec):  # its mesh may be set later
            as_sharding(caller, role, entry)


def as_sharding(caller: str, role: str, entry: Any) -> Sharding | None:
    """Convert a device, a sharding, a spec of the mesh in context, or None.

    A sharding over the axes of the mesh in context is one over its devices.
    """
    if isinstance(entry, Format):
        entry = entry.sharding_by(caller, role)
    if isinstance(entry, NamedSharding) and isinstance(entry.mesh, AbstractMesh):
        mesh = mesh_in_context.get()
        if isinstance(mesh, Mesh) and mesh.abstract_mesh == entry.mesh:
            return entry.update(mesh=mesh)
    if entry is None or isinstance(entry, Sharding):
        return entry
    if isinstance(entry, PartitionSpec):
        mesh = mesh_in_context.get()
        if mesh is None:
            raise ValueError(
                f"{caller}: {role} is the PartitionSpec {entry}, which needs a mesh: call it in "
                "`with glassjax.set_mesh(mesh):`, or give NamedSharding(mesh, spec)"
            )
        return NamedSharding(mesh, entry)
    if isinstance(entry, xla.device_class()):
        return SingleDeviceSharding(entry)
    raise TypeError(
        f"{caller}: {role} must be a device, a Sharding, a PartitionSpec or None, found "
        f"{shown(entry)} of type {type(entry).__name__}"
    )


def chosen_sharding(caller: str, device: Any, out_sharding: Any) -> Sharding | None:
    """The sharding given as `device` or `out_sharding`, or None.

    Raises:
        TypeError: one is of another type.
        ValueError: both are given; or `out_sharding` uses mesh axes that are not of type
            `Explicit`.
    """
    if out_sharding is None:
        return None if device is None else as_sharding(caller, "device", device)
    if device is not None:
        raise ValueError(f"{caller}: pass either device or out_sharding, not both")
    return explicit_sharding(caller, out_sharding)


def explicit_sharding(
    caller: str, out_sharding: Any, role: str = "out_sharding"
) -> NamedSharding | None:
    """The sharding given as `out_sharding`, or as the argument `role`.

    A sharding on a mesh without axes, as an unsharded type has, counts as None.

    Raises:
        TypeError: it is not a `NamedSharding` or a `PartitionSpec`.
        ValueError: it uses mesh axes that are not of type `Explicit`.
    """
    if out_sharding is None or (
        isinstance(out_sharding, NamedSharding) and out_sharding.mesh.empty
    ):
        return None
    if not isinstance(out_sharding, NamedSharding | PartitionSpec):
        raise TypeError(
            f"{caller}: {role} must be a NamedSharding or a PartitionSpec, found "
            f"{shown(out_sharding)} of type {type(out_sharding).__name__}"
        )
    sharding = as_sharding(caller, role, out_sharding)
    assert isinstance(sharding, NamedSharding)
    types = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    for name in [name for names in sharding.spec.names() for name in names]:
        if types[name] is not AxisType.Explicit:
            raise ValueError(
                f"{caller}: {role} shards the result over the mesh axis {name!r}, which is of "
                f"type {types[name]}: the compiler decides about such axes. Use "
                "lax.with_sharding_constraint, or a mesh with axes of type Explicit."
            )
    return sharding


# Divisions that XLA chose: along the axes of a known mesh, or of a new one.


def sharding_from_tiles(
    tiles: xla.TileAssignment, meshes: Sequence[Mesh], devices: tuple[Device, ...], ndim: int
) -> NamedSharding:
    """The sharding for a division, by the axes of one of the meshes if possible."""
    for mesh in meshes:
        found = _in_mesh(tiles, mesh, ndim)
        if found is not None:
            return found
    return _in_mesh_of_its_own(tiles, devices, ndim)


def _in_mesh(tiles: xla.TileAssignment, mesh: Mesh, ndim: int) -> NamedSharding | None:
    """The sharding for a division by the axes of a mesh, or None if there is none."""
    sizes = mesh.shape
    wanted = _positions(tiles, ndim)

    def assign(axis: int, left: tuple[Any, ...], chosen: tuple[Any, ...]) -> NamedSharding | None:
        if axis == ndim:
            last = max((i + 1 for i, names in enumerate(chosen) if names), default=0)
            sharding = NamedSharding(mesh, PartitionSpec(*[axes or None for axes in chosen[:last]]))
            at = sharding.coordinates(ndim)
            ours = [at[device] for device in mesh.device_tuple]
            return sharding if ours == wanted else None
        for count in range(len(left) + 1):
            for names in itertools.permutations(left, count):
                if math.prod([sizes[name] for name in names]) == tiles.parts[axis]:
                    rest = tuple([name for name in left if name not in names])
                    if found := assign(axis + 1, rest, (*chosen, names)):
                        return found
        return None

    # An axis of size 1 shards nothing: it would only give more names to the same sharding.
    useful = tuple([name for name in mesh.axis_names if sizes[name] > 1])
    return assign(0, useful, ())


def _positions(tiles: xla.TileAssignment, ndim: int) -> list[tuple[int, ...]]:
    """For each device, in order, the number of its part along each axis."""
    found: list[tuple[int, ...]] = [()] * len(tiles.positions)
    for number, device in enumerate(tiles.positions):
        at = np.unravel_index(number, tiles.parts)
        found[device] = tuple(map(int, at[:ndim]))
    return found


def _in_mesh_of_its_own(
    tiles: xla.TileAssignment, devices: tuple[Device, ...], ndim: int
) -> NamedSharding:
    ordered = np.array([devices[position] for position in tiles.positions], dtype=object)
    names = [f"axis{i}" for i in range(len(tiles.parts))]
    mesh = Mesh(ordered.reshape(tiles.parts), names)
    return NamedSharding(mesh, PartitionSpec(*names[:ndim]))


def plain_mesh(devices: tuple[Device, ...]) -> Mesh:
    """The mesh of devices in one row."""
    return Mesh(np.array(devices, dtype=object), ("devices",))
