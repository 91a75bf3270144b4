"""Errors of XLA: it rejects a program, or a program fails at run time."""

from collections.abc import Sequence

from minijax_stage2.shown import counted


class XLAError(RuntimeError):
    """A failure of XLA."""


class CompileError(XLAError):
    """XLA rejected a program, which is in `text`."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message, text)
        self.text = text

    def __str__(self) -> str:
        return f"XLA cannot compile this program: {self.args[0]}"


class ExecutionError(XLAError):
    """A compiled program failed at run time; the message names it."""


def execution_error(name: str, reason: object, deleted: Sequence[bool]) -> ExecutionError:
    """The error for the program `name`, and for arguments some of which may be deleted."""
    if any(deleted):
        reason = (
            f"of its {counted(len(deleted), 'argument')}, constants first, number "
            f"{deleted.index(True)} is gone: deleted, or donated to another call. Keep a copy of "
            "what is needed later"
        )
    return ExecutionError(f"`{name}` failed while it ran: {reason}")
