"""Errors of XLA: it refuses a program, or a program fails while it runs."""

import traceback
from collections.abc import Sequence
from types import TracebackType

from minijax_stage1.errors import ExplainedError
from minijax_stage2.shown import counted


class XLAError(ExplainedError, RuntimeError):
    """Something that XLA could not do."""

    page = "JaxRuntimeError"


class CompileError(XLAError):
    """XLA refused a program, which is in `text`."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message, text)
        self.text = text

    def __str__(self) -> str:
        return f"XLA cannot compile this program: {self.args[0]}"


class ExecutionError(XLAError):
    """A compiled program failed while it ran; the message names it."""


def callback_error(module: str, cause: BaseException) -> BaseException:
    """The error for a program during which a Python function raised `cause`.

    What is no error, as when the user interrupts, is passed on as it is.
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


def execution_error(name: str, reason: object, deleted: Sequence[bool]) -> ExecutionError:
    """The error for the program `name`, and for arguments some of which may be deleted."""
    if any(deleted):
        reason = (
            f"of its {counted(len(deleted), 'argument')}, constants first, number "
            f"{deleted.index(True)} is gone: deleted, or donated to another call. Keep a copy of "
            "what is needed later"
        )
    return ExecutionError(f"`{name}` failed while it ran: {reason}")
