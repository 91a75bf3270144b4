"""A prompt in the terminal that executes a program equation by equation."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minijax.runtime.prompt import Prompt
from minijax_watch.highlighting import wants_color

if TYPE_CHECKING:
    from minijax.explaining.execution import Execution, Stop


class StepPrompt(Prompt):
    """Asks what to do next with an execution."""

    prompt = "(step) "
    intro = "h lists the commands"

    def __init__(self, execution: "Execution", stdin: Any = None, stdout: Any = None):
        super().__init__(stdin, stdout)
        self.execution = execution
        self.in_color = stdout is None and wants_color()

    def preloop(self) -> None:
        self._here()

    def _here(self) -> None:
        """Show the equation that comes next."""
        execution = self.execution
        if execution.has_ended:
            self.say(f"`{execution.name}` returned {execution.result}")
            return
        self.say(execution.where())
        self.say(f"-> {execution.next_equation}  {execution.next_text(self.in_color)}")

    def _go(self, move: "Callable[[], Stop | None]") -> None:
        if self.execution.has_ended:
            self.say("*** the program has ended; q leaves")
            return
        count = len(self.execution.steps)
        try:
            stop = move()
        except Exception as error:
            self.say(f"*** {type(error).__name__}: {error}")
            return
        for step in self.execution.steps[count:][-1:]:
            number, text = step.rule or ("", "")
            if step.outcome:
                self.say(f"{number}  {text}\n   = {step.outcome}")
            if stop is not None and stop.reason != "breakpoint":
                self.say(f"*** {stop.reason}, at {step.place}\n    {step.line}")
        self._here()

    def do_s(self, arg: str) -> None:
        """s: evaluates the next equation, or begins the program that it calls."""
        self._go(self.execution.step)

    def do_n(self, arg: str) -> None:
        """n: evaluates the next equation, with the programs that it calls."""
        self._go(self.execution.next)

    def do_c(self, arg: str) -> None:
        """c: goes on to a breakpoint, the first NaN or infinity, or the end."""
        self._go(self.execution.run)

    def do_b(self, arg: str) -> None:
        """b NUMBER or b FILE:LINE: stops there; b alone lists where it stops."""
        if not arg:
            self.say(" ".join(sorted(self.execution.breakpoints)) or "no breakpoints")
            return
        try:
            self.execution.break_at(arg)
        except ValueError as error:
            self.say(f"*** {error}")

    def do_p(self, arg: str) -> None:
        """p VARIABLE: shows its value; p alone names all that have one."""
        values = self.execution.values
        if not arg:
            self.say(" ".join(values))
        elif arg in values:
            self.say(repr(values[arg]))
        else:
            self.say(f"*** {arg} has no value yet, or is no variable: p lists those that have one")

    def do_l(self, arg: str) -> None:
        """l: lists the program, with the next equation."""
        self.say(self.execution.listing(self.in_color))

    def do_w(self, arg: str) -> None:
        """w: shows the next equation, and the line that it comes from."""
        self._here()

    def do_q(self, arg: str) -> bool:
        """q: leaves."""
        return True

    do_step, do_next, do_continue, do_break, do_print = do_s, do_n, do_c, do_b, do_p
    do_list, do_where, do_quit, do_exit = do_l, do_w, do_q, do_q

    def default(self, line: str) -> None:
        self.say(f"*** there is no command {line.split()[0]!r}: h lists them")
