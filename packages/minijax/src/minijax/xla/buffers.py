"""Buffers: waiting for them, and sharing them with other libraries."""

from collections.abc import Sequence
from typing import Any

from minijax.xla.client import platform_of
from minijax_stage3.backend import Buffer, Device, get_backend


def is_ready(buffer: Buffer) -> bool:
    return bool(buffer.is_ready())


def block(buffer: Buffer) -> None:
    """Wait until the buffer is computed; RuntimeError if that failed, or the buffer is deleted."""
    buffer.block_until_ready()


def block_all(buffers: Sequence[Buffer]) -> None:
    """Wait until all buffers are computed; RuntimeError as from `block`."""
    get_backend().jaxlib.batched_block_until_ready(buffers)


def is_deleted(buffer: Buffer) -> bool:
    """Return True if the buffer was donated to a program.

    To free a buffer, drop it: jaxlib's `delete` would let a later consumer of `to_dlpack`
    abort the process, so it is not offered.
    """
    return bool(buffer.is_deleted())


def buffer_device(buffer: Buffer) -> Device:
    return buffer._sharding.device


def nbytes(buffer: Buffer) -> int:
    return int(buffer.on_device_size_in_bytes())


def to_dlpack(buffer: Buffer, max_version: tuple[int, int] | None = None) -> Any:
    """A DLPack capsule that shares the buffer's memory, for `__dlpack__`. Consumers must not write.

    `max_version` is the newest DLPack version that the consumer supports; None means one before
    1.0.
    """
    block(buffer)
    export = get_backend().jaxlib.buffer_to_dlpack_managed_tensor
    if max_version is not None:
        try:
            return export(buffer, None, max_version=max_version)
        except TypeError:  # an older jaxlib knows only capsules that every consumer takes
            pass
    return export(buffer, None)


def dlpack_device(buffer: Buffer) -> tuple[int, int]:
    """DLPack's code for the buffer's device: the type, 1 for a CPU, 2 for CUDA, and the number."""
    device = buffer._sharding.device
    kind = platform_of((device,))
    if kind not in _DLPACK_TYPES:
        raise BufferError(f"DLPack has no code for devices of the kind {kind!r}")
    return (_DLPACK_TYPES[kind], 0 if kind == "cpu" else int(device.local_hardware_id))


_DLPACK_TYPES = {"cpu": 1, "cuda": 2, "rocm": 10}


def buffer_class() -> type:
    """The class of all buffers."""
    return get_backend().jaxlib.ArrayImpl
