"""Sharing of arrays through DLPack, under the names of `jax.dlpack`."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from glassjax.errors.arguments import require_fit
from glassjax.runtime.array import Array, array, put_to
from glassjax.runtime.devices import default_backend, local_devices
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import parse_dtype
from glassjax.shardings.sharding import as_sharding
from glassjax_stage2.errors import shown

# Sharing of arrays with other libraries through DLPack, the protocol for arrays in memory.
#
# Our arrays are exported by `Array.__dlpack__`, without a copy. Imported arrays are copied, since
# the owner of the memory may write to it. From a GPU they are copied through the host: jaxlib's
# import from a GPU's memory needs JAX itself.


class _Tensor(ctypes.Structure):
    """DLTensor, the protocol's description of an array."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


# Codes of the protocol.
_CPU = 1
_CUDA = 2
_BFLOAT16 = 4


_SUPPORTED = frozenset(
    map(
        np.dtype,
        [
            *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
            *("float16", "float32", "float64", "complex64", "complex128", ml_dtypes.bfloat16),
        ],
    )
)


def is_supported_dtype(dtype: Any) -> bool:
    """Return True if DLPack can transfer arrays of a dtype.

    Raises:
        TypeError: `dtype` is not a dtype.

    >>> is_supported_dtype("float32"), is_supported_dtype("float8_e4m3fn")
    (True, False)
    """
    return parse_dtype("is_supported_dtype", dtype) in _SUPPORTED


@evaluated_by_library
def from_dlpack(external_array: Any, *, device: Any = None, copy: bool | None = None) -> Array:
    """An Array of the numbers of another library's array.

    Arguments:
        external_array: an array that supports DLPack, with `__dlpack__` and `__dlpack_device__`, in
            the memory of a CPU, or of another device if its library copies it to a CPU's.
        device: the device of the result, one of `glassjax.devices()`. By default the GPU that holds
            the array, or else the default device.
        copy: False, which would share memory, is an error.

    Raises:
        TypeError: `external_array` does not support DLPack, or there is no such device.
        BufferError: its library does not copy it to the CPU's memory, or it has a dtype that numpy
            does not support.
        ValueError: `copy` is False.

    >>> from_dlpack(np.arange(3, dtype=np.int8))
    Array([0, 1, 2], dtype=int8)
    """
    if not hasattr(external_array, "__dlpack__") or not hasattr(
        external_array, "__dlpack_device__"
    ):
        raise TypeError(
            "from_dlpack: expected an array with the methods __dlpack__ and __dlpack_device__, "
            f"found {shown(external_array)}"
        )
    if copy is False:
        raise ValueError("from_dlpack: an Array never shares the memory of others, so it is a copy")
    if copy is not None:
        require_fit("from_dlpack", "copy", copy, bool)
    device_type, number = external_array.__dlpack_device__()
    if device_type == _CPU:
        values = _host_numbers(external_array)
    else:
        values = _host_numbers(_OnTheCPU(external_array, int(device_type)))
        if device is None and device_type == _CUDA and default_backend() == "gpu":
            gpus = local_devices(backend="gpu")
            device = next((gpu for gpu in gpus if gpu.local_hardware_id == number), None)
    return put_to(array(values), as_sharding("from_dlpack", "device", device))


class _OnTheCPU:
    """Another library's array, copied by that library from its device to the CPU's memory."""

    def __init__(self, external_array: Any, device_type: int) -> None:
        self.external_array = external_array
        self.device_type = device_type

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CPU, 0)

    def __dlpack__(self, **options: Any) -> Any:
        options |= {"dl_device": (_CPU, 0), "copy": True}
        try:
            return self.external_array.__dlpack__(**options)
        except TypeError:  # from an older version of the protocol
            raise BufferError(
                f"the array is on a device of DLPack's type {self.device_type}, and its library "
                "cannot copy it to the CPU; bring it there first"
            ) from None


def _host_numbers(external_array: Any) -> Any:
    try:
        return np.from_dlpack(external_array)
    except (BufferError, RuntimeError) as error:  # numpy has no bfloat16
        try:
            capsule = external_array.__dlpack__()
        except BufferError:
            raise BufferError(f"from_dlpack: {error}") from None
        tensor = _tensor_of(capsule)
        if (tensor.code, tensor.bits, tensor.lanes) != (_BFLOAT16, 16, 1):
            raise BufferError(f"from_dlpack: {error}") from None
        return _copy_of(tensor, np.dtype(ml_dtypes.bfloat16))


def _tensor_of(capsule: Any) -> _Tensor:
    """Return the tensor in a capsule, valid as long as the capsule."""
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    get_pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    return _Tensor.from_address(get_pointer(capsule, b"dltensor"))


def _copy_of(tensor: _Tensor, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    shape = tuple(tensor.shape[: tensor.ndim])
    if 0 in shape:
        return np.zeros(shape, dtype)
    strides = None
    extent = int(np.prod(shape, dtype=np.int64))
    if tensor.strides:
        strides = tuple(n * dtype.itemsize for n in tensor.strides[: tensor.ndim])
        extent = 1 + sum((n - 1) * step for n, step in zip(shape, tensor.strides, strict=False))
    start = tensor.data + tensor.byte_offset
    memory = (ctypes.c_char * (extent * dtype.itemsize)).from_address(start)
    return np.ndarray(shape, dtype, memoryview(memory).cast("B"), strides=strides).copy()


__all__ = ["from_dlpack", "is_supported_dtype"]
list_public_names(globals())
