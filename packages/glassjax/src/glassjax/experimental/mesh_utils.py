"""Arrays of devices for meshes (`jax.experimental.mesh_utils`)."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax import xla
from glassjax.settings.names import counted
from glassjax.shardings.mesh import Device
from glassjax_stage2.errors import shown

Devices = np.ndarray[Any, Any]

# By device kind, `handler(mesh_shape, devices, contiguous_submeshes=)` that arranges the devices,
# or returns None to keep the given order. CPUs and GPUs have none.
device_kind_handler_dict: dict[str, Callable[..., Devices | None]] = {}


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> Devices:
    """The devices in an array, for a `Mesh`; neighbors differ in the last axis.

    Arguments:
        mesh_shape: the shape of the array.
        devices: the devices; all of `glassjax.devices()` if not given.
        contiguous_submeshes: passed to the handler of `device_kind_handler_dict` for the kind of
            the devices; otherwise ignored: it concerns TPUs.
        allow_split_physical_axes: ignored: it is about TPUs.

    Raises:
        ValueError: the number of devices is not the number of places in the array.
        TypeError: `mesh_shape` holds something other than ints.

    >>> devices = create_device_mesh((1, 1), glassjax.devices()[:1])
    >>> glassjax.sharding.Mesh(devices, ("data", "model")).shape_tuple
    (('data', 1), ('model', 1))
    """
    shape = _shape("create_device_mesh", "mesh_shape", mesh_shape)
    devices = xla.devices() if devices is None else list(devices)
    if math.prod(shape) != len(devices):
        raise ValueError(
            f"create_device_mesh: mesh_shape {shape} needs {math.prod(shape)}, and there "
            f"{'is' if len(devices) == 1 else 'are'} {counted(len(devices), 'device')}. "
            "Give as many as it needs as `devices`."
        )
    handler = device_kind_handler_dict.get(devices[-1].device_kind) if devices else None
    found = handler and handler(shape, devices, contiguous_submeshes=contiguous_submeshes)
    return _array(devices).reshape(shape) if found is None else found


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> Devices:
    """The devices of several granules in an array, for a `Mesh`.

    A granule is a group of devices with a fast network among them; a slower network connects the
    granules. Along each axis of the array, the granule varies slowest.

    Arguments:
        mesh_shape: the shape of the array of devices of one granule.
        dcn_mesh_shape: the shape of the array of granules, of as many axes.
        devices: the devices; all of `glassjax.devices()` if not given.
        process_is_granule: whether the devices of a process are a granule; otherwise devices with
            the same `slice_index` are.
        should_sort_granules_by_key: whether granules are ordered by number, or by first occurrence
            in `devices`.
        allow_split_physical_axes: ignored: it is about TPUs.

    Returns:
        An array whose shape is the product of both, axis by axis.

    Raises:
        ValueError: the number of granules, or of the devices in one, does not fit its shape;
            devices have no `slice_index`; the numbers of axes differ.

    >>> create_hybrid_device_mesh(
    ...     (1, 1), (1, 1), glassjax.devices()[:1], process_is_granule=True
    ... ).shape
    (1, 1)
    """
    caller = "create_hybrid_device_mesh"
    shape = _shape(caller, "mesh_shape", mesh_shape)
    outer = _shape(caller, "dcn_mesh_shape", dcn_mesh_shape)
    if len(shape) != len(outer):
        raise ValueError(
            f"{caller}: mesh_shape {shape} and dcn_mesh_shape {outer} must have as many axes"
        )
    devices = xla.devices() if devices is None else list(devices)
    attribute = "process_index" if process_is_granule else "slice_index"
    granules: dict[int, list[Device]] = {}
    for device in devices:
        key = getattr(device, attribute, None)
        if key is None:
            raise ValueError(
                f"{caller}: {device} has no slice_index; process_is_granule=True takes the "
                "devices of each process together"
            )
        granules.setdefault(key, []).append(device)
    if math.prod(outer) != len(granules):
        raise ValueError(
            f"{caller}: dcn_mesh_shape {outer} needs {counted(math.prod(outer), 'granule')}, and "
            f"by {attribute} the devices make {len(granules)}"
        )
    keys = sorted(granules) if should_sort_granules_by_key else list(granules)
    blocks = _array(
        [
            device
            for key in keys
            for device in create_device_mesh(
                shape, granules[key], allow_split_physical_axes=allow_split_physical_axes
            ).flat
        ]
    ).reshape(outer + shape)
    ndim = len(shape)
    axes = [axis for pair in zip(range(ndim), range(ndim, 2 * ndim), strict=True) for axis in pair]
    return blocks.transpose(axes).reshape([a * b for a, b in zip(outer, shape, strict=True)])


def _shape(caller: str, role: str, given: Any) -> tuple[int, ...]:
    shape: tuple[Any, ...] = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not isinstance(given, list | tuple) or not all(
        isinstance(n, int | np.integer) for n in shape
    ):
        raise TypeError(f"{caller}: {role} must be a tuple of ints, found {shown(given)}")
    return tuple(map(int, shape))


def _array(devices: Sequence[Device]) -> Devices:
    """A vector of devices, made so that numpy does not inspect them."""
    found = np.empty(len(devices), dtype=object)
    found[:] = devices
    return found


__all__ = ["create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"]
