"""Compiled programs: buffers, callbacks, serialization, compilation for absent devices."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from io import BytesIO
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from glassjax.settings.names import counted
from glassjax.settings.options import flags_of_results
from glassjax.xla import clients
from glassjax.xla.extensions import register_routines
from glassjax_stage2 import ShapedArray
from glassjax_stage3 import backend
from glassjax_stage3.backend import Buffer, Device, get_backend
from glassjax_stage3.errors import CompileError, ExecutionError

# Compiled programs that may delete their arguments.


class Executable(backend.Executable):
    """A compiled program; its errors name the missing argument of a failed call.

    A donated argument is deleted, unless something still views its memory: then XLA copies.
    """

    def failure(self, buffers: Sequence[Buffer], error: RuntimeError) -> ExecutionError:
        """The error to raise when XLA raised `error`."""
        deleted = [bool(buffer.is_deleted()) for buffer in buffers]
        if any(deleted):
            error = RuntimeError(
                f"of its {counted(len(deleted), 'argument')}, constants first, number "
                f"{deleted.index(True)} is gone: deleted, or donated to another call. Keep a copy "
                "if you need it later"
            )
        return super().failure(buffers, error)


# MLIR by jaxlib's bindings, imported late because that takes a while.


def bindings() -> Any:
    """The package of the bindings."""
    return clients.import_module("jaxlib.mlir")


def ir() -> Any:
    """The module of types, attributes, operations and contexts."""
    return clients.import_module("jaxlib.mlir.ir")


def dialect(name: str) -> Any:
    """The module of the operations of a dialect: "func", "stablehlo"."""
    return clients.import_module(f"jaxlib.mlir.dialects.{name}")


def mlir_context() -> Any:
    """A new MLIR context with XLA's dialects."""
    context = ir().Context()
    context.append_dialect_registry(dialects())
    for name in ("stablehlo", "chlo", "sdy"):
        dialect(name).register_dialect(context)
    context.load_all_available_dialects()
    return context


def dialects() -> Any:
    """MLIR's own dialects, for a context."""
    registry = ir().DialectRegistry()
    clients.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    return registry


@cache
def context_class() -> type:
    """The class of contexts, which start without dialects."""
    with_dialects = ir().Context

    class JaxIrContext(with_dialects):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any):
            # skips the constructor of `ir.Context`, which loads dialects
            super(with_dialects, self).__init__(*args, **kwargs)

    return JaxIrContext


def parsed(text: str) -> Any:
    """The module of a text."""
    with mlir_context():
        return ir().Module.parse(text)


# Buffers: waiting for them, and sharing them with other libraries.


def is_ready(buffer: Buffer) -> bool:
    return bool(buffer.is_ready())


def block_until_computed(buffer: Buffer) -> None:
    """Wait until the buffer is computed; RuntimeError if that failed, or the buffer is deleted."""
    buffer.block_until_ready()


def block_all(buffers: Sequence[Buffer]) -> None:
    """Wait until all buffers are computed; RuntimeError as from `block_until_computed`."""
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
    # the consumer reads the memory at once
    block_until_computed(buffer)
    export = get_backend().jaxlib.buffer_to_dlpack_managed_tensor
    if max_version is not None:
        try:
            return export(buffer, None, max_version=max_version)
        except TypeError:  # an older jaxlib makes only capsules of the old version
            pass
    return export(buffer, None)


def dlpack_device(buffer: Buffer) -> tuple[int, int]:
    """DLPack's code for the buffer's device: the type, 1 for a CPU, 2 for CUDA, and the number."""
    device = buffer_device(buffer)
    kind = clients.platform_of((device,))
    if kind not in _DLPACK_TYPES:
        raise BufferError(f"DLPack has no code for devices of the kind {kind!r}")
    return (_DLPACK_TYPES[kind], 0 if kind == "cpu" else int(device.local_hardware_id))


_DLPACK_TYPES = {"cpu": 1, "cuda": 2, "rocm": 10}
DLPACK_CPU = (1, 0)


def buffer_class() -> type:
    """The class of all buffers."""
    return get_backend().jaxlib.ArrayImpl


# Programs that call Python functions while they run.


HostFunction = Callable[..., tuple[Any, ...]]  # from numpy arrays to the results in the text


def call_target(platform: str) -> str:
    """The target of custom calls of Python functions on a platform."""
    return f"xla_ffi_python_{'cpu' if platform == 'cpu' else 'gpu'}_callback"


def calls_python(text: str) -> bool:
    """Return True if a program calls Python functions."""
    return "@xla_ffi_python_" in text


class Calling(Executable):
    """A compiled program that calls Python functions.

    It has finished when `execute` returns. So effects of one program precede the next one's, and
    no function is called from a thread that nothing waits for.
    """

    _raised: list[BaseException]  # by callbacks, not yet reported

    def execute(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """Run the program.

        Raises:
            ExecutionError: a callback raised an exception, which is the cause; or as for other
                programs.
        """
        for buffer in buffers:
            with suppress(RuntimeError):  # the launch raises a better error
                block_until_computed(buffer)
        try:
            results: list[Buffer] = self.launch(buffers).consume_with_handlers(self.handlers)
            for buffer in results:
                block_until_computed(buffer)
            self.collect_garbage()
            return results
        except RuntimeError as error:
            if not self._raised:
                raise self.failure(buffers, error) from error
        raise callback_error(self.loaded.hlo_modules()[0].name, self._raised.pop())


class CallingExecutable(Calling):
    """A program for the default device that calls Python functions."""

    def __init__(self, *parts: Any, raised: list[BaseException]) -> None:
        super().__init__(*parts)
        self._raised = raised


def load(module: Any, text: str, options: clients.Options, **given: Any) -> Any:
    """Compile a module, as text or otherwise; CompileError: XLA rejects it."""
    backend = get_backend()
    try:
        return backend.client.compile_and_load(
            module,
            executable_devices=backend.device_list,
            compile_options=clients.options_with(options),
            **given,
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error


def compile_calling(
    text: str,
    functions: Sequence[HostFunction],
    out_avals: Sequence[ShapedArray],
    options: clients.Options = MappingProxyType({}),
) -> Executable:
    """`compile` of a program that calls Python functions.

    Arguments:
        text: a StableHLO module; a custom call of `call_target` names a function by its number.
        functions: functions from numpy arrays to tuples of them, as declared in the text.
        out_avals, options: as in `compile`.

    Raises:
        CompileError: XLA rejects the text or an option.
    """
    raised: list[BaseException] = []
    # jaxlib does not accept a text together with functions.
    loaded = load(parsed(text), text, options, host_callbacks=remembering(functions, raised))
    return CallingExecutable(loaded, out_avals, raised=raised)


def deserialize_calling(
    data: bytes,
    functions: Sequence[HostFunction],
    out_avals: Sequence[ShapedArray],
    options: clients.Options,
) -> Executable:
    """Load a program of `compile_calling` from the result of `serialize`; see `deserialize`.

    Raises:
        RuntimeError: XLA does not recognize the data.
    """
    backend, raised = get_backend(), list[BaseException]()
    loaded = load_with_functions(
        backend.client, data, backend.device_list, clients.options_with(options),
        remembering(functions, raised),
    )  # fmt: skip
    return CallingExecutable(loaded, out_avals, raised=raised)


def load_with_functions(
    client: Any, data: bytes, devices: Any, options: Any, functions: Sequence[HostFunction]
) -> Any:
    """The program in `data`, which calls functions by their numbers."""
    try:
        return client.deserialize_executable(data, devices, options, host_callbacks=functions)
    except TypeError:
        raise RuntimeError("this version of jaxlib loads no programs that call Python") from None


def remembering(
    functions: Sequence[HostFunction], raised: list[BaseException]
) -> list[HostFunction]:
    """The functions, with their exceptions recorded, since XLA passes on only their texts."""
    return [_remembering(function, raised) for function in functions]


def _remembering(function: HostFunction, raised: list[BaseException]) -> HostFunction:
    def remembered(*args: Any) -> tuple[Any, ...]:
        try:
            return function(*args)
        except BaseException as error:
            raised.append(error)
            raise

    return remembered


def callback_error(module: str, cause: BaseException) -> BaseException:
    """The error for a program during which a Python function raised `cause`.

    Exceptions that are not errors, such as an interrupt, are passed on unchanged.
    """
    if not isinstance(cause, Exception):
        return cause
    from traceback import format_exception  # late: importing it takes milliseconds

    place = cause.__traceback__
    while place is not None and place.tb_next is not None and _is_machinery(place):
        place = place.tb_next
    lines = "".join(format_exception(type(cause), cause, place)).rstrip()
    name = module.removeprefix("jit_")
    error = ExecutionError(
        f"`{name}` failed while it ran: a function that it calls raised\n{lines}"
    )
    error.__cause__ = cause
    return error


def _is_machinery(place: TracebackType) -> bool:
    return bool(place.tb_frame.f_globals.get("__name__", "").startswith("glassjax"))


# Compiled programs: cost analysis and serialization.


# The features of a processor in LLVM's notation: `+aes,-amx-fp16,+avx`, and so on.
_LIST_OF_ABILITIES = re.compile(rb"(?:[+-][\w.-]++,){16,}+[+-][\w.-]++")


def _without_avx512(match: re.Match[bytes]) -> bytes:
    """A feature list in which AVX-512 is marked as not used.

    jaxlib before 0.11 mistakes preferences that go with AVX-512 for features, does not find them in
    the processor, and logs two long errors for every program that it loads. The list affects only
    this comparison, since the machine code exists already; `fingerprint` checks whether it suits.
    """
    return match[0].replace(b"+avx512", b"-avx512").replace(b"+prefer-no-", b"-prefer-no-")


def only_launches(executable: backend.Executable) -> bool:
    """Return True if its `execute` only launches a program."""
    return type(executable).execute is backend.Executable.execute


def executor_of_one(
    executable: backend.Executable, make: Callable[[Buffer, Any], Any], aval: Any
) -> Callable[[Sequence[Buffer]], Any]:
    """`execute` for one result, made by `make(buffer, aval)`, with the least work per call."""
    if not only_launches(executable):
        return lambda buffers: make(executable.execute(buffers)[0], aval)
    launch, handlers = executable.launch, executable.handlers
    collect_garbage = executable.collect_garbage

    def execute(buffers: Sequence[Buffer]) -> Any:
        try:
            (result,) = launch(buffers).consume_with_handlers(handlers)
        except RuntimeError as error:
            raise executable.failure(buffers, error) from error
        collect_garbage()
        return make(result, aval)

    return execute


def cost_analysis(program: backend.Executable | str) -> dict[str, float]:
    """XLA's estimates for one execution: "flops", "bytes accessed", and finer ones.

    For a StableHLO module they describe the text, before any optimization.
    """
    if not isinstance(program, str):
        return dict(program.loaded.cost_analysis())
    backend, module = get_backend(), xla_computation(program).get_hlo_module()
    return dict(backend.jaxlib.hlo_module_cost_analysis(backend.client, module))


def xla_computation(text: str) -> Any:
    """A StableHLO module as jaxlib's `XlaComputation`: HLO, not optimized."""
    return get_backend().jaxlib.mlir.mlir_module_to_xla_computation(text, False, False)


def memory_analysis(executable: backend.Executable) -> dict[str, int]:
    """Bytes needed by kind: arguments, results, their overlap, temporaries, code."""
    return _memory(executable.loaded)


def _memory(compiled: Any) -> dict[str, int]:
    stats = compiled.get_compiled_memory_stats()
    names = (name for name in dir(stats) if name.endswith("_size_in_bytes"))
    return {name: getattr(stats, name) for name in names}


def optimized_module(executable: backend.Executable) -> bytes:
    """The compiled program, in order of execution: a serialized `HloModuleProto`."""
    return _module(executable.loaded)


def _module(compiled: Any) -> bytes:
    data: bytes = compiled.hlo_modules()[0].as_serialized_hlo_module_proto()
    return data


def buffer_assignment(executable: backend.Executable) -> bytes:
    """The place of each buffer: a serialized `BufferAssignmentProto`, empty if XLA tells none."""
    stats = executable.loaded.get_compiled_memory_stats()
    return getattr(stats, "serialized_buffer_assignment_proto", None) or b""


def compile(
    text: str, out_avals: Sequence[ShapedArray], options: clients.Options = MappingProxyType({})
) -> backend.Executable:
    """Compile a program for the default device, as the stage does, with flags of XLA.

    Raises:
        CompileError: XLA rejects the text or an option.
    """
    return Executable(load(text, text, options), out_avals)


def serialize(executable: backend.Executable, with_functions: bool = False) -> bytes:
    """The compiled program, for `deserialize` in a process of the same `fingerprint`.

    Arguments:
        executable: the program.
        with_functions: whether it may call Python functions, which must be passed again later.

    Raises:
        RuntimeError: XLA cannot serialize the program, or it calls functions of this process.
    """
    if isinstance(executable, Calling) and not with_functions:
        raise RuntimeError("a program that calls functions of this process cannot leave it")
    data: bytes = executable.loaded.client.serialize_executable(executable.loaded)
    return _LIST_OF_ABILITIES.sub(_without_avx512, data)


def deserialize(
    data: bytes, out_avals: Sequence[ShapedArray], options: clients.Options = MappingProxyType({})
) -> backend.Executable:
    """Load a compiled program from the result of `serialize`.

    The data are machine code, which XLA trusts: their author can run code in this process, and
    damaged data can crash it.

    Arguments:
        data: the result of `serialize`, under the same `fingerprint`.
        out_avals, options: those with which the program was compiled.

    Raises:
        RuntimeError: XLA does not recognize the data.
    """
    backend = get_backend()
    loaded = backend.client.deserialize_executable(
        data, backend.device_list, clients.options_with(options)
    )
    return Executable(loaded, out_avals)


def to_portable(text: str) -> bytes:
    """A StableHLO module in a format for later, and somewhat older, versions of XLA."""
    has_shardings = "sdy." in text  # the format keeps this dialect unchanged
    serialize = get_backend().jaxlib.mlir.serialize_portable_artifact
    data: bytes = serialize(text, "1.10.0", has_shardings)
    return data


def from_portable(data: bytes) -> tuple[str, str]:
    """The text of a module from the result of `to_portable`, and the type of its `main`.

    Raises:
        RuntimeError: XLA cannot read the data.
        ValueError: the data has no `main`.
    """
    module = get_backend().jaxlib.mlir.deserialize_portable_artifact(data, mlir_context())
    for operation in module.body.operations:
        if (
            operation.operation.name == "func.func"
            and operation.attributes["sym_name"].value == "main"
        ):
            text: str = module.operation.get_asm(enable_debug_info=False)
            return text, str(operation.attributes["function_type"])
    raise ValueError("it has no `main`")


_FAILED_ASSERTION = re.compile(r"error: (.*)\n.*shape_assertion")


def refined(text: str) -> str:
    """The module of static shapes for a module whose `main` has static arguments.

    Raises:
        ValueError: an assertion about sizes fails, or a size does not follow from the arguments'.
    """
    module, data = parsed(text), BytesIO()
    module.operation.write_bytecode(data)
    refine = get_backend().jaxlib.mlir.refine_polymorphic_shapes
    try:
        found = refine(data.getvalue(), True, True, "sdy." in text)
    except (RuntimeError, ValueError) as error:
        failed = _FAILED_ASSERTION.search(str(error))
        if failed is not None:
            raise ValueError(failed[1]) from None
        raise ValueError(f"the sizes of the program cannot be derived: {error}") from None
    with mlir_context():
        static = ir().Module.parse(found)
    written: str = static.operation.get_asm(enable_debug_info=True, use_local_scope=True)
    return _UNKNOWN.sub("", written)


_UNKNOWN = re.compile(r' loc\((?:"-":\d+:\d+|unknown)\)')


# Compilation for absent devices, by their platform's plugin.


class Gpu(NamedTuple):
    """A GPU, as XLA's compiler needs to know it.

    Attributes:
        name: its name in the driver.
        capability: NVIDIA's compute capability, the major number.
        cores: the number of its multiprocessors.
        lanes: the number of 32-bit units in each of them.
        clock: their frequency, in GHz.
        memory: the bytes of its memory.
        bandwidth: the bytes per second that it reads from its memory.
        cache: the bytes of its L2 cache.
        shared: the bytes of memory that the threads of a multiprocessor share.
        shared_by_block: the bytes of shared memory that one block of threads may use.
    """

    name: str
    capability: int
    cores: int
    lanes: int
    clock: float
    memory: int
    bandwidth: int
    cache: int
    shared: int
    shared_by_block: int

    def described(self) -> str:
        """The description in the text format of XLA's protocol buffer `GpuTargetConfigProto`."""
        extension = "ACCELERATED_FEATURES" if self.capability >= 9 else "NONE"
        return f"""
            platform_name: "CUDA"
            device_description_str: "{self.name}"
            dnn_version_info {{ major: 9 minor: 10 }}
            gpu_device_info {{
              cuda_compute_capability {{ major: {self.capability} feature_extension: {extension} }}
              core_count: {self.cores}
              fpus_per_core: {self.lanes}
              clock_rate_ghz: {self.clock}
              device_memory_size: {self.memory}
              memory_bandwidth: {self.bandwidth}
              l2_cache_size: {self.cache}
              shared_memory_per_core: {self.shared}
              shared_memory_per_block_optin: {self.shared_by_block}
              {_COMMON_LIMITS}
            }}
        """


# Limits that these GPUs have in common.
_COMMON_LIMITS = """
    threads_per_warp: 32
    threads_per_block_limit: 1024
    threads_per_core_limit: 2048
    registers_per_core_limit: 65536
    registers_per_block_limit: 65536
    shared_memory_per_block: 49152
    thread_dim_limit_x: 1024
    thread_dim_limit_y: 1024
    thread_dim_limit_z: 64
    block_dim_limit_x: 2147483647
    block_dim_limit_y: 65535
    block_dim_limit_z: 65535
"""

_MIB = 2**20

# By their names for users: the SXM versions, as their drivers describe them.
GPUS = {
    "a100": Gpu(
        "NVIDIA A100-SXM4-80GB", 8, 108, 64, 1.41, 85_100_068_864, 2_039_040_000_000, 40 * _MIB,
        167_936, 166_912,
    ),
    "h100": Gpu(
        "NVIDIA H100 80GB HBM3", 9, 132, 128, 1.98, 84_942_979_072, 3_352_320_000_000, 50 * _MIB,
        233_472, 232_448,
    ),
    "h200": Gpu(
        "NVIDIA H200", 9, 132, 128, 1.98, 151_397_597_184, 4_800_000_000_000, 50 * _MIB,
        233_472, 232_448,
    ),
    "b200": Gpu(
        "NVIDIA B200", 10, 148, 128, 1.965, 191_514_411_008, 7_672_320_000_000, 132_644_864,
        233_472, 232_448,
    ),
}  # fmt: skip

_IN_A_MACHINE = 8  # GPUs, connected by NVLink


def compile_for_gpus(
    text: str, gpu: Gpu, count: int, options: Mapping[str, Any]
) -> tuple[bytes, dict[str, int]]:
    """Compile a program for a number of GPUs, which may be absent.

    Arguments:
        text: a StableHLO module, lowered for "cuda", with as many partitions.
        gpu: the kind of GPU.
        count: their number; each machine has eight.
        options: XLA flags.

    Returns:
        The compiled program, a serialized `HloModuleProto`, and the bytes of memory by kind.

    Raises:
        UnavailableError: the plugin is not installed.
        CompileError: XLA does not accept the text or an option.
    """
    xla_client = clients.import_module("jaxlib.xla_client")
    plugin = clients.load_plugin(clients.CUDA)
    register_routines(text, clients.CUDA)
    # As many as fit into a machine, with the same number in each.
    in_a_machine = max(n for n in range(1, _IN_A_MACHINE + 1) if count % n == 0)
    topology = xla_client.make_c_api_device_topology(
        plugin.api,
        "",
        target_config=gpu.described(),
        topology=f"1x{count // in_a_machine}x{in_a_machine}",
    )
    devices = topology._make_compile_only_devices()
    flags = {**plugin.flags, **flags_of_results(), **options}
    compile_options = xla_client.CompileOptions()
    compile_options.num_replicas, compile_options.num_partitions = 1, count
    build = compile_options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    numbers = np.array([[device.id for device in devices]], np.int32)
    compile_options.device_assignment = xla_client.DeviceAssignment.create(numbers)
    compile_options.env_option_overrides = list(flags.items())
    try:
        compiled = devices[0].client.compile(
            parsed(text), xla_client.DeviceList(tuple(devices)), compile_options
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error
    return _module(compiled), _memory(compiled)
