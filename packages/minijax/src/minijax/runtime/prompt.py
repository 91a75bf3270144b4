"""A prompt in the terminal: what the debugger and the stepper have in common."""

import cmd
from typing import Any


class Prompt(cmd.Cmd):
    """Reads commands from `stdin` and answers on `stdout`; the terminal's, where they are None."""

    def __init__(self, stdin: Any = None, stdout: Any = None):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None

    def say(self, text: str) -> None:
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def do_h(self, arg: str) -> None:
        """h: lists the commands; h COMMAND describes one."""
        self.do_help(arg)

    def do_EOF(self, arg: str) -> bool:
        """Leave at the end of the input."""
        return True

    def emptyline(self) -> bool:
        """Do nothing, where the base class would repeat the last command."""
        return False
