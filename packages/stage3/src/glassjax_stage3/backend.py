"""The only access to jaxlib, and so to XLA: compile programs, move arrays, execute.

No other module imports jaxlib, and this one needs little from it: a client, its device, and four
verbs (`compile`, `put`, `Executable.execute`, `get`). Differences between versions of jaxlib are
detected by trying, never by comparing version numbers.

glassjax and JAX share one jaxlib if a process uses both. So this module does not patch jaxlib, does
not set its process-wide state, and does not call entry points that import `jax`, which rules out
some obvious ones, such as the `execute` of jaxlib's own executables.
"""

import ctypes
import importlib
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from glassjax_stage2 import ShapedArray
from glassjax_stage3.errors import CompileError, ExecutionError

Client: TypeAlias = Any
Device: TypeAlias = Any
Buffer: TypeAlias = Any  # jaxlib's array on a device; used only through this module


def import_module(name: str) -> Any:
    """The module of jaxlib called `name`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read once, when jaxlib is imported
    return importlib.import_module(name)


@dataclass(frozen=True)
class _Backend:
    """The client of jaxlib, and everything else made once per process."""

    jaxlib: Any
    client: Client
    device: Device
    device_list: Any
    sharding: Any

    def result_handler(self, aval: ShapedArray) -> Any:
        make = self.jaxlib.array_result_handler
        try:  # jaxlib before 0.11 calls into jax to check the result, unless told to skip that
            return make(aval, self.sharding, True, True)
        except TypeError:
            return make(aval, self.sharding, True)


def cpu_client() -> Client:
    """A client for the CPU, which executes in the calling thread; large operations use all cores.

    An asynchronous one has a queue, which lets Python run ahead, but makes small operations far
    slower.
    """
    return import_module("jaxlib.xla_client").make_cpu_client(asynchronous=False)


_backend: _Backend | None = None
_make_client: Callable[[], Client] = cpu_client
_opening = threading.Lock()


def choose_client(make: Callable[[], Client]) -> None:
    """Let `make` open the client of this process, instead of `cpu_client`.

    Raises:
        RuntimeError: a client has been chosen or opened already.
    """
    global _make_client
    with _opening:
        if has_client() or _make_client is not cpu_client:
            raise RuntimeError("choose_client: XLA's client is chosen once, before its first use")
        _make_client = make


def has_client() -> bool:
    """Return True if the client is open."""
    return _backend is not None


def forget_client() -> None:
    """Return to the state before the first use, as in the child of a fork."""
    global _backend, _make_client, _opening
    _backend, _make_client = None, cpu_client
    _opening = threading.Lock()  # another thread of the parent may hold the old one


def get_backend() -> _Backend:
    """Return the objects that are made once per process, at the first use."""
    global _backend
    if _backend is None:
        with _opening:
            if _backend is None:
                _backend = _open(_make_client())
    return _backend


def _open(client: Client) -> _Backend:
    jaxlib: Any = import_module("jaxlib._jax")
    xla_client = import_module("jaxlib.xla_client")
    device = client.local_devices()[0]
    device_list = xla_client.DeviceList((device,))
    whole = xla_client.HloSharding.replicate()

    class OnDevice(jaxlib.GSPMDSharding):  # type: ignore[misc]
        memory_kind = None

        def _to_xla_hlo_sharding(self, ndim: int) -> Any:
            return whole

    sharding: Any = OnDevice(device_list, whole, memory_kind=None)
    sharding.device = device
    return _Backend(jaxlib, client, device, device_list, sharding)


def put(x: Any, aval: ShapedArray) -> Buffer:
    """Copy an array to the default device; the buffer never shares memory with `x`.

    `x` may have any strides and byte order, and is converted to `aval.dtype`, which keeps its 64
    bits. A shape other than `aval.shape` raises ValueError, a dtype that XLA lacks RuntimeError.
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
    try:  # jaxlib before 0.11.2
        return np.asarray(memoryview(buffer))
    except BufferError:  # dtypes that the buffer protocol has no letter for, such as bfloat16
        buffer.block_until_ready()
        address, nbytes = buffer.unsafe_buffer_pointer(), buffer.on_device_size_in_bytes()
        elements = np.frombuffer(ctypes.string_at(address, nbytes) if nbytes else b"", np.uint8)
        shape, dtype = buffer.aval.shape, buffer.aval.dtype
        bits = int(re.findall(r"\d+", dtype.name)[0])
        if bits < 8:  # several in each byte, the first in its lowest bits
            elements = elements[:, None] >> np.arange(0, 8, bits, dtype=np.uint8) & (2**bits - 1)
        return np.ndarray(shape, dtype, buffer=elements.tobytes())


class Executable:
    """A compiled program, loaded on the default device."""

    def __init__(self, loaded: Any, out_avals: Sequence[ShapedArray]) -> None:
        self.loaded = loaded
        self.launch: Callable[[Sequence[Buffer]], Any] = loaded.execute_sharded
        self.handlers = list(map(get_backend().result_handler, out_avals))
        # Each launch stores a traceback, which XLA frees only on request.
        self.collect_garbage: Callable[[], None] = get_backend().jaxlib.collect_garbage

    def execute(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """Run the program; any number of threads may.

        The caller is responsible for the types: XLA checks only the number of arguments and their
        sizes in bytes.

        Raises:
            ExecutionError: memory runs out, or an argument does not fit.
        """
        try:
            results: list[Buffer] = self.launch(buffers).consume_with_handlers(self.handlers)
        except RuntimeError as error:
            raise self.failure(buffers, error) from error
        self.collect_garbage()
        return results

    def failure(self, buffers: Sequence[Buffer], error: RuntimeError) -> ExecutionError:
        """The error to raise when XLA raised `error`."""
        name = self.loaded.hlo_modules()[0].name.removeprefix("jit_")
        return ExecutionError(f"`{name}` failed while it ran: {error}")

    def hlo_text(self) -> str:
        """The program after XLA's optimization, in HLO notation."""
        return "\n".join(module.to_string() for module in self.loaded.hlo_modules())


def compile(text: str, out_avals: Sequence[ShapedArray]) -> Executable:
    """Compile a program for the default device.

    Arguments:
        text: a StableHLO module whose public function is `main`.
        out_avals: the type of each result, as the text declares them.

    Raises:
        CompileError: XLA rejects the text.
    """
    backend = get_backend()
    try:
        loaded = backend.client.compile_and_load(
            text,
            executable_devices=backend.device_list,
            compile_options=backend.jaxlib.CompileOptions(),
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error
    return Executable(loaded, out_avals)
