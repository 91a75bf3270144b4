"""What can go wrong with XLA: it refuses a program, or a program fails while it runs."""

from collections.abc import Sequence


class XLAError(RuntimeError):
    """Something that XLA could not do."""


class CompileError(XLAError):
    """XLA refused a program, which is in `text`."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message, text)
        self.text = text

    def __str__(self) -> str:
        return f"XLA cannot compile this program: {self.args[0]}"


class ExecutionError(XLAError):
    """A compiled program failed while it ran; the message names it."""


def execution_error(name: str, reason: object, deleted: Sequence[bool]) -> ExecutionError:
    """The error for the program `name`, and for arguments some of which may be deleted."""
    if any(deleted):
        reason = (
            f"of its {len(deleted)} arguments, constants first, number {deleted.index(True)} is "
            "gone: deleted, or donated to another call. Keep a copy of what is needed later"
        )
    return ExecutionError(f"`{name}` failed while it ran: {reason}")
