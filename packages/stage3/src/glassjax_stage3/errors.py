"""Errors of XLA: it rejects a program, or a program fails at run time."""


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
