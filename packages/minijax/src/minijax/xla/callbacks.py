"""Programs that call Python functions while they run."""

import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import MappingProxyType, TracebackType
from typing import Any

from minijax.xla.buffers import block
from minijax.xla.compile_options import Options, options_with
from minijax.xla.executables import Executable
from minijax.xla.mlir import parsed
from minijax_stage2 import ShapedArray
from minijax_stage3.backend import Buffer, get_backend
from minijax_stage3.errors import CompileError, ExecutionError

HostFunction = Callable[..., tuple[Any, ...]]  # from numpy arrays to as many as the text says


def call_target(platform: str) -> str:
    """The target of custom calls of Python functions on a platform."""
    return f"xla_ffi_python_{'cpu' if platform == 'cpu' else 'gpu'}_callback"


def calls_python(text: str) -> bool:
    """Return True if a program calls Python functions."""
    return "@xla_ffi_python_" in text


class Calling(Executable):
    """A compiled program that calls Python functions.

    It is done when `execute` returns. So the effects of one program precede those of the next, and
    no function is called from a thread that nothing waits for.
    """

    _raised: list[BaseException]  # by functions called, and not yet told of

    def execute(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """Run the program.

        Raises:
            ExecutionError: a callback raised an exception, which is the cause; or as for other
                programs.
        """
        for buffer in buffers:
            with suppress(RuntimeError):  # which the launch says better
                block(buffer)
        try:
            results: list[Buffer] = self.launch(buffers).consume_with_handlers(self.handlers)
            for buffer in results:
                block(buffer)
            self.collect_garbage()
            return results
        except RuntimeError as error:
            if not self._raised:
                raise self.failure(buffers, error) from error
        raise callback_error(self.loaded.hlo_modules()[0].name, self._raised.pop())


class CallingExecutable(Calling):
    """One for the default device."""

    def __init__(self, *parts: Any, raised: list[BaseException]) -> None:
        super().__init__(*parts)
        self._raised = raised


def load(module: Any, text: str, options: Options, **given: Any) -> Any:
    """Compile a module, as text or otherwise; CompileError: XLA rejects it."""
    backend = get_backend()
    try:
        return backend.client.compile_and_load(
            module,
            executable_devices=backend.device_list,
            compile_options=options_with(options),
            **given,
        )
    except RuntimeError as error:
        raise CompileError(str(error), text) from error


def compile_calling(
    text: str,
    functions: Sequence[HostFunction],
    out_avals: Sequence[ShapedArray],
    options: Options = MappingProxyType({}),
) -> Executable:
    """`compile` of a program that calls Python functions.

    Arguments:
        text: a StableHLO module; a custom call of `call_target` names a function by its number.
        functions: functions of numpy arrays that return a tuple of these, as declared in the text.
        out_avals, options: as for `compile`.

    Raises:
        CompileError: XLA rejects the text or an option.
    """
    raised: list[BaseException] = []
    # The text itself is not taken together with functions.
    loaded = load(parsed(text), text, options, host_callbacks=remembering(functions, raised))
    return CallingExecutable(loaded, out_avals, raised=raised)


def deserialize_calling(
    data: bytes,
    functions: Sequence[HostFunction],
    out_avals: Sequence[ShapedArray],
    options: Options,
) -> Executable:
    """Load a program of `compile_calling` from the result of `serialize`; see `deserialize`.

    Raises:
        RuntimeError: XLA does not recognize the data.
    """
    backend, raised = get_backend(), list[BaseException]()
    loaded = load_with_functions(
        backend.client, data, backend.device_list, options_with(options),
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
    """The functions, with their exceptions recorded: XLA passes on only the text of these."""
    return [_remembering(function, raised) for function in functions]


def _remembering(function: HostFunction, raised: list[BaseException]) -> HostFunction:
    def call(*args: Any) -> tuple[Any, ...]:
        try:
            return function(*args)
        except BaseException as error:
            raised.append(error)
            raise

    return call


def callback_error(module: str, cause: BaseException) -> BaseException:
    """The error for a program during which a Python function raised `cause`.

    Exceptions that are not errors, such as an interrupt, are passed on unchanged.
    """
    if not isinstance(cause, Exception):
        return cause
    place = cause.__traceback__
    while place is not None and place.tb_next is not None and _is_machinery(place):
        place = place.tb_next
    lines = "".join(traceback.format_exception(type(cause), cause, place)).rstrip()
    name = module.removeprefix("jit_")
    error = ExecutionError(
        f"`{name}` failed while it ran: a function that it calls raised\n{lines}"
    )
    error.__cause__ = cause
    return error


def _is_machinery(place: TracebackType) -> bool:
    return bool(place.tb_frame.f_globals.get("__name__", "").startswith("minijax"))
