"""The one backend to jaxlib, and so to XLA: compile a program, move arrays in and out, execute.

No other room imports jaxlib, and this one asks little of it: a client, its devices, and four
verbs (`compile`, `put`, `Executable.execute`, `get`). Where versions of jaxlib differ, the
difference is found here by trying, never by comparing version numbers.

minijax and JAX share one jaxlib where a process uses both. So nothing of jaxlib is patched, no
process-wide state of it is set, and no entry point is called that itself imports `jax`, which
rules out some obvious ones, such as the `execute` of jaxlib's own executables.
"""

from minijax_stage3.backend.buffer import (
    block,
    buffer_device,
    dlpack_device,
    get,
    is_deleted,
    is_ready,
    nbytes,
    put,
    to_dlpack,
)
from minijax_stage3.backend.callbacks import CALL_TARGET, HostFunction, compile_calling
from minijax_stage3.backend.lapack import register_lapack
from minijax_stage3.backend.program import (
    Executable,
    compile,
    cost_analysis,
    deserialize,
    from_portable,
    to_portable,
)
from minijax_stage3.backend.xla_client import (
    Aval,
    Buffer,
    Client,
    Device,
    Options,
    client,
    default_device,
    device_class,
    devices,
    fingerprint,
    jaxlib_version,
    platform,
    pytree_registry,
    set_asynchronous,
    xla_flags,
)
from minijax_stage3.errors import CompileError, ExecutionError

__all__ = [
    "CALL_TARGET",
    "Aval",
    "Buffer",
    "Client",
    "CompileError",
    "Device",
    "Executable",
    "ExecutionError",
    "HostFunction",
    "Options",
    "block",
    "buffer_device",
    "client",
    "compile",
    "compile_calling",
    "cost_analysis",
    "default_device",
    "deserialize",
    "device_class",
    "devices",
    "dlpack_device",
    "fingerprint",
    "from_portable",
    "get",
    "is_deleted",
    "is_ready",
    "jaxlib_version",
    "nbytes",
    "platform",
    "put",
    "pytree_registry",
    "register_lapack",
    "set_asynchronous",
    "to_dlpack",
    "to_portable",
    "xla_flags",
]
