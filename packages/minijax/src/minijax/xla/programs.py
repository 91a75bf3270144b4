"""Compiled programs: cost analysis and serialization."""

import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from minijax.xla import executables
from minijax.xla.callbacks import Calling, load
from minijax.xla.compile_options import Options, options_with
from minijax.xla.mlir import mlir_context
from minijax_stage2 import ShapedArray
from minijax_stage3.backend import Buffer, Executable, get_backend

# The abilities of a processor as LLVM lists them: `+aes,-amx-fp16,+avx`, and so on.
_LIST_OF_ABILITIES = re.compile(rb"(?:[+-][\w.-]++,){16,}+[+-][\w.-]++")


def _without_avx512(match: re.Match[bytes]) -> bytes:
    """A feature list in which AVX-512 is marked as not used.

    jaxlib before 0.11 mistakes preferences that go with AVX-512 for features, does not find them in
    the processor, and logs two long errors for every program that it loads. The list affects only
    this comparison, since the machine code exists already; `fingerprint` checks whether it suits.
    """
    return match[0].replace(b"+avx512", b"-avx512").replace(b"+prefer-no-", b"-prefer-no-")


def only_launches(executable: Executable) -> bool:
    """Return True if its `execute` does nothing but launch a program."""
    return type(executable).execute is Executable.execute


def executor_of_one(
    executable: Executable, make: Callable[[Buffer, Any], Any], aval: Any
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


def cost_analysis(program: Executable | str) -> dict[str, float]:
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


def memory_analysis(executable: Executable) -> dict[str, int]:
    """Bytes needed by kind: arguments, results, their overlap, temporaries, code."""
    stats = executable.loaded.get_compiled_memory_stats()
    names = (name for name in dir(stats) if name.endswith("_size_in_bytes"))
    return {name: getattr(stats, name) for name in names}


def compile(
    text: str, out_avals: Sequence[ShapedArray], options: Options = MappingProxyType({})
) -> Executable:
    """Compile a program for the default device, as the stage does, with flags of XLA.

    Raises:
        CompileError: XLA rejects the text or an option.
    """
    return executables.Executable(load(text, text, options), out_avals)


def serialize(executable: Executable, with_functions: bool = False) -> bytes:
    """The compiled program, for `deserialize` in a process of the same `fingerprint`.

    Arguments:
        executable: the program.
        with_functions: whether it may call Python functions, which have to be given again.

    Raises:
        RuntimeError: XLA cannot serialize such a program, or it calls functions of this process.
    """
    if isinstance(executable, Calling) and not with_functions:
        raise RuntimeError("a program that calls functions of this process cannot leave it")
    data: bytes = executable.loaded.client.serialize_executable(executable.loaded)
    return _LIST_OF_ABILITIES.sub(_without_avx512, data)


def deserialize(
    data: bytes, out_avals: Sequence[ShapedArray], options: Options = MappingProxyType({})
) -> Executable:
    """Load a compiled program from the result of `serialize`.

    The data are machine code, which XLA trusts: their author can do what this process can, and
    damaged data can crash it.

    Arguments:
        data: the result of `serialize`, under the same `fingerprint`.
        out_avals, options: those with which the program was compiled.

    Raises:
        RuntimeError: XLA does not recognize the data.
    """
    backend = get_backend()
    loaded = backend.client.deserialize_executable(data, backend.device_list, options_with(options))
    return executables.Executable(loaded, out_avals)


def to_portable(text: str) -> bytes:
    """A StableHLO module in a format for later, and somewhat older, versions of XLA."""
    has_shardings = "sdy." in text  # in a dialect that such a format passes on as it is
    serialize = get_backend().jaxlib.mlir.serialize_portable_artifact
    data: bytes = serialize(text, "1.10.0", has_shardings)
    return data


def from_portable(data: bytes) -> tuple[str, str]:
    """The text of a module from the result of `to_portable`, and the type of its `main`.

    Raises:
        RuntimeError: XLA cannot read the data.
        ValueError: there is no `main` in them.
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
