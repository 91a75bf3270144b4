"""Registration with XLA of functions that are compiled elsewhere."""

import ctypes
from pathlib import Path
from typing import Any

from minijax.xla.importing import import_module


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Register a foreign function, which `ffi_call` then calls by its name.

    Arguments:
        name: the name, once in a process.
        fn: a capsule with the address of the function, as `pycapsule` makes; or a dict of
            capsules, one for each stage of a call: "instantiate", "prepare", "initialize",
            "execute".
        platform: the platform that it is for, "cpu" or "CUDA".
        api_version: 1 for a handler of XLA's typed interface, which the headers in `include_dir()`
            describe; 0 for a function of the interface before it.
        kwargs: `traits`, flags of jaxlib's.

    Raises:
        jaxlib's `XlaRuntimeError`: `fn` is something else, or the name is taken.
    """
    register = import_module("jaxlib.xla_client").register_custom_call_target
    register(name, fn, platform, api_version, **kwargs)


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Register a type of the state that handlers keep from one stage of a call to the next.

    Register it before the handlers that use it, and after the platform was first used, as by
    `minijax.devices()`: what is registered before that waits, functions first.

    Arguments:
        name: the name, once in a process.
        type_registration: a dict with the capsule of its `XLA_FFI_TypeId` as "type_id", and that of
            its `XLA_FFI_TypeInfo` as "type_info".
        platform: the platform that it is for.
    """
    register = import_module("jaxlib.xla_client").register_custom_type
    register(name, type_registration, platform=platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Raise an error, as in JAX: a type is registered by `register_ffi_type`.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        f"register_ffi_type_id: jaxlib registers the id of the type {name!r} only together with "
        "the type: register_ffi_type(name, {'type_id': ..., 'type_info': ...})"
    )


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Let XLA divide calls of a foreign function along leading axes among devices.

    Arguments:
        name: the name of the function, which treats elements along these axes one by one.
    """
    import_module("jaxlib.xla_client").register_custom_call_as_batch_partitionable(name)


def pycapsule(funcptr: Any) -> Any:
    """A capsule, for `register_ffi_target`, with the address of a function.

    Arguments:
        funcptr: the function, of a library that ctypes loaded, or an address.

    >>> import ctypes
    >>> type(pycapsule(ctypes.CDLL(None).abs)).__name__
    'PyCapsule'
    """
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(("PyCapsule_New", ctypes.pythonapi))(funcptr, None, None)


def include_dir() -> str:
    """The directory of the C++ headers that jaxlib brings, `xla/ffi/api/ffi.h` among them."""
    return str(Path(import_module("jaxlib").__file__).parent / "include")


__all__ = [
    "include_dir", "pycapsule", "register_ffi_target",
    "register_ffi_target_as_batch_partitionable", "register_ffi_type", "register_ffi_type_id",
]  # fmt: skip
