"""`debug.breakpoint`: stop a program to inspect its values."""

import linecache
import sys
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any

from minijax.callbacks.io_callback import debug_callback
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.prompt import Prompt
from minijax_stage2 import Tracer, tree_map


@evaluated_by_library
def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    r"""Stop here, in a compiled program each time it runs, and prompt for commands.

    Variables hold their current values. `h` lists the commands.

    Arguments:
        backend: None or "cli", the terminal.
        filter_frames: whether to leave out the frames of this library.
        num_frames: how many frames to show, the innermost first; all by default.
        ordered: whether the order matters. Here calls are always in program order.
        token: of no effect.
        kwargs: `stdin` and `stdout`, files to use instead of the terminal.

    Raises:
        RuntimeError: there is no terminal.
        ValueError: there is no such backend.

    Without a terminal, commands come from files:

    >>> import io
    >>> commands, answers = io.StringIO("p y\np y + x\nc\n"), io.StringIO()
    >>> @minijax.jit
    ... def f(x):
    ...     y = x * x
    ...     minijax.debug.breakpoint(stdin=commands, stdout=answers, num_frames=1)
    ...     return y + 1
    >>> f(3.0)
    Array(10., dtype=float32, weak_type=True)
    >>> answers.getvalue().splitlines()[-3:-1]
    ['(minijax) Array(9., dtype=float32)', '(minijax) Array(12., dtype=float32)']
    """
    if backend not in (None, "cli"):
        raise ValueError(f"debug.breakpoint: backend has to be None or 'cli', found {backend!r}")
    stdin, stdout = kwargs.get("stdin"), kwargs.get("stdout")
    if stdin is None and not (sys.stdin is not None and sys.stdin.isatty()):
        raise RuntimeError(
            "debug.breakpoint: there is no terminal to ask what to do; use debug.print, or give "
            "files as stdin and stdout"
        )
    frames = _frames(sys._getframe(1), filter_frames)[:num_frames]
    places = [Place(frame) for frame in frames]
    variables = tuple([tree_map(_usable, dict(frame.f_locals)) for frame in frames])

    def stop(*values: dict[str, Any]) -> None:
        opened = [tree_map(lambda x: x.value if type(x) is _Held else x, v) for v in values]
        Debugger(places, opened, stdin, stdout).cmdloop()

    debug_callback(stop, variables, {}, "debug.breakpoint", ordered)


def _frames(frame: FrameType | None, filter_frames: bool) -> list[FrameType]:
    """The frames from this one outwards."""
    frames = []
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if not filter_frames or not package.startswith("minijax"):
            frames.append(frame)
        frame = frame.f_back
    return frames


class _Held:
    """A value that the program has nothing to do with."""

    def __init__(self, value: Any):
        self.value = value


def _usable(x: Any) -> Any:
    """A placeholder for a value that the program computes; other values pass through."""
    if isinstance(x, Tracer) and not x.interpreter.ended:
        return x
    return _Held(x)


class Place:
    """A saved frame: its code, its line, and the names in scope."""

    def __init__(self, frame: FrameType):
        self.code: CodeType = frame.f_code
        self.line = frame.f_lineno
        self.globals = frame.f_globals

    def __str__(self) -> str:
        text = linecache.getline(self.code.co_filename, self.line).strip()
        return f"{self.code.co_filename}({self.line}){self.code.co_name}()\n-> {text}"

    def around(self, count: int = 5) -> str:
        """The source lines around the current line of the frame."""
        lines = []
        for number in range(max(self.line - count, 1), self.line + count + 1):
            text = linecache.getline(self.code.co_filename, number)
            if text:
                mark = "->" if number == self.line else "  "
                lines.append(f"{number:5} {mark} {text.rstrip()}")
        return "\n".join(lines)


class Debugger(Prompt):
    """A prompt that shows the values of variables, frame by frame."""

    prompt = "(minijax) "

    def __init__(
        self, places: Sequence[Place], variables: Sequence[dict[str, Any]], stdin: Any, stdout: Any
    ):
        super().__init__(stdin, stdout)
        self.places = places
        self.variables = variables
        self.number = 0
        self.say(str(self.places[0]))

    def _value_of(self, expression: str, show: Any) -> None:
        names = self.variables[self.number]
        try:
            value = eval(expression, self.places[self.number].globals, names)
            self.say(show(value))
        except Exception as error:
            self.say(f"*** {type(error).__name__}: {error}")

    def _move(self, step: int, end: str) -> None:
        if not 0 <= self.number + step < len(self.places):
            self.say(f"*** {end} frame")
            return
        self.number += step
        self.say(str(self.places[self.number]))

    def do_p(self, arg: str) -> None:
        """p EXPRESSION: shows its value."""
        self._value_of(arg, repr)

    def do_pp(self, arg: str) -> None:
        """pp EXPRESSION: shows its value, in several lines."""
        from pprint import pformat  # late, for it takes milliseconds

        self._value_of(arg, pformat)

    def do_u(self, arg: str) -> None:
        """u: goes to the frame that called this one."""
        self._move(1, "Oldest")

    def do_d(self, arg: str) -> None:
        """d: goes to the frame that this one called."""
        self._move(-1, "Newest")

    def do_l(self, arg: str) -> None:
        """l: lists the lines around."""
        self.say(self.places[self.number].around())

    def do_bt(self, arg: str) -> None:
        """bt: lists the frames, the innermost last."""
        for number, place in reversed(list(enumerate(self.places))):
            self.say(f"{'>' if number == self.number else ' '} {place}")

    def do_c(self, arg: str) -> bool:
        """c: goes on."""
        return True

    def do_q(self, arg: str) -> None:
        """q: ends the process."""
        raise SystemExit(0)

    do_up, do_down, do_list, do_w, do_where = do_u, do_d, do_l, do_bt, do_bt
    do_cont, do_continue, do_quit, do_exit = do_c, do_c, do_q, do_q

    def default(self, line: str) -> None:
        self._value_of(line, repr)


__all__ = ["breakpoint"]
