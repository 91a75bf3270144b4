"""Calls of foreign functions, under the names of `jax.ffi`.

A foreign function is compiled elsewhere, from C++ for example, against the headers in
`include_dir()`. It is registered by a name, and programs call it by that name.
"""

from minijax.callbacks.ffi_call import ffi_call
from minijax.interpreters.ffi_lowering import build_ffi_lowering_function, ffi_lowering
from minijax.runtime.tokens import abstract_token
from minijax.xla.foreign_functions import (
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type,
    register_ffi_type_id,
)

__all__ = [
    "abstract_token", "build_ffi_lowering_function", "ffi_call", "ffi_lowering", "include_dir",
    "pycapsule",
    "register_ffi_target", "register_ffi_target_as_batch_partitionable", "register_ffi_type",
    "register_ffi_type_id",
]  # fmt: skip
