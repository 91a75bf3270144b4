"""Shardings: the devices that hold an array, and the part of it on each."""

import math
from collections.abc import Hashable, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from minijax import xla
from minijax.shardings.mesh import AbstractMesh, Device, Mesh
from minijax.shardings.partition_spec import PartitionSpec
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import Shape

Index = tuple[slice, ...]


class Sharding:
    """The devices that hold an array, and the part of it on each: the base of all shardings.

    >>> isinstance(jnp.ones(3).sharding, Sharding)
    True
    """

    memory_kind: str | None

    @property
    def is_abstract(self) -> bool:
        """True if it is for a mesh without devices."""
        return False

    @property
    def device_tuple(self) -> tuple[Device, ...]:
        """The devices, in the order in which programs number them."""
        raise NotImplementedError(f"{type(self).__name__} must define device_tuple")

    def parts(self, ndim: int) -> tuple[int, ...]:
        """The number of parts along each axis of an array of `ndim` axes."""
        raise NotImplementedError(f"{type(self).__name__} must define parts")

    def tiling(self, ndim: int) -> xla.Tiling | None:
        """The division of an array of `ndim` axes as XLA has it."""
        raise NotImplementedError(f"{type(self).__name__} must define tiling")

    def placement(self, ndim: int) -> xla.Placement:
        """The placement of arrays of `ndim` axes in jaxlib; one object for equal shardings."""
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
        """The set of those devices that belong to this process."""
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
        """Raise ValueError unless arrays of this shape have all axes that are divided."""
        self.parts(len(aval_shape))

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of the part that each device holds of an array of `global_shape`.

        Raises:
            ValueError: an axis does not divide evenly, or the array lacks an axis that is divided.
        """
        parts = self.parts(len(global_shape))
        for axis, (size, count) in enumerate(zip(global_shape, parts, strict=True)):
            if size % count:
                raise ValueError(
                    f"axis {axis} of an array of shape {tuple(global_shape)} is divided into "
                    f"{count} parts by {self}, and its size {size} is not a multiple of {count}. "
                    "Pad the array, or divide another axis."
                )
        return tuple([size // count for size, count in zip(global_shape, parts, strict=True)])

    def devices_indices_map(self, global_shape: Shape) -> Mapping[Device, Index]:
        """The slices of an array of `global_shape` that each device holds."""
        return _indices(self, tuple(global_shape))[0]

    def addressable_devices_indices_map(self, global_shape: Shape) -> Mapping[Device, Index]:
        """The slices that each device of this process holds."""
        return _indices(self, tuple(global_shape))[1]

    def indices_here(self, global_shape: Shape) -> tuple[Index, ...]:
        """The slices that each device of this process holds, in the order of the devices."""
        return _indices(self, tuple(global_shape))[2]

    def coordinates(self, ndim: int) -> Mapping[Device, tuple[int, ...]]:
        """For each device the number of its part along each axis."""
        raise NotImplementedError(f"{type(self).__name__} must define _coordinates")

    def is_equivalent_to(self, other: "Sharding", ndim: int) -> bool:
        """Return True if arrays of `ndim` axes lie alike under both shardings."""
        return (
            isinstance(other, Sharding)
            and not (self.is_abstract or other.is_abstract)
            and self.device_tuple == other.device_tuple
            and self.coordinates(ndim) == other.coordinates(ndim)
            and self.parts(ndim) == other.parts(ndim)
        )

    def with_memory_kind(self, kind: str) -> "Sharding":
        """The sharding in another kind of memory; devices here have one kind."""
        if kind not in ("device", None):
            raise ValueError(
                f"with_memory_kind: there is only 'device' memory, found {shown(kind)}"
            )
        return self


@lru_cache(maxsize=4096)
def _placement(sharding: Sharding, ndim: int) -> xla.Placement:
    made = xla.new_placement(sharding.device_tuple, sharding.tiling(ndim))
    made.sharding = sharding
    here = sharding.addressable_devices
    parts = sharding.coordinates(ndim)
    made.is_readable = {*parts.values()} == {parts[device] for device in here}
    return made


Indices = Mapping[Device, Index]


@lru_cache(maxsize=4096)
def _indices(sharding: Sharding, global_shape: Shape) -> tuple[Indices, Indices, tuple[Index, ...]]:
    """The slices that each device holds, those that this process' devices hold, and only these."""
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
    """The sharding of arrays that lie at a placement."""
    try:
        return where.sharding
    except AttributeError:  # it is stage 3's, of the default device
        sharding = where.sharding = SingleDeviceSharding(where.device)
        return sharding


class SingleDeviceSharding(Sharding):
    """All of an array on one device.

    Arguments:
        device: the device.

    >>> minijax.sharding.SingleDeviceSharding(minijax.devices()[0]).is_fully_replicated
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
        self.memory_kind = memory_kind or "device"

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
        return isinstance(other, SingleDeviceSharding) and self._device == other._device

    def __hash__(self) -> int:
        return hash(self._device)

    def __reduce__(self) -> Any:
        return _single_device_of_id, (self._device.id, self._device.platform)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """The sharding of arrays that lie on one device.

    Raises:
        TypeError: `device` is something else.

    >>> minijax.sharding.make_single_device_sharding(minijax.devices()[0]).num_devices
    1
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def _single_device_of_id(number: int, platform: str | None = None) -> SingleDeviceSharding:
    by_id: dict[int, Device] = {device.id: device for device in xla.devices(platform)}
    return SingleDeviceSharding(by_id[number])


class NamedSharding(Sharding):
    """An array divided among the axes of a mesh.

    Arguments:
        mesh: the mesh.
        spec: the axes of the mesh that divide each axis of the array.

    Raises:
        ValueError: `spec` names an axis that the mesh has not.
        TypeError: an argument is of another type.

    >>> P = minijax.sharding.PartitionSpec
    >>> mesh = minijax.make_mesh((1,), ("data",))
    >>> minijax.sharding.NamedSharding(mesh, P("data")).shard_shape((8, 2))
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
        for name in names:
            if name not in mesh.axis_names:
                raise ValueError(
                    f"NamedSharding: {spec} names the axis {name!r}, which {mesh} has not; its "
                    f"axes are {mesh.axis_names}"
                )
            if names.count(name) > 1:
                raise ValueError(
                    f"NamedSharding: {spec} names the mesh axis {name!r} twice; a mesh axis "
                    "divides at most one axis of an array"
                )
        self.mesh = mesh
        self.spec = spec
        self._hash = hash((mesh, spec))
        self.memory_kind = memory_kind or "device"

    def update(self, **changes: Any) -> "NamedSharding":
        """The same sharding with another `mesh`, `spec` or `memory_kind`."""
        given = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self.memory_kind} | changes
        return NamedSharding(given.pop("mesh"), given.pop("spec"), **given)

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
        """The mesh axes that divide each axis of an array."""
        names = self.spec.names()
        if len(names) > ndim:
            raise ValueError(
                f"{self.spec} says how {len(names)} axes are divided, and the array has {ndim}. "
                "Give an entry for each axis at most."
            )
        return [*names, *[()] * (ndim - len(names))]

    def parts(self, ndim: int) -> tuple[int, ...]:
        sizes = self.mesh.shape
        return tuple([math.prod([sizes[name] for name in axes]) for axes in self.axes(ndim)])

    def tiling(self, ndim: int) -> xla.Tiling | None:
        parts, names = self.parts(ndim), self.mesh.axis_names
        if math.prod(parts) == 1:
            return xla.WHOLE
        used = [names.index(name) for axes in self.axes(ndim) for name in axes]
        unused = [axis for axis in range(len(names)) if axis not in used]
        rest = math.prod([self.mesh.axis_sizes[axis] for axis in unused])
        if rest > 1:
            parts = (*parts, rest)
        return xla.Tiling(parts, self.mesh.axis_sizes, (*used, *unused), rest > 1)

    @cached_property
    def is_fully_replicated(self) -> bool:
        return math.prod(self.parts(len(self.spec))) == 1

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
            sizes = self.mesh.shape
            ours, theirs = self.axes(ndim), other.axes(ndim)
            return all(
                [name for name in a if sizes[name] > 1] == [name for name in b if sizes[name] > 1]
                for a, b in zip(ours, theirs, strict=True)
            )
        return super().is_equivalent_to(other, ndim)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, NamedSharding) and self.spec == other.spec and self.mesh == other.mesh
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec)

    def __repr__(self) -> str:
        has_devices = isinstance(self.mesh, Mesh)
        memory = f", memory_kind={self.memory_kind}" if has_devices else ""
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec}{memory})"


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
