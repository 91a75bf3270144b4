"""Buffers: arrays on the device, put there and got back, waited for, and shared."""

import ctypes
from typing import Any

import numpy as np

from minijax_stage3.backend.xla_client import Aval, Buffer, Device, get_backend


def put(x: Any, aval: Aval) -> Buffer:
    """Copies an array to the default device; the buffer never shares memory with `x`.

    `x` may have any strides and byte order, and is converted to `aval.dtype`, of which 64 bits
    stay 64. Another shape than `aval` has is a ValueError, a dtype XLA lacks a RuntimeError.
    """
    backend = get_backend()
    x = np.asarray(x, aval.dtype)
    if x.shape != aval.shape:
        raise ValueError(f"put: the array has shape {x.shape}, its type says {aval.shape}")
    return backend.jaxlib.batched_device_put(
        aval, backend.sharding, [x], [backend.device], True, force_copy=True, enable_x64=True
    )


def get(buffer: Buffer) -> np.ndarray[Any, Any]:
    """The array on the host, read-only. Waits until it is computed.

    On a CPU it is a view, which keeps the buffer's memory alive.
    """
    read = getattr(buffer, "_to_np_array_did_copy", None)
    if read is not None:
        array: np.ndarray[Any, Any] = read()[0]
        array.flags.writeable = False
        return array
    try:
        return np.asarray(memoryview(buffer))
    except BufferError:  # dtypes that the buffer protocol has no letter for, such as bfloat16
        return _copy_through_dlpack(buffer)


def is_ready(buffer: Buffer) -> bool:
    return bool(buffer.is_ready())


def block(buffer: Buffer) -> None:
    """Waits until the buffer is computed; RuntimeError if that failed, or the buffer is deleted."""
    buffer.block_until_ready()


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

    `max_version` is the newest DLPack version that the consumer knows, None one before 1.0.
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
    """DLPack's code of the buffer's device: the type, 1 for a CPU, and the number."""
    return (1, 0)


def _copy_through_dlpack(buffer: Buffer) -> np.ndarray[Any, Any]:
    capsule = to_dlpack(buffer)
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    capsule_pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    # The first field of the struct in the capsule is the address of the elements.
    address = ctypes.c_void_p.from_address(capsule_pointer(capsule, b"dltensor"))
    elements = ctypes.string_at(address, nbytes(buffer)) if nbytes(buffer) else b""
    return np.ndarray(buffer.aval.shape, buffer.aval.dtype, buffer=elements)
