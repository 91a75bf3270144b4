"""The one door to jaxlib, and so to XLA: compile a program, move arrays in and out, execute.

No other file imports jaxlib, and this one asks little of it: a client, its devices, and four
verbs (`compile`, `put`, `Executable.execute`, `get`). Where versions of jaxlib differ, the
difference is found here by trying, never by comparing version numbers.

minijax and JAX share one jaxlib where a process uses both. So nothing of jaxlib is patched, no
process-wide state of it is set, and no entry point is called that itself imports `jax`, which
rules out some obvious ones, such as the `execute` of jaxlib's own executables.

jaxlib is imported, and the client made, when they are first needed: tracing costs no XLA.
"""

import ctypes
import importlib
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
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
    """What jaxlib needs to know of an array: any object with these three attributes."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def weak_type(self) -> bool: ...


@dataclass(frozen=True)
class _Door:
    """What is made once per process."""

    jaxlib: Any
    client: Client
    device: Device
    device_list: Any
    sharding: Any
    xla_flags: str  # the environment's, as XLA read them

    def compile_options(self, options: "Options") -> Any:
        compile_options = self.jaxlib.CompileOptions()
        compile_options.num_replicas = compile_options.num_partitions = 1
        compile_options.env_option_overrides = list(options.items())
        return compile_options

    def result_handler(self, aval: Aval) -> Any:
        make = self.jaxlib.array_result_handler
        try:  # jaxlib before 0.11 calls into jax to check the result, unless told to skip that
            return make(aval, self.sharding, True, True)
        except TypeError:
            return make(aval, self.sharding, True)


_door: _Door | None = None
_asynchronous = False
_opening = threading.Lock()
_forked = False


def _import_jaxlib() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read once, as jaxlib is imported
    return importlib.import_module("jaxlib._jax")


def _open(asynchronous: bool = False) -> _Door:
    """Imports jaxlib and makes a client.

    A synchronous client executes in the calling thread, though large operations use all cores. In
    the queue of an asynchronous one, which lets Python run ahead, small ones take far longer.
    """
    xla_flags = os.environ.get("XLA_FLAGS", "")
    jaxlib: Any = _import_jaxlib()
    xla_client: Any = importlib.import_module("jaxlib.xla_client")
    client = xla_client.make_cpu_client(asynchronous=asynchronous)
    device = client.local_devices()[0]
    device_list = xla_client.DeviceList((device,))
    whole = xla_client.HloSharding.replicate()

    class OnDevice(jaxlib.GSPMDSharding):  # type: ignore[misc]
        memory_kind = None
        device: Device

        def _to_xla_hlo_sharding(self, ndim: int) -> Any:
            return whole

    sharding = OnDevice(device_list, whole, memory_kind=None)
    sharding.device = device
    return _Door(jaxlib, client, device, device_list, sharding, xla_flags)


def _get_door() -> _Door:
    global _door
    if _door is None:
        with _opening:
            if _forked:
                raise RuntimeError(
                    "XLA was in use when this process was forked, and does not work in the child: "
                    'start processes by "spawn" or "forkserver", or fork before the first use'
                )
            if _door is None:
                _door = _open(_asynchronous)
    return _door


def set_asynchronous(asynchronous: bool) -> None:
    """Chooses the kind of client, see `_open`. RuntimeError: there is one of the other kind."""
    global _asynchronous
    with _opening:
        if _door is not None and _asynchronous != asynchronous:
            kind = "asynchronously" if _asynchronous else "synchronously"
            raise RuntimeError(f"computing has begun, {kind}; choose before the first array")
        _asynchronous = asynchronous


def _after_fork_in_child() -> None:
    """Closes the door: the threads of XLA are in the parent, and waiting for them hangs."""
    global _door, _forked, _opening
    _opening = threading.Lock()  # another thread of the parent may hold the old one
    if _door is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_door.client))  # never to be torn down
        _door, _forked = None, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def jaxlib_version() -> str:
    return str(importlib.import_module("jaxlib.version").__version__)


def client() -> Client:
    return _get_door().client


def platform() -> str:
    return str(_get_door().client.platform)


def devices() -> list[Device]:
    return list(_get_door().client.local_devices())


def default_device() -> Device:
    return _get_door().device


def pytree_registry() -> Any:
    """A new registry of pytree nodes in C++, which knows None, tuples, lists, and dicts."""
    make = _import_jaxlib().pytree.PyTreeRegistry
    kinds = ("none", "tuple", "namedtuple", "list", "dict")
    return make(**{f"enable_{kind}": True for kind in kinds})


# The abilities of a processor as LLVM lists them: `+aes,-amx-fp16,+avx`, and so on.
_LIST_OF_ABILITIES = re.compile(rb"(?:[+-][\w.-]++,){16,}+[+-][\w.-]++")


def _without_avx512(match: re.Match[bytes]) -> bytes:
    """A list in which AVX-512 has the sign of an ability that is not used.

    jaxlib before 0.11 takes preferences that go with AVX-512 for abilities, misses them in the
    processor, and logs two long errors for every program that it loads. The list serves only
    this comparison, for the machine code is made; whether it suits, `fingerprint` says.
    """
    return match[0].replace(b"+avx512", b"-avx512").replace(b"+prefer-no-", b"-prefer-no-")


class Executable:
    """A compiled program, loaded on the default device."""

    def __init__(self, loaded: Any, out_avals: Sequence[Aval], handlers: Sequence[Any]) -> None:
        self.out_avals = tuple(out_avals)
        self._loaded = loaded
        self._launch: Callable[[Sequence[Buffer]], Any] = loaded.execute_sharded
        self._handlers = list(handlers)

    def execute(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """Runs the program; any number of threads may.

        The caller answers for the types: XLA compares only the number of arguments and their
        sizes in bytes. A donated argument is deleted, unless something still views its memory:
        then XLA copies.

        Raises:
            ExecutionError: memory does not suffice, an argument is deleted, or does not fit.
        """
        try:
            results: list[Buffer] = self._launch(buffers).consume_with_handlers(self._handlers)
        except RuntimeError as error:
            raise self.failure(buffers, error) from error
        return results

    def executor_of_one(
        self, make: Callable[[Buffer, Any], Any], aval: Any
    ) -> Callable[[Sequence[Buffer]], Any]:
        """`execute` for one result, given as `make(buffer, aval)`: a call does what it must."""
        launch, handlers = self._launch, self._handlers

        def execute(buffers: Sequence[Buffer]) -> Any:
            try:
                (result,) = launch(buffers).consume_with_handlers(handlers)
            except RuntimeError as error:
                raise self.failure(buffers, error) from error
            return make(result, aval)

        return execute

    def failure(self, buffers: Sequence[Buffer], error: RuntimeError) -> ExecutionError:
        """The error to raise where XLA raised `error`."""
        name = self._loaded.hlo_modules()[0].name.removeprefix("jit_")
        return execution_error(name, error, list(map(is_deleted, buffers)))

    def hlo_text(self) -> str:
        """The program after XLA's optimisation, in HLO notation."""
        return "\n".join(module.to_string() for module in self._loaded.hlo_modules())

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates for one execution: "flops", "bytes accessed", and finer ones."""
        return dict(self._loaded.cost_analysis())

    def memory_analysis(self) -> dict[str, int]:
        """Bytes needed by kind: arguments, results, their overlap, temporaries, code."""
        stats = self._loaded.get_compiled_memory_stats()
        names = (name for name in dir(stats) if name.endswith("_size_in_bytes"))
        return {name: getattr(stats, name) for name in names}

    def serialize(self) -> bytes:
        """The compiled program, for `deserialize` in a process of the same `fingerprint`.

        Raises:
            RuntimeError: XLA cannot write such a program down.
        """
        data: bytes = _get_door().client.serialize_executable(self._loaded)
        return _LIST_OF_ABILITIES.sub(_without_avx512, data)


_lapack = threading.Lock()
_has_lapack = False


def register_lapack() -> None:
    """Makes LAPACK's routines known to XLA, for programs that call them; at the first time only.

    They are scipy's, which jaxlib requires, and whose import takes longer than all the rest.
    Registering twice, as JAX may, does no harm.
    """
    global _has_lapack
    with _lapack:
        if not _has_lapack:
            register = importlib.import_module("jaxlib.xla_client").register_custom_call_target
            lapack: Any = importlib.import_module("jaxlib.lapack")
            for name, target, version in lapack.registrations()["cpu"]:
                register(name, target, platform="cpu", api_version=version)
            importlib.import_module("jaxlib.cpu._lapack").initialize()
            _has_lapack = True


def compile(
    text: str, out_avals: Sequence[Aval], options: Options = MappingProxyType({})
) -> Executable:
    """Compiles a program for the default device.

    Arguments:
        text: a StableHLO module whose public function is `main`.
        out_avals: the type of each result, as the text declares them.
        options: XLA flags for this program alone, such as `{"xla_cpu_enable_fast_math": True}`.

    Raises:
        CompileError: XLA does not accept the text or an option.
    """
    door = _get_door()
    if "@lapack_" in text:
        register_lapack()
    try:
        loaded = door.client.compile_and_load(
            text,
            executable_devices=door.device_list,
            compile_options=door.compile_options(options),
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error
    return Executable(loaded, out_avals, [door.result_handler(aval) for aval in out_avals])


def cost_analysis(text: str) -> dict[str, float]:
    """XLA's estimates for a StableHLO module as it is written, before any optimisation."""
    door = _get_door()
    module = door.jaxlib.mlir.mlir_module_to_xla_computation(text, False, False).get_hlo_module()
    return dict(door.jaxlib.hlo_module_cost_analysis(door.client, module))


def deserialize(
    data: bytes, out_avals: Sequence[Aval], options: Options = MappingProxyType({})
) -> Executable:
    """Loads a compiled program from what `Executable.serialize` gave.

    The data are machine code, which XLA trusts: whoever wrote them can do what this process can,
    and damaged data can end it.

    Arguments:
        data: what `serialize` gave, under the same `fingerprint`.
        out_avals, options: those with which the program was compiled.

    Raises:
        RuntimeError: XLA finds that these are no data of its own.
    """
    door = _get_door()
    loaded = door.client.deserialize_executable(
        data, door.device_list, door.compile_options(options)
    )
    return Executable(loaded, out_avals, [door.result_handler(aval) for aval in out_avals])


def fingerprint() -> tuple[str, ...]:
    """What jaxlib knows of itself and its devices, as far as compiled programs depend on it."""
    door = _get_door()
    topology = door.jaxlib.get_topology_for_devices([door.device])
    return (jaxlib_version(), str(door.client.platform_version), str(topology.fingerprint()))


def xla_flags() -> str:
    """What the environment variable XLA_FLAGS held when XLA read it."""
    return _get_door().xla_flags


def to_portable(text: str) -> bytes:
    """A StableHLO module in a form that later versions of XLA read, and somewhat older ones."""
    data: bytes = _get_door().jaxlib.mlir.serialize_portable_artifact(text, "1.10.0")
    return data


def from_portable(data: bytes) -> str:
    """The text of a module from what `to_portable` gave; RuntimeError if XLA cannot read it."""
    context = importlib.import_module("jaxlib.mlir.ir").Context()  # late, for it takes a while
    importlib.import_module("jaxlib.mlir.dialects.stablehlo").register_dialect(context)
    module = _get_door().jaxlib.mlir.deserialize_portable_artifact(data, context)
    return str(module.operation.get_asm(enable_debug_info=False))


def put(x: Any, aval: Aval) -> Buffer:
    """Copies an array to the default device; the buffer never shares memory with `x`.

    `x` may have any strides and byte order, and is converted to `aval.dtype`, of which 64 bits
    stay 64. Another shape than `aval` has is a ValueError, a dtype XLA lacks a RuntimeError.
    """
    door = _get_door()
    x = np.asarray(x, aval.dtype)
    if x.shape != aval.shape:
        raise ValueError(f"put: the array has shape {x.shape}, its type says {aval.shape}")
    return door.jaxlib.batched_device_put(
        aval, door.sharding, [x], [door.device], True, force_copy=True, enable_x64=True
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
    """Whether the buffer was donated to a program.

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
    export = _get_door().jaxlib.buffer_to_dlpack_managed_tensor
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
