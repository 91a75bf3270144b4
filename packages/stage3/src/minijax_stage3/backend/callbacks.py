"""Programs that call Python functions while they run. `lowering` knows none; a library may."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from minijax_stage3.backend.buffer import block
from minijax_stage3.backend.importing import import_module
from minijax_stage3.backend.program import Executable, load
from minijax_stage3.backend.xla_client import Aval, Buffer, Options, get_backend
from minijax_stage3.errors import callback_error

HostFunction = Callable[..., tuple[Any, ...]]  # from numpy arrays to as many as the text says
CALL_TARGET = "xla_ffi_python_cpu_callback"


class CallingExecutable(Executable):
    """A compiled program that calls Python functions.

    It is done when `execute` returns. So what one program does comes before what the next one
    does, and no function is called from a thread that nobody waits for.
    """

    def __init__(self, *parts: Any, raised: list[BaseException]) -> None:
        super().__init__(*parts)
        self._raised = raised  # by functions called, and not yet told of

    def execute(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """Runs the program.

        Raises:
            ExecutionError: a function that it calls raised an exception, which is the cause; or
                for the reasons that other programs have.
        """
        for buffer in buffers:
            with suppress(RuntimeError):  # which the launch says better
                block(buffer)
        try:
            results: list[Buffer] = self._launch(buffers).consume_with_handlers(self._handlers)
            for buffer in results:
                block(buffer)
            return results
        except RuntimeError as error:
            if not self._raised:
                raise self.failure(buffers, error) from error
        raise callback_error(self._loaded.hlo_modules()[0].name, self._raised.pop())

    def executor_of_one(
        self, make: Callable[[Buffer, Any], Any], aval: Any
    ) -> Callable[[Sequence[Buffer]], Any]:
        return lambda buffers: make(self.execute(buffers)[0], aval)

    def serialize(self) -> bytes:
        raise RuntimeError("a program that calls functions of this process cannot leave it")


def compile_calling(
    text: str,
    functions: Sequence[HostFunction],
    out_avals: Sequence[Aval],
    options: Options = MappingProxyType({}),
) -> Executable:
    """`compile` of a program that calls Python functions.

    Arguments:
        text: a StableHLO module; a custom call of `CALL_TARGET` names a function by its number.
        functions: take numpy arrays, and return a tuple of such, as the text declares them.
        out_avals, options: as in `compile`.

    Raises:
        CompileError: XLA does not accept the text or an option.
    """
    backend = get_backend()
    raised: list[BaseException] = []
    host_callbacks = [_remembering(function, raised) for function in functions]
    # The text itself is not taken together with functions.
    loaded = load(text, options, parse=_parsed, host_callbacks=host_callbacks)
    handlers = [backend.result_handler(aval) for aval in out_avals]
    return CallingExecutable(loaded, out_avals, handlers, raised=raised)


def _remembering(function: HostFunction, raised: list[BaseException]) -> HostFunction:
    """`function`, whose exceptions are kept: XLA passes on no more than their text."""

    def call(*args: Any) -> tuple[Any, ...]:
        try:
            return function(*args)
        except BaseException as error:
            raised.append(error)
            raise

    return call


def _parsed(text: str) -> Any:
    """The module of a text."""
    ir = import_module("jaxlib.mlir.ir")  # late, for it takes a while
    context = ir.Context()
    registry = ir.DialectRegistry()
    import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context.append_dialect_registry(registry)
    for dialect in ("stablehlo", "chlo"):
        import_module(f"jaxlib.mlir.dialects.{dialect}").register_dialect(context)
    context.load_all_available_dialects()
    with context:
        return ir.Module.parse(text)
