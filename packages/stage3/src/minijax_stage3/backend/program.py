"""Programs: compiled from the text of a StableHLO module, executed, written down and read back."""

import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from minijax_stage3.backend.buffer import is_deleted
from minijax_stage3.backend.importing import import_module
from minijax_stage3.backend.lapack import register_lapack
from minijax_stage3.backend.xla_client import Aval, Buffer, Options, get_backend
from minijax_stage3.errors import CompileError, ExecutionError, execution_error

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
        data: bytes = get_backend().client.serialize_executable(self._loaded)
        return _LIST_OF_ABILITIES.sub(_without_avx512, data)


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
    backend = get_backend()
    loaded = load(text, options)
    return Executable(loaded, out_avals, [backend.result_handler(aval) for aval in out_avals])


def load(text: str, options: Options, parse: Callable[[str], Any] = str, **given: Any) -> Any:
    """Compile a text, which may call LAPACK; jaxlib is given it as `parse` returns it.

    Raises:
        CompileError: XLA does not accept the text or an option.
    """
    backend = get_backend()
    register_lapack(text)
    try:
        return backend.client.compile_and_load(
            parse(text),
            executable_devices=backend.device_list,
            compile_options=backend.compile_options(options),
            **given,
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error


def cost_analysis(text: str) -> dict[str, float]:
    """XLA's estimates for a StableHLO module as it is written, before any optimisation."""
    backend = get_backend()
    module = backend.jaxlib.mlir.mlir_module_to_xla_computation(text, False, False).get_hlo_module()
    return dict(backend.jaxlib.hlo_module_cost_analysis(backend.client, module))


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
    backend = get_backend()
    loaded = backend.client.deserialize_executable(
        data, backend.device_list, backend.compile_options(options)
    )
    return Executable(loaded, out_avals, [backend.result_handler(aval) for aval in out_avals])


def to_portable(text: str) -> bytes:
    """A StableHLO module in a form that later versions of XLA read, and somewhat older ones."""
    data: bytes = get_backend().jaxlib.mlir.serialize_portable_artifact(text, "1.10.0")
    return data


def from_portable(data: bytes) -> tuple[str, str]:
    """The text of a module from what `to_portable` gave, and the type of its `main`.

    Raises:
        RuntimeError: XLA cannot read the data.
        ValueError: there is no `main` in them.
    """
    ir = import_module("jaxlib.mlir.ir")  # late, for it takes a while
    context = ir.Context()
    import_module("jaxlib.mlir.dialects.stablehlo").register_dialect(context)
    module = get_backend().jaxlib.mlir.deserialize_portable_artifact(data, context)
    for function in module.body.operations:
        if function.attributes["sym_name"].value == "main":
            text: str = module.operation.get_asm(enable_debug_info=False)
            return text, str(function.attributes["function_type"])
    raise ValueError("it has no `main`")
