"""Values of several processes: gathered, broadcast, compared, joined into arrays."""

from __future__ import annotations

import operator
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from glassjax import xla
from glassjax.runtime.array import Array, array, put_array
from glassjax.runtime.devices import devices, process_count, process_index
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jit import jit
from glassjax.runtime.make_array import local_part, make_array_from_process_local_data
from glassjax.shardings.mesh import Device, Mesh
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import NamedSharding
from glassjax_stage2 import tree_flatten, tree_flatten_with_path, tree_map
from glassjax_stage2.errors import TreeMismatchError, shown
from glassjax_stage2.tree import broadcast_prefix, keystr


@evaluated_by_library
def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Gather the values of all processes, in each of them. All processes must call it.

    Arguments:
        in_tree: a pytree of arrays and numbers, of the same shapes in all processes; or of Arrays
            that are sharded over the processes.
        tiled: whether the values of the processes are concatenated along their first axis; by
            default they are stacked along a new first axis, as numbers always are. An Array that is
            sharded over processes is gathered as a whole, and needs `tiled=True`.

    Returns:
        A pytree of numpy arrays.

    Raises:
        ValueError: an Array is sharded over the processes, and `tiled` is False.
        RuntimeError: the processes call it with other shapes, or do something else.

    >>> from glassjax.experimental import multihost_utils
    >>> multihost_utils.process_allgather(np.arange(3)).shape == (glassjax.process_count(), 3)
    True
    """

    def gathered(x: Any) -> Any:
        if isinstance(x, Array) and not x.is_fully_addressable:
            if not tiled:
                raise ValueError(
                    f"process_allgather: {x.aval} is sharded over processes, and gathering it "
                    "gives the whole array: call process_allgather(x, tiled=True)"
                )
            return np.asarray(_everywhere(x))
        x = np.asarray(array(x))
        if process_count() == 1:
            return x if tiled else x[None]
        stacked = _stacked(x)
        return stacked.reshape(-1, *x.shape[1:]) if tiled and x.ndim else stacked

    return tree_map(gathered, in_tree)


@evaluated_by_library
def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Send the values of one process to all. All processes must call it.

    Arguments:
        in_tree: a pytree of arrays and numbers, of the same shapes and dtypes in all processes.
        is_source: whether the values of this process are sent; None: in process 0.

    Returns:
        A pytree of numpy arrays.

    Raises:
        ValueError: `is_source` is true in no process, or in several.
        RuntimeError: the processes call it with other shapes, or do something else.

    >>> from glassjax.experimental import multihost_utils
    >>> int(multihost_utils.broadcast_one_to_all(3))
    3
    """
    if process_count() == 1:
        return tree_map(lambda x: np.asarray(array(x)), in_tree)
    source = 0
    if is_source is not None:
        sources = np.flatnonzero(_stacked(np.asarray(bool(is_source))))
        if len(sources) != 1:
            raise ValueError(
                "broadcast_one_to_all: is_source must be true in one process, found "
                f"{'none' if not len(sources) else sources.tolist()}"
            )
        source = int(sources[0])
    mesh = _mesh_of_processes()
    whole = NamedSharding(mesh, PartitionSpec())
    take = jit(lambda x: x[source], out_shardings=whole)
    return tree_map(
        lambda x: np.asarray(take(_stack_over_processes(np.asarray(array(x)), mesh))), in_tree
    )


@evaluated_by_library
def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise an AssertionError unless all processes have the same values. All must call it.

    Arguments:
        in_tree: a pytree of arrays and numbers. NaN is equal to NaN. Arrays that are sharded over
            the processes count as equal.
        fail_message: the beginning of the error's message.

    Raises:
        AssertionError: structures, shapes, dtypes or values differ; the message names the
            processes.

    >>> from glassjax.experimental import multihost_utils
    >>> multihost_utils.assert_equal({"step": 3}, "processes are at different steps")
    """
    if process_count() == 1:
        return
    pairs, treedef = tree_flatten_with_path(in_tree)
    leaves = [
        (keystr(path), np.asarray(array(x)))
        for path, x in pairs
        if not (isinstance(x, Array) and not x.is_fully_addressable)
    ]
    begin = f"{fail_message}: " if fail_message else ""
    kinds = [f"{path}: {x.dtype}{list(x.shape)}" for path, x in leaves]
    _require_equal(
        f"{begin}the structure, {treedef} of {', '.join(kinds)},", [str(treedef), *kinds]
    )
    for path, x in leaves:
        stacked = _stacked(x)
        is_float = stacked.dtype.kind in "fcV"
        for index, theirs in enumerate(stacked):
            if not np.array_equal(x, theirs, equal_nan=is_float and x.dtype.kind in "fc"):
                role = f"the value of {path}" if path else "the value"
                raise AssertionError(
                    f"{begin}{role} is {shown(x.tolist())} in process {process_index()}, and "
                    f"{shown(theirs.tolist())} in process {index}"
                )


def _require_equal(role: str, texts: list[str]) -> None:
    """Raise an AssertionError unless all processes have the same texts."""
    code = np.uint32(zlib.crc32("\n".join(texts).encode()))
    for index, theirs in enumerate(_stacked(code)):
        if theirs != code:
            raise AssertionError(
                f"{role} in process {process_index()} differs from that in process {index}"
            )


@evaluated_by_library
def sync_global_devices(name: str) -> None:
    """Wait until all processes call this, and their devices have finished their work.

    Arguments:
        name: the name of the barrier, the same in all processes.

    Raises:
        AssertionError: the names differ.
        RuntimeError: a process does something else.

    >>> from glassjax.experimental import multihost_utils
    >>> multihost_utils.sync_global_devices("data is loaded")
    """
    if process_count() > 1:
        _require_equal(f"sync_global_devices: the name {name!r}", [name])


def reached_preemption_sync_point(step_id: int) -> bool:
    """Return True at the step after which all processes should save a checkpoint.

    A scheduler that is about to stop a process sends it SIGTERM. From the first call of this
    function on, the signal does not end the process: instead all processes agree on a step that
    none of them has reached yet. Each must call this function at every step.

    Arguments:
        step_id: the number of the step, the same in all processes.

    Returns:
        True at the step that was agreed on. A single process, one that has not called
        `distributed.initialize`, always gets False.

    Raises:
        TypeError: `step_id` is not an int.

    >>> from glassjax.experimental import multihost_utils
    >>> multihost_utils.reached_preemption_sync_point(10)
    False
    """
    step = operator.index(step_id)
    coordination = xla.coordination()
    return coordination is not None and coordination.reached_preemption_sync_point(step)


class ProcessFailureError(Exception):
    """Processes failed in a block of `live_devices`.

    Attributes:
        failed_devices: the set of their devices.

    >>> from glassjax.experimental import multihost_utils
    >>> multihost_utils.ProcessFailureError({"device 8"}).failed_devices
    {'device 8'}
    """

    def __init__(self, failed_devices: set[Device]):
        self.failed_devices = failed_devices
        super().__init__(f"live_devices: the processes of {failed_devices} failed")


@contextmanager
def live_devices(devices: Sequence[Device]) -> Iterator[list[Device]]:
    """The devices of the live processes, for the block of a `with`.

    The live processes enter the block together, with the same devices, and leave it together. A
    failed process ends the others after `heartbeat_timeout_seconds` of `distributed.initialize`, so
    they must finish by then.

    Arguments:
        devices: devices of these processes, this one among them.

    Raises:
        ProcessFailureError: a process has failed in the block.
        RuntimeError: this process has not called `distributed.initialize`.
        ValueError: there are no devices of this process among them.

    >>> from glassjax.experimental import multihost_utils
    >>> with multihost_utils.live_devices(glassjax.devices()) as devices:  # doctest: +SKIP
    ...     train_on(devices)
    """
    before = _lives(devices)
    error: Exception | None = None
    try:
        yield sorted(before, key=lambda device: device.id)
    except Exception as raised:
        error = raised
    now = _lives(devices)
    failed = {device for device, life in before.items() if now.get(device) != life}
    if failed:
        raise ProcessFailureError(failed) from error
    if error is not None:
        raise error


def _lives(devices: Sequence[Device]) -> dict[Device, int]:
    """The devices whose processes live, and a number that a process which restarts has anew."""
    coordination = xla.coordination()
    if coordination is None:
        raise RuntimeError("live_devices: call glassjax.distributed.initialize first")
    processes = {device.process_index for device in devices}
    if process_index() not in processes:
        raise ValueError(
            f"live_devices: expected devices of this process, {process_index()}, among others, "
            f"found devices of the processes {sorted(processes)}"
        )
    lives = coordination.lives(sorted(processes))
    return {x: lives[x.process_index] for x in devices if x.process_index in lives}


@evaluated_by_library
def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Join the local arrays of each process into arrays that are sharded over the processes.

    Arguments:
        local_inputs: a pytree of arrays and numbers: this process's part along each axis that is
            sharded over processes. Arrays that are already sharded over processes are returned
            unchanged.
        global_mesh: the mesh, in which the devices of each process are a block.
        pspecs: a `PartitionSpec` for each array, or a pytree prefix of these.

    Returns:
        A pytree of Arrays.

    Raises:
        TypeError: `global_mesh` is not a mesh.
        ValueError: `pspecs` is not a prefix of the arrays, has other leaves than specs, or a spec
            does not fit its array.

    >>> from glassjax.experimental import multihost_utils
    >>> mesh = glassjax.make_mesh((glassjax.device_count(),), ("data",))
    >>> spec = glassjax.P("data")
    >>> x = np.ones((glassjax.local_device_count(), 3))
    >>> x = multihost_utils.host_local_array_to_global_array(x, mesh, spec)
    >>> x.shape == (glassjax.device_count(), 3)
    True
    """
    caller = "host_local_array_to_global_array"
    leaves, treedef = tree_flatten(local_inputs)
    shardings = _shardings(caller, global_mesh, pspecs, local_inputs)
    return treedef.unflatten(
        [
            x
            if isinstance(x, Array) and not x.is_fully_addressable
            else make_array_from_process_local_data(sharding, x)
            for x, sharding in zip(leaves, shardings, strict=True)
        ]
    )


@evaluated_by_library
def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Take the parts of this process out of arrays that are sharded over processes.

    Arguments:
        global_inputs: a pytree of Arrays. Arrays that are local to this process are returned
            unchanged.
        global_mesh: the mesh, in which the devices of each process are a block.
        pspecs: a `PartitionSpec` for each Array, or a pytree prefix of these; an Array that is
            sharded differently is resharded first.

    Returns:
        A pytree of Arrays on the devices of this process.

    Raises:
        TypeError: `global_mesh` is not a mesh.
        ValueError: `pspecs` is not a prefix of the arrays, has other leaves than specs, or a spec
            does not fit its array; the devices of this process are not a block of the mesh.

    >>> from glassjax.experimental import multihost_utils
    >>> mesh = glassjax.make_mesh((glassjax.device_count(),), ("data",))
    >>> spec = glassjax.P("data")
    >>> x = np.ones(glassjax.device_count())
    >>> x = glassjax.device_put(x, glassjax.NamedSharding(mesh, spec))
    >>> x = multihost_utils.global_array_to_host_local_array(x, mesh, spec)
    >>> x.shape == (glassjax.local_device_count(),)
    True
    """
    caller = "global_array_to_host_local_array"
    leaves, treedef = tree_flatten(global_inputs)
    shardings = _shardings(caller, global_mesh, pspecs, global_inputs)
    return treedef.unflatten(
        [_local_part(array(x), sharding) for x, sharding in zip(leaves, shardings, strict=True)]
    )


def _local_part(x: Array, sharding: NamedSharding) -> Array:
    """The part of `x` on the devices of this process, by a sharding."""
    if x.is_fully_addressable:
        return x
    return local_part(put_array(x, x.aval, sharding))


def _shardings(caller: str, mesh: Any, pspecs: Any, tree: Any) -> list[NamedSharding]:
    """The sharding of each leaf of a pytree, for a prefix of specs."""
    if not isinstance(mesh, Mesh):
        raise TypeError(
            f"{caller}: global_mesh must be a Mesh, found {shown(mesh)} of type "
            f"{type(mesh).__name__}"
        )
    try:
        specs = broadcast_prefix(pspecs, tree, lambda x: isinstance(x, PartitionSpec))
    except TreeMismatchError as error:
        raise TreeMismatchError(
            f"{caller}: pspecs is not a prefix of the arrays: {error}"
        ) from None
    for spec in specs:
        if not isinstance(spec, PartitionSpec):
            raise ValueError(
                f"{caller}: pspecs must hold a PartitionSpec for each array, found {shown(spec)}; "
                "use PartitionSpec() for an array that is the same in all processes"
            )
    return [NamedSharding(mesh, spec) for spec in specs]


def _mesh_of_processes() -> Mesh:
    """A mesh of one device of each process."""
    first: dict[int, Any] = {}
    for device in devices():
        first.setdefault(device.process_index, device)
    ordered = [first[index] for index in sorted(first)]
    return Mesh(np.array(ordered, dtype=object), ("processes",))


def _stack_over_processes(x: np.ndarray[Any, Any], mesh: Mesh) -> Array:
    """The values of all processes, stacked along a new first axis that is sharded over them."""
    sharding = NamedSharding(mesh, PartitionSpec("processes"))
    return make_array_from_process_local_data(sharding, x[None])


def _everywhere(x: Array) -> Array:
    """`x`, replicated on each of its devices."""
    sharding = x.sharding
    mesh = sharding.mesh if isinstance(sharding, NamedSharding) else None
    if not isinstance(mesh, Mesh):
        mesh = Mesh(np.array(sharding.device_tuple, dtype=object), ("devices",))
    return put_array(x, x.aval, NamedSharding(mesh, PartitionSpec()))


def _stacked(x: Any) -> np.ndarray[Any, Any]:
    """The values of all processes, stacked along a new first axis."""
    return np.asarray(_everywhere(_stack_over_processes(np.asarray(x), _mesh_of_processes())))


__all__ = [
    "ProcessFailureError", "assert_equal", "broadcast_one_to_all",
    "global_array_to_host_local_array", "host_local_array_to_global_array", "live_devices",
    "process_allgather", "reached_preemption_sync_point", "sync_global_devices",
]  # fmt: skip
