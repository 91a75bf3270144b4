"""Meshes of devices, and the one in context."""

import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from glassjax import xla
from glassjax.errors.arguments import require_fit, require_hashable
from glassjax.settings.config import ReusableContext, Switch, reusable_context
from glassjax.settings.names import counted
from glassjax.settings.number_types import NumbersOption, warn
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints

# Meshes: devices in an array whose axes have names.


Device = Any

# The mesh in context: the mesh of every PartitionSpec without one.
mesh_in_context: "ContextVar[Mesh | AbstractMesh | None]" = ContextVar("mesh", default=None)
# The mesh on whose devices programs run, by `set_mesh`.
mesh_of_programs: "ContextVar[Mesh | None]" = ContextVar("mesh_of_programs", default=None)


def put_in_context(mesh: "Mesh | AbstractMesh | None") -> None:
    """Make a mesh the one in context, which programs depend on from now on."""
    Switch.used = True
    mesh_in_context.set(mesh)


class AxisType(Enum):
    """The type of a mesh axis: what decides how arrays are sharded over it.

    `Auto`: the compiler; `Explicit`: the types of the arrays, which have shardings; `Manual`: the
    program, which sees its own part of each array.

    >>> glassjax.make_mesh((1,), ("data",)).axis_types == (AxisType.Explicit,)
    True
    """

    Auto = "Auto"
    Explicit = "Explicit"
    Manual = "Manual"

    def __repr__(self) -> str:
        return self.value


class _Axes:
    """Names, sizes and types of axes, common to meshes with and without devices."""

    axis_names: tuple[Hashable, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> "OrderedDict[Hashable, int]":
        """The size of each axis, by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Hashable, int], ...]:
        """Pairs of name and size."""
        return tuple(self.shape.items())

    @property
    def size(self) -> int:
        """The product of the sizes of its axes."""
        return math.prod(self.axis_sizes)

    @property
    def empty(self) -> bool:
        """True if there are no axes."""
        return not self.axis_names

    def _axes_with_type(self, axis_type: AxisType) -> tuple[Hashable, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple([name for name, found in pairs if found is axis_type])

    @cached_property
    def auto_axes(self) -> tuple[Hashable, ...]:
        """The names of axes of type `Auto`."""
        return self._axes_with_type(AxisType.Auto)

    @cached_property
    def explicit_axes(self) -> tuple[Hashable, ...]:
        """The names of axes of type `Explicit`."""
        return self._axes_with_type(AxisType.Explicit)

    @cached_property
    def manual_axes(self) -> tuple[Hashable, ...]:
        """The names of axes of type `Manual`."""
        return self._axes_with_type(AxisType.Manual)

    def _are_all(self, axis_type: AxisType) -> bool:
        return set(self.axis_types) == {axis_type}

    @property
    def are_all_axes_auto(self) -> bool:
        """True if there are axes, and all are of type `Auto`."""
        return self._are_all(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        """True if there are axes, and all are of type `Explicit`."""
        return self._are_all(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        """True if there are axes, and all are of type `Manual`."""
        return self._are_all(AxisType.Manual)

    def __str__(self) -> str:
        sizes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple) or "()"
        return f"{type(self).__name__}({sizes}, axis_types={self.axis_types})"

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={self.axis_types})"
        )


@dataclass(frozen=True)
class AbstractDevice:
    """A kind of device, possibly absent.

    Attributes:
        device_kind: the name of the kind, as devices report it.
        num_cores: the number of its cores, if that matters.
        platform: "cpu", "gpu".

    >>> glassjax.sharding.AbstractDevice("cpu", None, "cpu")
    AbstractDevice(device_kind=cpu, num_cores=None, platform=cpu)
    """

    device_kind: str
    num_cores: int | None
    platform: str

    @property
    def fields(self) -> str:
        """The attributes as text."""
        kind, cores = self.device_kind, self.num_cores
        return f"device_kind={kind}, num_cores={cores}, platform={self.platform}"

    def __repr__(self) -> str:
        return f"AbstractDevice({self.fields})"


class AbstractMesh(_Axes):
    """The axes of a mesh without its devices.

    Arguments:
        axis_sizes: the size of each axis.
        axis_names: the name of each axis.
        axis_types: the type of each axis; `AxisType.Explicit` for all if not given.
        abstract_device: the kind of its devices, an `AbstractDevice`, if it is known.

    Raises:
        ValueError: the numbers of sizes, names and types differ, or a name occurs twice.

    >>> glassjax.sharding.AbstractMesh((4, 2), ("data", "model")).shape["model"]
    2
    """

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Sequence[Hashable],
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ):
        self.abstract_device = abstract_device
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = _names_of("AbstractMesh", axis_names, len(self.axis_sizes))
        self.axis_types = _types_of(
            "AbstractMesh", axis_types, len(self.axis_sizes), AxisType.Explicit
        )

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        """The mesh itself."""
        return self

    def update_axis_types(self, types: "dict[Hashable, AxisType]") -> "AbstractMesh":
        """The mesh with other types for the named axes."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        changed = [types.get(name, found) for name, found in pairs]
        return AbstractMesh(
            self.axis_sizes,
            self.axis_names,
            tuple(changed),
            abstract_device=self.abstract_device,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        text = super().__str__()
        if self.abstract_device is None:
            return text
        return f"{text.removesuffix(')')}, {self.abstract_device.fields})"

    def __repr__(self) -> str:
        return str(self)

    @property
    def _key(self) -> Any:
        return self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device


class Mesh(_Axes):
    """Devices in an array whose axes have names.

    Arguments:
        devices: an array or nested lists of devices.
        axis_names: a name for each axis, or one name for the only axis.
        axis_types: the type of each axis; `AxisType.Auto` for all if not given.

    Raises:
        ValueError: names or types do not fit the axes, or a name or a device occurs twice.
        TypeError: `devices` contains something else.

    >>> import numpy as np
    >>> mesh = glassjax.sharding.Mesh(np.array(glassjax.devices()[:1]), ("data",))
    >>> mesh.shape["data"], mesh.size
    (1, 1)
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None):
        if not isinstance(devices, np.ndarray):
            devices = np.array(devices, dtype=object)
        is_without = devices.shape == () and devices[()] is None  # from `numpy.empty`
        found = [] if is_without else list(devices.flat)
        _require_devices("Mesh", found)
        if len({*found}) < len(found):
            raise ValueError("Mesh: a device occurs twice in devices")
        self.devices: np.ndarray[Any, Any] = devices.copy()
        # the hash is computed once
        self.devices.flags.writeable = False
        self.axis_sizes = devices.shape
        self.axis_names = _names_of("Mesh", axis_names, devices.ndim)
        self.axis_types = _types_of("Mesh", axis_types, devices.ndim, AxisType.Auto)
        self._key = self.axis_names, self.axis_sizes, self.axis_types, tuple(found)
        self._hash = hash(self._key)
        self._previous: list[Mesh | AbstractMesh | None] = []  # meshes to restore after blocks

    @property
    def size(self) -> int:
        """The number of devices."""
        return len(self.device_tuple)

    @property
    def empty(self) -> bool:
        """True if there are no devices."""
        return not self.device_tuple

    @property
    def device_tuple(self) -> tuple[Device, ...]:
        """The devices in order: the last axis varies fastest."""
        return self._key[-1]

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The array of the devices' numbers."""
        return np.array([device.id for device in self.devices.flat]).reshape(self.devices.shape)

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        here = xla.process_index()
        return [device for device in self.devices.flat if device.process_index == here]

    @property
    def local_mesh(self) -> "Mesh":
        """The block of the mesh with the devices of this process.

        Raises:
            ValueError: they are not a block.
        """
        here = xla.process_index()
        are_here = np.vectorize(lambda each: each.process_index == here, otypes=[bool])
        where = np.nonzero(are_here(self.devices))
        block = tuple(slice(at.min(), at.max() + 1) if at.size else slice(0) for at in where)
        if not are_here(self.devices[block]).all():
            raise ValueError(f"the devices of process {here} are not a block of {self}")
        return Mesh(self.devices[block], self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> bool:
        """True if devices of other processes are among them."""
        return len(self.local_devices) < len(self.device_tuple)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes without the devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def __enter__(self) -> "Mesh":
        message = "`with mesh:` is deprecated, as in JAX; write `with glassjax.set_mesh(mesh):`"
        warn(message, DeprecationWarning)
        self._previous.append(mesh_in_context.get())
        put_in_context(self)
        return self

    def __exit__(self, *exception: object) -> None:
        mesh_in_context.set(self._previous.pop())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mesh):
            return False
        return self is other or bool(self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        platform = self.devices.flat[0].platform if self.size else None
        return _mesh_of_ids, (self.device_ids, self.axis_names, self.axis_types, platform)


def _mesh_of_ids(
    ids: np.ndarray[Any, Any],
    names: tuple[Hashable, ...],
    types: tuple[AxisType, ...],
    platform: str | None = None,
) -> Mesh:
    """Restore a pickled mesh, with devices looked up by number."""
    by_id = {device.id: device for device in xla.devices(platform)}
    try:
        devices = [by_id[number] for number in ids.flat]
    except KeyError as error:
        raise RuntimeError(f"a pickled mesh has device {error}, which is not here") from None
    return Mesh(np.array(devices, dtype=object).reshape(ids.shape), names, types)


def _require_devices(caller: str, given: Sequence[Any]) -> None:
    cls = xla.device_class()
    for device in given:
        if not isinstance(device, cls):
            raise TypeError(
                f"{caller}: devices must hold devices, such as glassjax.devices(), found "
                f"{shown(device)} of type {type(device).__name__}"
            )


def _names_of(caller: str, given: Any, ndim: int) -> tuple[Hashable, ...]:
    if not isinstance(given, str):
        require_fit(caller, "axis_names", given, Iterable[Any])
    names: tuple[Hashable, ...] = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        require_hashable(f"{caller}: axis_names", name=name)
        if name is None:
            raise ValueError(f"{caller}: None is not a name of an axis, found axis_names={names!r}")
    if len(names) != ndim:
        raise ValueError(
            f"{caller}: {counted(ndim, 'axis')} need as many names, found axis_names={names!r}"
        )
    if len({*names}) < ndim:
        raise ValueError(f"{caller}: a name occurs twice in axis_names={names!r}")
    return names


def _types_of(caller: str, given: Any, ndim: int, default: AxisType) -> tuple[AxisType, ...]:
    if given is None:
        return (default,) * ndim
    types: tuple[Any, ...] = tuple(given) if isinstance(given, list | tuple) else (given,) * ndim
    if len(types) != ndim or not all(isinstance(each, AxisType) for each in types):
        raise ValueError(
            f"{caller}: axis_types must hold an AxisType for each of {counted(ndim, 'axis')}, "
            f"found {shown(types)}"
        )
    return types


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Any,
    axis_types: Any = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices, in their order.

    Arguments:
        axis_sizes: the size of each axis.
        axis_names: the name of each axis.
        axis_types: the type of each axis; `AxisType.Explicit` for all if not given.
        devices: the devices to take; all of `glassjax.devices()` if not given.

    Raises:
        ValueError: there are too few devices, or names and types do not fit the axes.
        TypeError: a size is not an int, or `devices` contains something else.

    >>> glassjax.make_mesh((1, 1), ("data", "model")).shape_tuple
    (('data', 1), ('model', 1))
    """
    require_fit("make_mesh", "devices", devices, Iterable[Any] | None)
    if devices is None:
        devices = xla.devices()
    else:
        devices = list(devices)
        _require_devices("make_mesh", devices)
    require_fit("make_mesh", "axis_sizes", axis_sizes, Iterable[Any])
    sizes = ints("make_mesh: axis_sizes", axis_sizes)
    if any(size < 1 for size in sizes):
        raise ValueError(f"make_mesh: axis_sizes must be positive, found {sizes}")
    count = math.prod(sizes)
    if count > len(devices):
        raise ValueError(
            f"make_mesh: axis_sizes {sizes} need {counted(count, 'device')}, and "
            f"there {'is' if len(devices) == 1 else 'are'} {len(devices)}. On a CPU, set "
            f"GLASSJAX_NUM_CPU_DEVICES={count} before the first array is made."
        )
    names = _names_of("make_mesh", axis_names, len(sizes))
    types = _types_of("make_mesh", axis_types, len(sizes), AxisType.Explicit)
    return _mesh_of(tuple(devices[:count]), sizes, names, types)


@lru_cache(maxsize=64)
def _mesh_of(devices: tuple[Device, ...], sizes: tuple[int, ...], names: Any, types: Any) -> Mesh:
    return Mesh(np.array(devices, dtype=object).reshape(sizes), names, types)


# The mesh in context: the mesh of every `PartitionSpec` that is given without one.


class set_mesh:
    """Set the mesh in context, for good or for the block of a `with`.

    Programs run on its devices, and a `PartitionSpec` refers to its axes.

    Arguments:
        mesh: the mesh; an abstract one does not change the devices of programs.

    Raises:
        TypeError: it is not a mesh.

    >>> with glassjax.set_mesh(glassjax.make_mesh((1,), ("data",))):
    ...     glassjax.sharding.get_mesh().axis_names
    ('data',)
    """

    def __init__(self, mesh: Mesh):
        if not isinstance(mesh, Mesh):
            raise TypeError(
                f"set_mesh: expected a Mesh, found {shown(mesh)} of type {type(mesh).__name__}"
            )
        self._previous = mesh_in_context.get(), mesh_of_programs.get()
        put_in_context(None if mesh.empty else mesh)
        mesh_of_programs.set(None if mesh.empty else mesh)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        mesh, programs_mesh = self._previous
        mesh_in_context.set(mesh)
        mesh_of_programs.set(programs_mesh)


def get_mesh() -> Mesh:
    """The mesh in context; an empty one if none is set.

    >>> glassjax.sharding.get_mesh().empty
    True
    """
    mesh = mesh_in_context.get()
    return mesh if isinstance(mesh, Mesh) else Mesh(np.empty((), dtype=object), ())


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in context; none if no mesh is set.

    >>> glassjax.sharding.get_abstract_mesh().empty
    True
    """
    mesh = mesh_in_context.get()
    return AbstractMesh((), ()) if mesh is None else mesh.abstract_mesh


@reusable_context
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[None]:
    """Set the mesh in context for the block of a `with`, without its devices.

    A `PartitionSpec` refers to its axes. Programs can be traced and lowered for it, but not run.

    Arguments:
        mesh: the mesh.

    Raises:
        ValueError: it is not an abstract mesh.

    >>> mesh = glassjax.sharding.AbstractMesh((64, 8), ("data", "model"))
    >>> with glassjax.sharding.use_abstract_mesh(mesh):
    ...     x = glassjax.ShapeDtypeStruct((512, 8), "float32", sharding=glassjax.P("data"))
    >>> x.sharding.spec
    P('data',)
    """
    if not isinstance(mesh, AbstractMesh):
        raise ValueError(
            f"use_abstract_mesh: expected an AbstractMesh, found {shown(mesh)} of type "
            f"{type(mesh).__name__}"
        )
    before = mesh_in_context.get()
    put_in_context(mesh)
    try:
        yield
    finally:
        mesh_in_context.set(before)


# `no_collectives`: mesh axes without communication.


_forbidden = NumbersOption("no_collectives", object, frozenset(), "Axes without collectives.")

Spec = Sequence[Sequence[Hashable]]  # for each array axis, its mesh axes


class ForbiddenCollectiveError(Exception):
    """A collective along an axis that `no_collectives` forbids."""


class _NoCollectives:
    """Forbid collectives along axes of a mesh of type `Explicit`, in this thread.

    `with no_collectives({"model"}):` makes it an error to trace a collective along these axes: a
    named one, or an operation on sharded arrays that needs one, because its result is no longer
    sharded over the axis. `value` is the set of these axes.

    Raises:
        TypeError: the axes are not a set.

    >>> mesh = glassjax.make_mesh((1,), ("x",))
    >>> with glassjax.set_mesh(mesh), glassjax.sharding.no_collectives({"x"}):
    ...     try:
    ...         glassjax.sharding.reshard(jnp.ones(4), glassjax.P("x")).sum()
    ...     except Exception as error:
    ...         print(str(error).partition(", where")[0])
    reduce_sum, whose result is no longer sharded, along the axis 'x'
    """

    __name__ = "no_collectives"  # the name of its only instance

    @property
    def value(self) -> frozenset[Hashable]:
        return frozenset(_forbidden.value)

    def __call__(self, new_val: Set[Hashable]):  # type: ignore[no-untyped-def]
        if not isinstance(new_val, Set):
            raise TypeError(
                f"no_collectives: expected a set of names of mesh axes, found {shown(new_val)} of "
                f"type {type(new_val).__name__}"
            )
        return _forbidding(frozenset(new_val))


def _forbidding(axes: frozenset[Hashable]) -> ReusableContext:
    return _forbidden.for_block(axes)


no_collectives = _NoCollectives()


def require_allowed(caller: str, names: Iterable[Hashable]) -> None:
    """Raise an error if collectives along one of these axes are forbidden."""
    for name in names:
        if name in _forbidden.value:
            raise ForbiddenCollectiveError(
                f"{caller} along the axis {name!r}, where no_collectives forbids collectives"
            )


def require_kept(caller: str, before: Sequence[Spec], after: Sequence[Spec]) -> None:
    """Raise an error if operands are sharded over a forbidden axis, and no result is."""
    if _forbidden.value and before and after:
        lost = _spec_axes(before) - _spec_axes(after)
        require_allowed(f"{caller}, whose result is no longer sharded,", lost)


def require_in_place(caller: str, before: Spec, after: Spec) -> None:
    """As `require_kept`, for a result that must have the operand's sharding."""
    require_kept(caller, [before], [after])
    for own, wanted in zip(before, after, strict=True):
        require_allowed(f"{caller} moves parts", {*own} - {*wanted} if _forbidden.value else ())


def _spec_axes(specs: Iterable[Spec]) -> set[Hashable]:
    return {name for spec in specs for axes in spec for name in axes}
