"""Arrays and programs placed on several devices."""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from glassjax.xla import executables
from glassjax.xla.clients import Options, import_module, options_with
from glassjax.xla.coordination import coordination
from glassjax_stage2 import ShapedArray
from glassjax_stage3.backend import Buffer, Device, get, get_backend
from glassjax_stage3.errors import CompileError, ExecutionError

# Placements: devices and the tiling of an array over them, as jaxlib's objects.


Placement = Any  # an object of jaxlib


class Tiling(NamedTuple):
    """A tiling of an array over the devices of a mesh.

    Attributes:
        parts: the number of parts along each axis of the array; then, if there are several, the
            number of devices whose parts are to be combined; and the number with the same part.
        mesh_sizes: the sizes of the mesh axes.
        order: the mesh axes, in the order of the array axes that are sharded over them, and then
            the unused ones.
        repeats: whether `parts` has an axis for devices with the same part.
        is_unreduced: whether it has one for devices whose parts are to be combined.
    """

    parts: tuple[int, ...]
    mesh_sizes: tuple[int, ...]
    order: tuple[int, ...]
    repeats: bool
    is_unreduced: bool = False


WHOLE = None  # in place of a tiling: each device holds the whole array


def hlo_sharding(tiling: Tiling | None) -> Any:
    """A tiling as jaxlib's `HloSharding`."""
    xla_client = import_module("jaxlib.xla_client")
    if tiling is None:
        return xla_client.HloSharding.replicate()
    kinds = xla_client.OpSharding.Type
    types = [kinds.UNREDUCED] if tiling.is_unreduced else []
    types += [kinds.REPLICATED] if tiling.repeats else []
    return xla_client.HloSharding.iota_tile(
        dims=tiling.parts,
        reshape_dims=tiling.mesh_sizes,
        transpose_perm=tiling.order,
        subgroup_types=types,
    )


@cache
def _placement_class() -> Any:
    class PlacementOnDevices(get_backend().jaxlib.GSPMDSharding):  # type: ignore[misc]
        memory_kind = None
        # One object for equal shardings. JAX, if imported, adds other methods to the base class.
        __eq__, __hash__ = object.__eq__, object.__hash__

        @property
        def device(self) -> Device:
            (only,) = self.devices
            return only

        def _to_xla_hlo_sharding(self, ndim: int) -> Any:
            return self.hlo_sharding

        def __repr__(self) -> str:  # shown in jaxlib's messages
            return ", ".join(map(str, self.devices))

    return PlacementOnDevices


def new_placement(
    devices: tuple[Device, ...], tiling: Tiling | None, memory_kind: str | None = None
) -> Placement:
    """The placement for arrays sharded over `devices` by `tiling`, in a kind of memory.

    Raises:
        RuntimeError: jaxlib is too old to read arrays from several devices.
        ValueError: there are no devices, for which jaxlib would abort the process.
    """
    if not devices:
        raise ValueError("a sharding of a mesh without devices holds no arrays")
    jaxlib = get_backend().jaxlib
    if len(devices) > 1 and not hasattr(jaxlib.ArrayImpl, "_to_np_array_did_copy"):
        raise RuntimeError(
            "this version of jaxlib cannot read arrays that are sharded over devices; jaxlib "
            "0.11.2 can, on Python 3.12 or newer"
        )
    sharding = hlo_sharding(tiling)
    kind = None if memory_kind == "device" else memory_kind  # jaxlib's word for the device's own
    made = _placement_class()(_device_list(devices), sharding, memory_kind=kind)
    made.memory_kind = kind
    made.hlo_sharding = sharding
    made.devices = devices
    here = int(get_backend().client.process_index())
    made.devices_here = [device for device in devices if device.process_index == here]
    return made


@lru_cache(maxsize=256)
def _device_list(devices: tuple[Device, ...]) -> Any:
    return import_module("jaxlib.xla_client").DeviceList(devices)


@cache
def memory_kinds(device: Device) -> tuple[str, ...]:
    """The kinds of memory that a device can address, its own first."""
    own = device.default_memory()
    others = [each.kind for each in device.addressable_memories() if each != own]
    return "device", *others


def copy_semantics() -> Any:
    """jaxlib's enumeration of the ways to copy an array to a device."""
    return get_backend().jaxlib.ArrayCopySemantics


def put_parts(
    aval: ShapedArray, where: Placement, parts: Sequence[np.ndarray[Any, Any]], committed: bool
) -> Buffer:
    """Copy one part of an array to each device of a placement in this process.

    The parts have the dtype of `aval`, and the shape that the placement gives them.
    """
    # Without force_copy a CPU's array may share the memory of a numpy array that is written to
    # later; without enable_x64 jaxlib narrows 64 bits to 32.
    return get_backend().jaxlib.batched_device_put(
        aval, where, list(parts), where.devices_here, committed, force_copy=True, enable_x64=True
    )


def join_parts(aval: ShapedArray, where: Placement, parts: Sequence[Buffer]) -> Buffer:
    """An array from buffers at the places of a placement's parts, without a copy.

    The parts have the dtype of `aval`, the shape that the placement gives them, and the order of
    its devices.
    """
    return get_backend().jaxlib.batched_device_put(
        aval, where, list(parts), where.devices_here, True, enable_x64=True
    )


def with_placement(buffer: Buffer, aval: ShapedArray, where: Placement) -> Buffer:
    """The same array with another placement that has the same parts."""
    return buffer._rewrap_with_aval_and_sharding(_Parts(aval.shape, aval.dtype), where)


def parts_here(buffer: Buffer, part: ShapedArray) -> list[np.ndarray[Any, Any]]:
    """The parts of an array of at least one axis on the devices of this process.

    Arguments:
        buffer: the array.
        part: the type of a part.
    """
    devices = tuple(placement_of(buffer).devices_here)
    stacked = _Parts((len(devices) * part.shape[0], *part.shape[1:]), part.dtype)
    where = _stacking(devices, len(part.shape))
    together = get(buffer._rewrap_with_aval_and_sharding(stacked, where))
    return np.split(together, len(devices))


def buffers_here(buffer: Buffer) -> list[Buffer]:
    """The buffers of an array on the devices of this process, in order, without a copy."""
    return list(buffer._arrays)


class _Parts(NamedTuple):
    """The type of an array's parts, seen as one array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool = False


@lru_cache(maxsize=256)
def _stacking(devices: tuple[Device, ...], ndim: int) -> Placement:
    """The placement that shards the first of `ndim` axes over devices of this process."""
    parts = (len(devices), *[1] * (ndim - 1))
    tiling = Tiling(parts, (len(devices),), (0,), False) if len(devices) > 1 else WHOLE
    return new_placement(devices, tiling)


def placement_of(buffer: Buffer) -> Placement:
    return buffer._sharding


class TileAssignment(NamedTuple):
    """A sharding that XLA chose: the number of parts along each axis, and the devices in order."""

    parts: tuple[int, ...]
    positions: tuple[int, ...]
    repeats: bool


# The HLO instructions by which the devices of a program wait for each other.
_COLLECTIVE = re.compile(
    r" (?:all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|collective-broadcast|"
    r"ragged-all-to-all)(?:-start)?\("
)


class PartitionedExecutable(executables.Executable):
    """A compiled program that runs on several devices at once."""

    def __init__(self, loaded: Any) -> None:  # `set_results` sets the result handlers
        super().__init__(loaded, ())

    def failure(self, buffers: Sequence[Buffer], error: RuntimeError) -> ExecutionError:
        """The error to raise when XLA raised `error`; names other processes that are gone."""
        joined = coordination()
        losses = joined.losses(seconds=1) if joined is not None else []
        reason = RuntimeError("; ".join([*losses, str(error)])) if losses else error
        return super().failure(buffers, reason)

    def communicates(self) -> bool:
        """Return True if its devices wait for each other."""
        return _COLLECTIVE.search(self.hlo_text()) is not None

    def argument_tiles(self, count: int) -> list[TileAssignment | None]:
        """The sharding of each argument; None if it is replicated."""
        found = self.loaded.get_parameter_shardings()  # None in a program for one device
        return [None] * count if found is None else [tiles_of(each) for each in found[:count]]

    def result_tiles(self, count: int) -> list[TileAssignment | None]:
        """The sharding of each result; None if it is replicated."""
        found = self.loaded.get_output_shardings()
        return [None] * count if found is None else [tiles_of(each) for each in found[:count]]

    def set_results(
        self, out_avals: Sequence[ShapedArray], placements: Sequence[Placement], committed: bool
    ) -> None:
        """Set the types and placements of the results."""
        make = get_backend().jaxlib.array_result_handler
        for aval, where in zip(out_avals, placements, strict=True):
            try:
                # True: jaxlib before 0.11 calls into jax to check the result, unless told to skip
                # that
                self.handlers.append(make(aval, where, committed, True))
            except TypeError:  # as in stage 3
                self.handlers.append(make(aval, where, committed))


class CallingPartitionedExecutable(executables.Calling, PartitionedExecutable):
    """A partitioned program that calls Python functions."""

    def __init__(self, loaded: Any, raised: list[BaseException]) -> None:
        PartitionedExecutable.__init__(self, loaded)
        self._raised = raised


def inspection_address(callback: Callable[[Any], None]) -> bytes:
    """The address by which XLA calls a function with a sharding; the function must stay alive."""
    address: bytes = get_backend().jaxlib.encode_inspect_sharding_callback(callback)
    return address


def tiles_of(given: Any) -> TileAssignment | None:
    """jaxlib's sharding as a `TileAssignment`; None if replicated."""
    cls = import_module("jaxlib.xla_client").HloSharding
    sharding = given if isinstance(given, cls) else cls.from_proto(given)
    if sharding.is_replicated():
        return None
    return TileAssignment(
        tuple(sharding.tile_assignment_dimensions()),
        tuple(sharding.tile_assignment_devices()),
        sharding.replicate_on_last_tile_dim(),
    )


def compile_partitioned(
    text: str,
    devices: tuple[Device, ...],
    options: Options,
    functions: Sequence[executables.HostFunction] = (),
) -> PartitionedExecutable:
    """Compile a program for several devices, with XLA's partitioner.

    Arguments:
        text: a StableHLO module with as many partitions; its meshes number the devices in the given
            order.
        devices: where it runs.
        options: XLA flags for this program alone.
        functions: the functions that it calls, as for `compile_calling`.

    Raises:
        CompileError: XLA does not accept the text or an option.
    """
    raised: list[BaseException] = []
    given = {"host_callbacks": executables.remembering(functions, raised)} if functions else {}
    try:
        loaded = devices[0].client.compile_and_load(
            executables.parsed(text) if functions else text,
            executable_devices=_device_list(devices),
            compile_options=_partitioning(devices, options),
            **given,
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error
    if functions:
        return CallingPartitionedExecutable(loaded, raised)
    return PartitionedExecutable(loaded)


def deserialize_partitioned(
    data: bytes,
    devices: tuple[Device, ...],
    options: Options,
    functions: Sequence[executables.HostFunction] = (),
) -> PartitionedExecutable:
    """Load a program of `compile_partitioned` from the result of `serialize`; see `deserialize`.

    Arguments:
        data: the result of `serialize`, under the same `fingerprint` of the devices.
        devices, options: those with which the program was compiled.
        functions: the functions that it calls.

    Raises:
        RuntimeError: XLA does not recognize the data.
    """
    client, where = devices[0].client, _device_list(devices)
    if functions:
        raised: list[BaseException] = []
        called, given = executables.remembering(functions, raised), _partitioning(devices, options)
        loaded = executables.load_with_functions(client, data, where, given, called)
        return CallingPartitionedExecutable(loaded, raised)
    loaded = client.deserialize_executable(data, where, _partitioning(devices, options))
    return PartitionedExecutable(loaded)


def _partitioning(devices: tuple[Device, ...], options: Options) -> Any:
    """The compile options for several devices."""
    compile_options = options_with(options)
    compile_options.num_partitions = len(devices)
    build = compile_options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    numbers = np.array([[device.id for device in devices]], np.int32)
    assignment = import_module("jaxlib.xla_client").DeviceAssignment.create(numbers)
    compile_options.device_assignment = assignment
    return compile_options


# jaxlib's guards: errors or log messages for implicit transfers.


def _guards() -> Any:
    return import_module("jaxlib._jax").guard_lib


def set_guard(name: str, level: str | None, everywhere: bool) -> Any:
    """Set a guard of this thread, or of all, and return its old value.

    Arguments:
        name: "host_to_device", "device_to_host", "device_to_device" or "garbage_collect_array".
        level: "allow", "log", "disallow", "log_explicit" or "disallow_explicit"; for garbage
            collection "allow", "log" or "fatal". None: the default.
        everywhere: whether it holds for all threads that have no guard of their own.
    """
    guards = _guards()
    is_of_garbage = name == "garbage_collect_array"
    levels = guards.GarbageCollectionGuardLevel if is_of_garbage else guards.TransferGuardLevel
    state = guards.global_state() if everywhere else guards.thread_local_state()
    outside = getattr(state, name)
    setattr(state, name, None if level is None else getattr(levels, level.upper()))
    return outside


def restore_guard(name: str, outside: Any) -> None:
    """Give a guard of this thread the value that `set_guard` returned."""
    setattr(_guards().thread_local_state(), name, outside)


def guard_threads(is_on: bool) -> None:
    """Make it an error if another thread runs a program of several processes."""
    _guards().update_thread_guard_global_state(is_on)


@contextmanager
def explicit_transfers(kind: str = "explicit_device_put") -> Iterator[None]:
    """A context in which transfers to devices, or from them, count as explicit."""
    state = _guards().thread_local_state()
    outside = getattr(state, kind)
    setattr(state, kind, True)
    try:
        yield
    finally:
        setattr(state, kind, outside)


@contextmanager
def moving_between_devices(role: object, sources: Set[Device], to: Set[Device]) -> Iterator[None]:
    """A context for moving an array to other devices through the host, or for resharding it.

    Raises:
        ExecutionError: a guard of this thread, or of all, disallows it.
    """
    guards = _guards()
    state, levels = guards.thread_local_state(), guards.TransferGuardLevel
    level = state.device_to_device or guards.global_state().device_to_device
    disallowed = [levels.DISALLOW_EXPLICIT]
    if not state.explicit_device_put:
        disallowed.append(levels.DISALLOW)
    if level in disallowed and sources != to:
        found, wanted = sorted(map(str, sources)), sorted(map(str, to))
        raise ExecutionError(
            f"Disallowed device-to-device transfer: {role} from {', '.join(found)} to "
            f"{', '.join(wanted)}; transfer_guard or transfer_guard_device_to_device forbids it "
            "here. Ask for it by device_put, where they allow that"
        )
    # The copy from the host is part of this transfer: its own guard does not apply.
    outside = set_guard("host_to_device", "allow", everywhere=False)
    try:
        yield
    finally:
        restore_guard("host_to_device", outside)
