"""The only access to jaxlib, and so to XLA: compile programs, move arrays, execute.

No other module imports jaxlib, and this one needs little from it: a client, its device, and four
verbs (`compile`, `put`, `Executable.execute`, `get`). Differences between versions of jaxlib are
found here by trying, never by comparing version numbers.

minijax and JAX share one jaxlib if a process uses both. So this module does not patch jaxlib, does
not set its process-wide state, and does not call entry points that import `jax`, which rules out
some obvious ones, such as the `execute` of jaxlib's own executables.
"""

import ctypes
import importlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np

from minijax_stage3.errors import CompileError, ExecutionError, execution_error

Client: TypeAlias = Any
Device: TypeAlias = Any
Buffer: TypeAlias = Any  # an array on a device, as jaxlib holds it; used through this module only
Options: TypeAlias = Mapping[str, bool | int | float | str]  # XLA flags and their values


class Aval(Protocol):
    """A type as jaxlib sees it: any object with these three attributes."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def weak_type(self) -> bool: ...


def import_module(name: str) -> Any:
    """The module of jaxlib called `name`.

    An exception in the middle of its first import would end the process.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read once, as jaxlib is imported
    with interrupts_deferred():
        return importlib.import_module(name)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Defer SIGINT to the end of a block.

    Only the main thread is interrupted, and only if the signal handler is a Python function;
    otherwise there is nothing to do.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[Any] = []  # the frames in which the signal arrived
    signal.signal(signal.SIGINT, lambda _, frame: received.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(signal.SIGINT, received[0])


@dataclass(frozen=True)
class _Backend:
    """The client of jaxlib, and everything else made once per process."""

    jaxlib: Any
    client: Client
    device: Device
    device_list: Any
    sharding: Any
    xla_flags: str  # the environment's, as XLA read them
    flags: Options  # for all programs

    def compile_options(self, options: Options) -> Any:
        compile_options = self.jaxlib.CompileOptions()
        compile_options.num_replicas = compile_options.num_partitions = 1
        numbers = np.array([[self.device.id]], np.int32)
        compile_options.device_assignment = self.jaxlib.DeviceAssignment.create(numbers)
        flags = {**self.flags, **options}
        for name in ("optimization_level", "memory_fitting_level"):  # which are not flags
            if name in flags:
                setattr(compile_options.executable_build_options, name, flags.pop(name))
        compile_options.env_option_overrides = list(flags.items())
        return compile_options

    def result_handler(self, aval: Aval) -> Any:
        make = self.jaxlib.array_result_handler
        try:  # jaxlib before 0.11 calls into jax to check the result, unless told to skip that
            return make(aval, self.sharding, True, True)
        except TypeError:
            return make(aval, self.sharding, True)


_backend: _Backend | None = None
_client_options: dict[str, Any] = {"asynchronous": False}
_opening = threading.Lock()
_forked = False


def cpu_client(**options: Any) -> tuple[Client, Options]:
    """A client for the CPU, and XLA's flags for its programs.

    A synchronous client executes in the calling thread, though large operations use all cores. An
    asynchronous one has a queue, which lets Python run ahead, but makes small operations far
    slower.
    """
    return import_module("jaxlib.xla_client").make_cpu_client(**options), {}


# Functions that make the client; the last one is used.
client_makers: list[Callable[..., tuple[Client, Options]]] = [cpu_client]


def _open(**options: Any) -> _Backend:
    """Import jaxlib and make a client."""
    xla_flags = os.environ.get("XLA_FLAGS", "")
    jaxlib: Any = import_module("jaxlib._jax")
    xla_client = import_module("jaxlib.xla_client")
    client, flags = client_makers[-1](**options)
    device = client.local_devices()[0]
    device_list = xla_client.DeviceList((device,))
    whole = xla_client.HloSharding.replicate()

    class OnDevice(jaxlib.GSPMDSharding):  # type: ignore[misc]
        memory_kind = None
        device: Device

        def _to_xla_hlo_sharding(self, ndim: int) -> Any:
            return whole

        def __repr__(self) -> str:  # in messages of jaxlib
            return str(device)

    sharding = OnDevice(device_list, whole, memory_kind=None)
    sharding.device = device
    return _Backend(jaxlib, client, device, device_list, sharding, xla_flags, flags)


def get_backend() -> _Backend:
    global _backend
    if _backend is None:
        with _opening:
            if _forked:
                raise RuntimeError(
                    "XLA was in use when this process was forked, and does not work in the child: "
                    "start processes by `spawn` or `forkserver`, or fork before the first use"
                )
            if _backend is None:
                _backend = _open(**_client_options)
    return _backend


def platform() -> str:
    """The platform of the default device: "cpu", "cuda"."""
    return platform_of(get_backend().device)


def platform_of(device: Device) -> str:
    """The platform of a device; the devices of "cuda" and of "rocm" call themselves "gpu"."""
    client = device.client
    return str(getattr(client, "_raw_platform", client.platform))


def has_client() -> bool:
    """Return True if the client exists, so that its options are settled."""
    return _backend is not None


def client_options() -> dict[str, Any]:
    """The arguments of jaxlib's client for the CPU."""
    return dict(_client_options)


def set_client_option(name: str, value: Any) -> None:
    """Choose an argument of jaxlib's client, such as `asynchronous`.

    Raises:
        RuntimeError: a client with another value exists already.
    """
    with _opening:
        if _backend is not None and _client_options.get(name) != value:
            raise RuntimeError(
                f"computing has begun, with {name}={_client_options.get(name)!r}; choose before "
                "the first array"
            )
        _client_options[name] = value


def _after_fork_in_child() -> None:
    """Drop the client: XLA's threads stay in the parent, and waiting for them would hang."""
    global _backend, _forked, _opening
    _opening = threading.Lock()  # another thread of the parent may hold the old one
    if _backend is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_backend.client))  # never to be torn down
        _backend, _forked = None, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def put(x: Any, aval: Aval) -> Buffer:
    """Copy an array to the default device; the buffer never shares memory with `x`.

    `x` may have any strides and byte order, and is converted to `aval.dtype`, which keeps its 64
    bits. A shape other than that of `aval` raises ValueError, a dtype that XLA lacks RuntimeError.
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


def _copy_through_dlpack(buffer: Buffer) -> np.ndarray[Any, Any]:
    buffer.block_until_ready()
    capsule = get_backend().jaxlib.buffer_to_dlpack_managed_tensor(buffer, None)
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    capsule_pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    # The first field of the struct in the capsule is the address of the elements.
    address = ctypes.c_void_p.from_address(capsule_pointer(capsule, b"dltensor"))
    nbytes = buffer.on_device_size_in_bytes()
    elements = ctypes.string_at(address, nbytes) if nbytes else b""
    return np.ndarray(buffer.aval.shape, buffer.aval.dtype, buffer=elements)


class Executable:
    """A compiled program, loaded on the default device."""

    def __init__(self, loaded: Any, out_avals: Sequence[Aval]) -> None:
        self.loaded = loaded
        self.launch: Callable[[Sequence[Buffer]], Any] = loaded.execute_sharded
        self.handlers = list(map(get_backend().result_handler, out_avals))
        # Each launch keeps a traceback, which XLA frees no earlier than it is told to.
        self.collect_garbage: Callable[[], None] = get_backend().jaxlib.collect_garbage

    def execute(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """Run the program; any number of threads may.

        The caller is responsible for the types: XLA checks only the number of arguments and their
        sizes in bytes. A donated argument is deleted, unless something still views its memory: then
        XLA copies.

        Raises:
            ExecutionError: memory runs out, or an argument is deleted or does not fit.
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
        return execution_error(name, error, [bool(buffer.is_deleted()) for buffer in buffers])

    def hlo_text(self) -> str:
        """The program after XLA's optimization, in HLO notation."""
        return "\n".join(module.to_string() for module in self.loaded.hlo_modules())


def compile(
    text: str, out_avals: Sequence[Aval], options: Options = MappingProxyType({})
) -> Executable:
    """Compile a program for the default device.

    Arguments:
        text: a StableHLO module whose public function is `main`.
        out_avals: the type of each result, as the text declares them.
        options: XLA flags for this program alone, such as `{"xla_cpu_enable_fast_math": True}`.

    Raises:
        CompileError: XLA rejects the text or an option.
    """
    return Executable(load(text, text, options), out_avals)


def load(module: Any, text: str, options: Options, **given: Any) -> Any:
    """Compile a module, as text or otherwise; CompileError: XLA rejects it."""
    backend = get_backend()
    try:
        return backend.client.compile_and_load(
            module,
            executable_devices=backend.device_list,
            compile_options=backend.compile_options(options),
            **given,
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error
