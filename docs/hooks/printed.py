"""mkdocs hook: what blocks print.

What the library prints while a block runs is part of the block's output: markdown-exec gives each
block a `print` of its own, and does not look at `sys.stdout`.
"""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from markdown_exec._internal.formatters import python as formatter

exec_python = formatter.exec_python


class Output(io.TextIOBase):
    """A file that writes by the `print` of a block."""

    def __init__(self, print: Callable[..., None]) -> None:
        self.print = print

    def write(self, text: str) -> int:
        self.print(text, end="")
        return len(text)


def on_startup(**kwargs: Any) -> None:
    formatter.exec_python = run


def run(code: str, filename: str, variables: dict[str, Any]) -> None:
    with redirect_stdout(Output(variables["print"])):
        exec_python(code, filename, variables)
