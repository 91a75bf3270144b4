"""Arrays made from their parts on the devices of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax import xla
from glassjax.dtypes import DTypeLike
from glassjax.runtime import array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import counted
from glassjax.shardings.mesh import Mesh
from glassjax.shardings.sharding import (
    Index,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    shardings_for,
)
from glassjax.shardings.types import type_at, unsharded
from glassjax_stage2 import ShapedArray, Tracer, tree_flatten, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import Shape, dialect
from glassjax_stage3.executable import device_type


@evaluated_by_library
def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding,
    data_callback: Callable[[Index], Any],
    dtype: DTypeLike | None = None,
) -> array.Array:
    """An array whose parts on each device are made by a function.

    No process needs to hold the whole array.

    Arguments:
        shape: the shape of the whole array.
        sharding: the devices, and how the array is sharded over them.
        data_callback: a function from a tuple of slices, one per axis, to that part of the array.
            It is called once for each device of this process; once only if each device holds all of
            the array.
        dtype: the required dtype of the parts; by default they only have to agree.

    Returns:
        The array, committed to its devices.

    Raises:
        TypeError: an argument is of another type, or a part is not an array or number.
        ValueError: the sharding does not divide the array evenly; a part has another shape than its
            slices, or another dtype than the first, or than `dtype`.

    >>> import numpy as np
    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> sharding = glassjax.NamedSharding(mesh, glassjax.P("data"))
    >>> glassjax.make_array_from_callback((4,), sharding, lambda index: np.arange(4.0)[index])
    Array([0., 1., 2., 3.], dtype=float32)
    """
    caller = "make_array_from_callback"
    shape = _shape_of(caller, shape, sharding)
    if not callable(data_callback):
        raise TypeError(
            f"{caller}: data_callback must be a function of slices, found {shown(data_callback)} "
            f"of type {type(data_callback).__name__}"
        )
    indices = sharding.addressable_devices_indices_map(shape)
    called = [*indices.values()][:1] if sharding.is_fully_replicated else indices.values()
    # max: a process without devices of this sharding calls nothing
    given = [data_callback(index) for index in called] * (len(indices) // max(len(called), 1))

    def name(number: int) -> str:
        return f"data_callback({[*indices.values()][number]})"

    # One call of jaxlib copies numpy arrays to all devices.
    if all(type(x) is np.ndarray and x.dtype.kind in "biuf" for x in given):
        avals = list(map(typeof, given))
        aval = _whole_type(caller, shape, sharding, avals, name, dtype)
        parts = _apart([np.asarray(x, aval.dtype) for x in given])
        buffer = xla.put_parts(aval, sharding.placement(aval.ndim), parts, True)
        return array.array_at(buffer, type_at(aval, sharding))
    found = []
    for number, (x, device) in enumerate(zip(given, indices, strict=True)):
        try:
            found.append(_to_device(array.array(x), device))
        except TypeError as error:
            raise TypeError(f"{caller}: {name(number)}: {error}") from None
    aval = _whole_type(caller, shape, sharding, [x.aval for x in found], name, dtype)
    return _from_parts(aval, sharding, found)


def _apart(parts: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Copy parts that share memory, since jaxlib rejects those."""
    begins = {x.__array_interface__["data"][0] for x in parts}
    shares = len(begins) < len(parts) or any(0 in x.strides for x in parts)
    return [x.copy() for x in parts] if shares else list(parts)


@evaluated_by_library
def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Sharding,
    arrays: Sequence[Any],
    *,
    dtype: DTypeLike | None = None,
) -> array.Array:
    """An array of the given parts, without a copy.

    Arguments:
        shape: the shape of the whole array.
        sharding: the devices, and how the array is sharded over them.
        arrays: for each device of this process an Array on that device: its part. Any order.
        dtype: the required dtype of the parts; by default they only have to agree.

    Returns:
        The array, committed to its devices.

    Raises:
        TypeError: `arrays` is not a list of Arrays, or `sharding` not a sharding.
        ValueError: the sharding does not divide the array evenly; `arrays` lacks the part of a
            device, or has one for another device; a part is of another shape or dtype than it
            should be.

    >>> import numpy as np
    >>> device = glassjax.devices()[0]
    >>> sharding = glassjax.sharding.SingleDeviceSharding(device)
    >>> part = glassjax.device_put(np.ones(2), device)
    >>> glassjax.make_array_from_single_device_arrays((2,), sharding, [part])
    Array([1., 1.], dtype=float32)
    """
    caller = "make_array_from_single_device_arrays"
    shape = _shape_of(caller, shape, sharding)
    if not isinstance(arrays, list | tuple):
        raise TypeError(
            f"{caller}: arrays must be a list of Arrays, found {shown(arrays)} of type "
            f"{type(arrays).__name__}"
        )
    numbers: dict[Any, int] = {}
    for number, x in enumerate(arrays):
        if not isinstance(x, array.Array) or isinstance(x, Tracer):
            raise TypeError(
                f"{caller}: arrays[{number}] must be an Array, found {shown(x)} of type "
                f"{type(x).__name__}; device_put(x, device) makes one of it"
            )
        devices = x.sharding.device_tuple
        if len(devices) > 1:
            raise ValueError(
                f"{caller}: arrays[{number}] must be on one device, and is on {len(devices)}; its "
                "parts are x.addressable_shards[...].data"
            )
        if devices[0] in numbers:
            raise ValueError(
                f"{caller}: arrays[{number}] and arrays[{numbers[devices[0]]}] are both on "
                f"{devices[0]}; each device has one part"
            )
        numbers[devices[0]] = number
    wanted = list(sharding.addressable_devices_indices_map(shape))
    if {*wanted} != {*numbers}:
        lacking = [each for each in wanted if each not in numbers]
        others = [each for each in numbers if each not in wanted]
        misfit = f"lacks those on {lacking}" if lacking else f"also has those on {others}"
        raise ValueError(
            f"{caller}: {sharding} has {counted(len(wanted), 'device')} in this process, each with "
            f"a part, and arrays {misfit}"
        )

    def name(number: int) -> str:
        return f"arrays[{numbers[wanted[number]]}]"

    parts = [arrays[numbers[device]] for device in wanted]
    aval = _whole_type(caller, shape, sharding, [x.aval for x in parts], name, dtype)
    return _from_parts(aval, sharding, parts)


@evaluated_by_library
def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Any = None
) -> array.Array:
    """An array for which each process supplies the data of its own devices.

    Along an axis that is sharded over processes, `local_data` has the parts of this process one
    after the other; along others, and where its size is that of the whole array, it has everything.

    Arguments:
        sharding: the devices, and how the array is sharded over them; or a pytree prefix.
        local_data: an array or number, or a pytree of these.
        global_shape: the shape of the whole array; for a pytree, a pytree of the same structure. By
            default each process has only the parts of its own devices.

    Returns:
        The array, or the pytree of arrays, committed to their devices.

    Raises:
        TypeError: an argument is of another type.
        ValueError: the sharding does not divide the array evenly; the size of an axis
            is neither the whole array's nor the parts' of this process.

    >>> import numpy as np
    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> sharding = glassjax.NamedSharding(mesh, glassjax.P("data"))
    >>> glassjax.make_array_from_process_local_data(sharding, np.arange(4.0))
    Array([0., 1., 2., 3.], dtype=float32)
    """
    caller = "make_array_from_process_local_data"
    shardings = shardings_for(caller, "sharding", sharding, local_data)
    leaves, treedef = tree_flatten(local_data)
    same = [None] * len(leaves)
    shapes = same if global_shape is None else treedef.flatten_up_to(global_shape)
    made = []
    for where, leaf, shape in zip(shardings, leaves, shapes, strict=True):
        if where is None:
            raise TypeError(f"{caller}: sharding must be a Sharding, found None")
        made.append(_from_local_data(caller, where, leaf, shape))
    return treedef.unflatten(made)


@evaluated_by_library
def join_local(x: Any, sharding: NamedSharding) -> array.Array:
    """The global array from `x`, this process's part or an Array of all of it.

    If `x` is on the devices of this process with the final sharding, it is not copied.
    """
    mesh = sharding.mesh
    assert isinstance(mesh, Mesh)
    if type(x) is array.Array and x.is_placed:
        local = sharding.update(mesh=mesh.local_mesh)
        if x.sharding.is_equivalent_to(local, x.ndim):
            return _seen_as(x, local, sharding)
    return _from_local_data("make_array_from_process_local_data", sharding, x, None)


def local_part(x: array.Array) -> array.Array:
    """The part of `x` with a `NamedSharding` on the devices of this process, without a copy."""
    if x.is_fully_addressable:
        return x
    sharding = x.sharding
    assert isinstance(sharding, NamedSharding)
    assert isinstance(sharding.mesh, Mesh)
    return _seen_as(x, sharding, sharding.update(mesh=sharding.mesh.local_mesh))


def _seen_as(x: array.Array, found: NamedSharding, wanted: NamedSharding) -> array.Array:
    """An array with or without other processes' parts, in the memory of `x`."""
    part = found.shard_shape(x.shape)
    shape = [size * count for size, count in zip(part, wanted.parts(x.ndim), strict=True)]
    aval = unsharded(x.aval).update(shape=tuple(shape))
    where = wanted.placement(x.ndim)
    buffer = xla.with_placement(x.buffer, device_type(aval), where)
    return array.array_at(buffer, type_at(aval, wanted))


def _from_local_data(caller: str, sharding: Sharding, local: Any, given: Any) -> array.Array:
    """The global array from the data of this process."""
    local = array.array(local)
    data, ndim = array.read_numbers(local), local.ndim
    here = [sharding.coordinates(ndim)[device] for device in _devices_here(caller, sharding)]
    # For each axis, the numbers of this process's parts.
    ours = [sorted({at[axis] for at in here}) for axis in range(ndim)]
    if given is None:
        shape = _shape_of_all(caller, sharding, data.shape)
    else:
        shape = _shape_of(caller, given, sharding)
    if len(shape) != ndim:
        raise ValueError(
            f"{caller}: global_shape {shape} has {len(shape)} axes, and local_data {ndim}"
        )
    sizes = sharding.shard_shape(shape)
    for axis, (size, whole, part) in enumerate(zip(data.shape, shape, sizes, strict=True)):
        if size not in (whole, part * len(ours[axis])):
            raise ValueError(
                f"{caller}: axis {axis} of local_data must have size {part * len(ours[axis])}, the "
                f"{counted(len(ours[axis]), 'part')} of {part} that this process has of an array "
                f"of shape {shape}, or {whole}, the size of the whole array, found {size}"
            )
    parts = []
    for at in here:
        index = []
        for axis, part in enumerate(sizes):
            has_all = data.shape[axis] == shape[axis]
            number = at[axis] if has_all else ours[axis].index(at[axis])
            index.append(slice(number * part, (number + 1) * part))
        parts.append(np.array(data[tuple(index)]))  # jaxlib takes none that share memory
    aval = ShapedArray(shape, local.dtype)
    buffer = xla.put_parts(device_type(aval), sharding.placement(ndim), parts, True)
    return array.array_at(buffer, type_at(aval, sharding))


def _devices_here(caller: str, sharding: Sharding) -> list[Any]:
    found = [each for each in sharding.device_tuple if each.process_index == xla.process_index()]
    if not found:
        raise ValueError(f"{caller}: {sharding} has no device of this process")
    return found


def _shape_of_all(caller: str, sharding: Sharding, local_shape: Shape) -> Shape:
    """The global shape, if each process has only its own parts."""
    numbers: dict[int, list[set[int]]] = {}  # by process, for each axis
    for device, at in sharding.coordinates(len(local_shape)).items():
        sets = numbers.setdefault(device.process_index, [set() for _ in at])
        for parts, number in zip(sets, at, strict=True):
            parts.add(number)
    shape: list[int] = []
    for axis, size in enumerate(local_shape):
        ours = numbers[xla.process_index()][axis]
        others = [sets[axis] for sets in numbers.values()]
        if any(len(each) != len(ours) or each & ours not in (ours, set()) for each in others):
            raise ValueError(
                f"{caller}: processes share some parts of axis {axis}, and not others, so "
                f"global_shape must be given, and local_data have all of this axis; {sharding}"
            )
        if size % len(ours):
            raise ValueError(
                f"{caller}: axis {axis} of local_data has "
                f"{counted(len(ours), 'part')} in this process, and its size {size} is not a "
                f"multiple of {len(ours)}"
            )
        shape.append(size // len(ours) * sharding.parts(len(local_shape))[axis])
    return tuple(shape)


def _shape_of(caller: str, shape: Any, sharding: Any) -> Shape:
    """`shape` as a tuple, if the sharding can divide it."""
    if not isinstance(sharding, Sharding):
        raise TypeError(
            f"{caller}: sharding must be a Sharding, found {shown(sharding)} of type "
            f"{type(sharding).__name__}"
        )
    if not isinstance(shape, list | tuple):
        raise TypeError(f"{caller}: shape must be a tuple of ints, found {shown(shape)}")
    found: Shape = tuple(shape)
    array.check_shape(caller, found)
    try:
        sharding.shard_shape(found)
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None
    return found


def _whole_type(
    caller: str,
    shape: Shape,
    sharding: Sharding,
    parts: Sequence[ShapedArray],
    name: Callable[[int], str],
    dtype: Any,
) -> ShapedArray:
    """The type of the array of parts of these types."""
    wanted = parts[0].dtype if dtype is None else dialect().dtype_of(caller, dtype)
    part_shape = sharding.shard_shape(shape)
    for number, aval in enumerate(parts):
        if aval.dtype != wanted:
            other = f"{name(0)} has" if dtype is None else "dtype says"
            found = f"{caller}: {name(number)} has dtype {aval.dtype}"
            raise ValueError(f"{found}, and {other} {wanted}")
        if aval.shape != part_shape:
            raise ValueError(
                f"{caller}: {name(number)} must have shape {part_shape}, the part of an array of "
                f"shape {shape}, found {aval.shape}"
            )
    return ShapedArray(shape, wanted)


def _to_device(x: Any, device: Any) -> array.Array:
    return array.put_array(x, x.aval, SingleDeviceSharding(device))


def _from_parts(aval: ShapedArray, sharding: Sharding, parts: Sequence[array.Array]) -> array.Array:
    held = [x.buffer for x in parts]
    where = sharding.placement(aval.ndim)
    return array.array_at(xla.join_parts(device_type(aval), where, held), type_at(aval, sharding))
