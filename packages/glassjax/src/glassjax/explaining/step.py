"""`debug.step`: a function executed equation by equation."""

import cmd
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from glassjax.errors.arguments import require_call
from glassjax.explaining.tracing import traced_anew
from glassjax.primitives.higher_order import run_program, step_rules
from glassjax.runtime.evaluation import evaluated_by_library, library_evaluation
from glassjax.runtime.jax_params import read_jaxpr
from glassjax.runtime.staging import ShapeDtypeStruct
from glassjax.settings.options import debug_infs, debug_nans
from glassjax_stage2 import bind, typeof
from glassjax_stage2.arguments import argument_names, require_function
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.source import name_of, on_behalf_of
from glassjax_stage2.tree import PyTreeDef, tree_flatten, tree_unflatten
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var
from glassjax_stage3.jaxpr import Atom
from glassjax_stage3.printing import Printer
from glassjax_watch.highlighting import TerminalPrinter, wants_color
from glassjax_watch.recorder import place_of
from glassjax_watch.recording import Level, Rule, Shown, Step
from glassjax_watch.stage2 import shown_array
from glassjax_watch.stepper import page, stepper

# A prompt in the terminal, shared by the debugger and the stepper.


class Prompt(cmd.Cmd):
    """Reads commands from `stdin` and answers on `stdout`; None means the terminal's."""

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
        """Do nothing; the base class would repeat the last command."""
        return False


# A prompt in the terminal that executes a program equation by equation.


class StepPrompt(Prompt):
    """Asks for the next command to an execution."""

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
        """p VARIABLE: shows its value; p alone lists the variables with values."""
        values = self.execution.values
        if not arg:
            self.say(" ".join(values))
        elif arg in values:
            self.say(repr(values[arg]))
        else:
            self.say(f"*** {arg} has no value yet, or is not a variable: p lists those with values")

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


# Execution of a jaxpr, equation by equation, with the values of its variables.


# Primitives that compute no new numbers.
_ONLY_MOVE = {"broadcast_in_dim", "convert_element_type", "reshape", "squeeze", "transpose"}


class Frame:
    """A program that is being executed.

    Attributes:
        name: the name of its function.
        jaxpr: the program.
        number: the prefix of its equations' numbers.
        index: the position of the next equation.
        eqn: the equation that called it, None for the outermost program.
    """

    def __init__(self, name: str, jaxpr: Jaxpr, number: str = "", eqn: JaxprEqn | None = None):
        self.name = name
        self.jaxpr = jaxpr
        self.number = number
        self.index = 0
        self.eqn = eqn

    @property
    def ended(self) -> bool:
        return self.index == len(self.jaxpr.eqns)


class Stop(NamedTuple):
    """The reason why an execution stopped, and the equation that it stopped at."""

    reason: str
    number: str


class Execution:
    """A program whose equations are evaluated one by one, into numpy arrays.

    Called programs are stepped into; a loop is one step. It records its steps: print it, look at it
    in a notebook, or `save` it as a page.

    Attributes:
        jaxpr: the program.
        values: the values of the variables computed so far, by name.
        steps: the steps so far, a list of `Step`.
        breakpoints: where `run` stops: numbers of equations, as "3" or "3.1", and lines, as
            "model.py:12".
        result: the result of the function, once its program has ended.
    """

    def __init__(
        self,
        name: str,
        jaxpr: Jaxpr,
        consts: Sequence[Any],
        args: Sequence[Any],
        out_tree: PyTreeDef,
    ):
        self.name = name
        self.jaxpr = jaxpr
        self.breakpoints: set[str] = set()
        self.values: dict[str, Any] = {}
        self.steps: list[Step] = []
        self.result: Any = None
        self._out_tree = out_tree
        self._printer = Printer()
        self._printer.jaxpr_lines(jaxpr)  # names all variables
        self._frames = [Frame(name, jaxpr)]
        self._calls: list[Step] = []
        self._arrays: dict[Var, Any] = {}
        for var, x in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True):
            self._assign(var, x)
        self._return()

    @property
    def has_ended(self) -> bool:
        return not self._frames

    @property
    def next_equation(self) -> str:
        """The number of the equation that comes next; nothing at the end."""
        if self.has_ended:
            return ""
        frame = self._frames[-1]
        return f"{frame.number}{frame.index + 1}"

    def step(self) -> Stop | None:
        """Evaluate the next equation, or begin the program that it calls.

        Returns:
            A `Stop` if a result is NaN or infinite and no operand is; else None.
        """
        if self.has_ended:
            return None
        frame, number = self._frames[-1], self.next_equation
        eqn = frame.jaxpr.eqns[frame.index]
        frame.index += 1
        args = [self._read(atom) for atom in eqn.invars]
        record = self._begin(number, eqn, args)
        called = _program_of(eqn, args)
        if called is not None:
            name, jaxpr, operands = called
            self._frames.append(Frame(name, jaxpr, f"{number}.", eqn))
            self._calls.append(record)
            for var, x in zip(jaxpr.invars, operands, strict=True):
                self._assign(var, x)
            self._return()
            return None
        try:
            with library_evaluation(), on_behalf_of(eqn.source):
                outs = bind(eqn.primitive, *args, **eqn.params)
        except Exception as error:
            record.error = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise
        for var, x in zip(eqn.outvars, outs, strict=True):
            self._assign(var, x)
        outs = [self._arrays[var] for var in eqn.outvars]
        record.results = tuple(map(_shown, outs))
        self._return()
        kind = _invalid_kind(outs)
        if kind is None or eqn.primitive.name in _ONLY_MOVE or _invalid_kind(args) is not None:
            return None
        inside = _found_inside(eqn, args, kind)
        return Stop(f"{kind} in the result of {eqn.primitive}{inside}", number)

    def next(self) -> Stop | None:
        """Evaluate the next equation as a whole, including the programs that it calls."""
        depth = len(self._frames)
        while True:
            stop = self.step()
            if stop is not None or len(self._frames) <= depth:
                return stop
            if stop := self._breakpoint():
                return stop

    def run(self) -> Stop | None:
        """Evaluate equations up to a breakpoint, the first NaN or infinity, or the end.

        Returns:
            Where it stopped, and why; None at the end.
        """
        while not self.has_ended:
            stop = self.step() or self._breakpoint()
            if stop is not None:
                return stop
        return None

    def break_at(self, where: int | str) -> None:
        """Add a breakpoint: the number of an equation, or a line as "model.py:12".

        Raises:
            ValueError: the program has no such equation, and no equation of such a line.
        """
        where = str(where)
        numbers, places = self._all_equations()
        if where not in numbers and where not in places:
            lines = ", ".join(dict.fromkeys(filter(None, places)))
            raise ValueError(
                f"there is no equation {where!r}: they have the numbers {numbers[0]} to "
                f"{numbers[-1]}, and come from {lines}"
                if numbers
                else f"there is no equation {where!r}: the program has none"
            )
        self.breakpoints.add(where)

    def next_text(self, use_color: bool = False) -> str:
        """The next equation as text."""
        frame = self._frames[-1]
        return self.text_of(frame.jaxpr.eqns[frame.index], use_color)

    def prompt(self, stdin: Any = None, stdout: Any = None) -> None:
        """Ask for commands in the terminal, or in the given files; `h` lists them."""
        StepPrompt(self, stdin, stdout).cmdloop()

    def listing(self, use_color: bool = False) -> str:
        """The program that is running, with numbers; an arrow shows the next equation."""
        if self.has_ended:
            return f"`{self.name}` has ended"
        frame = self._frames[-1]
        lines = [f"{' of '.join(f'`{each.name}`' for each in reversed(self._frames))}:"]
        for position, eqn in enumerate(frame.jaxpr.eqns):
            number = f"{frame.number}{position + 1}"
            mark = "->" if position == frame.index else "  "
            stop = "*" if self._stops_at(number, eqn) else " "
            lines.append(f"{mark}{stop}{number:>4}  {self.text_of(eqn, use_color)}")
        return "\n".join(lines)

    def where(self) -> str:
        """The line of the user's code that the next equation comes from."""
        if self.has_ended:
            return ""
        frame = self._frames[-1]
        source = frame.jaxpr.eqns[frame.index].source
        return "" if source is None else f"{_source_line(source)}  {source.text}".rstrip()

    def text_of(self, eqn: JaxprEqn, use_color: bool = False) -> str:
        """An equation on one line, without the programs in it."""
        printer = TerminalPrinter() if use_color else Printer()
        printer.names = self._printer.names
        params = {name: x for name, x in eqn.params.items() if not _holds_programs(x)}
        bare = JaxprEqn(eqn.primitive, eqn.invars, eqn.outvars, params)
        return " ".join(" ".join(printer.eqn_lines(bare)).split())

    def __str__(self) -> str:
        lines: list[str] = []
        place = ""
        for step in self.steps:
            if step.place != place:
                place = step.place
                lines.append(f"{place}  {step.line}".rstrip())
            number, text = step.rule or ("", "")
            lines.append(f"{number:>6}  {text}")
            if step.outcome:
                lines.append(f"{'':6}  = {step.outcome}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<execution of `{self.name}`, {self.next_equation or 'ended'}>"

    def to_html(self) -> str:
        """A stepper through the steps so far, as part of a page."""
        words = {"stack": "Programs", "rule": "Equation ", "waits": "waits", "by": "evaluate"}
        return stepper(self.steps, 0, str(self), words)

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: Any) -> None:
        """Write a page with the stepper to a file."""
        Path(path).write_text(page(f"`{self.name}`, step by step", self.to_html()), "utf-8")

    # Frames, names and stops

    def _begin(self, number: str, eqn: JaxprEqn, args: Sequence[Any]) -> Step:
        stack = tuple(Level(frame.name, color) for color, frame in enumerate(self._frames))
        source = eqn.source
        record = Step(
            primitive=eqn.primitive.name,
            args=tuple(map(_shown, args)),
            params={
                name: " ".join(str(x).split())[:60]
                for name, x in eqn.params.items()
                if not _holds_programs(x)
            },
            depth=len(self._frames) - 1,
            stack=stack,
            level=len(stack) - 1,
            rule=Rule(number, self.text_of(eqn)),
            place=_source_line(source),
            line="" if source is None else source.text,
        )
        self.steps.append(record)
        return record

    def _return(self) -> None:
        """Return from the programs that have ended."""
        while self._frames and self._frames[-1].ended:
            frame = self._frames.pop()
            outs = [self._read(atom) for atom in frame.jaxpr.outvars]
            if frame.eqn is None:
                self.result = tree_unflatten(self._out_tree, outs)
                return
            for var, x in zip(frame.eqn.outvars, outs, strict=True):
                self._assign(var, x)
            self._calls.pop().results = tuple(map(_shown, outs))

    def _assign(self, var: Var, x: Any) -> None:
        self._arrays[var] = value = _as_numpy(x)
        self.values[self._printer.names[var]] = value

    def _read(self, atom: Atom) -> Any:
        return atom.val if isinstance(atom, Literal) else self._arrays[atom]

    def _breakpoint(self) -> Stop | None:
        number = self.next_equation
        if not number:
            return None
        frame = self._frames[-1]
        if self._stops_at(number, frame.jaxpr.eqns[frame.index]):
            return Stop("breakpoint", number)
        return None

    def _stops_at(self, number: str, eqn: JaxprEqn) -> bool:
        return number in self.breakpoints or _source_line(eqn.source) in self.breakpoints

    def _all_equations(self) -> tuple[list[str], list[str]]:
        """The numbers of all equations, and the lines they come from."""
        numbers, places = [], []
        pending = [("", self.jaxpr)]
        while pending:
            prefix, jaxpr = pending.pop()
            for position, eqn in enumerate(jaxpr.eqns, start=1):
                numbers.append(f"{prefix}{position}")
                places.append(_source_line(eqn.source))
                if _is_call(eqn):
                    pending.append((f"{prefix}{position}.", eqn.params["jaxpr"]))
                elif eqn.primitive.name == "cond":
                    pending += [(f"{prefix}{position}.", x) for x in eqn.params["branches"]]
        return numbers, places


def _source_line(source: Any) -> str:
    return "" if source is None else place_of(source.code.co_filename, source.line)


def _is_call(eqn: JaxprEqn) -> bool:
    """Return True if an equation applies its program to its operands."""
    return eqn.primitive.higher_order and step_rules.of(eqn.primitive) is run_program


def _program_of(eqn: JaxprEqn, args: Sequence[Any]) -> tuple[str, Jaxpr, Sequence[Any]] | None:
    """The name and the program of a call or a chosen branch, with its operands."""
    if _is_call(eqn):
        return str(eqn.params.get("name", eqn.primitive)), eqn.params["jaxpr"], args
    if eqn.primitive.name == "cond":
        which = int(np.asarray(args[0]))
        return f"branch {which}", eqn.params["branches"][which], args[1:]
    return None


def _found_inside(eqn: JaxprEqn, args: Sequence[Any], kind: str) -> str:
    """The operation in a loop that made an invalid number; an empty text if unknown."""
    rule = step_rules.of(eqn.primitive) if eqn.primitive.higher_order else None
    if rule is None:
        return ""
    check = debug_nans if kind == "NaN" else debug_infs
    try:
        with library_evaluation(), check(True):
            rule(args, **eqn.params)
    except FloatingPointError as error:
        return ": " + " ".join(str(error).split())
    return ""


def _holds_programs(x: Any) -> bool:
    return hasattr(x, "eqns") or (isinstance(x, tuple) and any(hasattr(y, "eqns") for y in x))


def _as_numpy(x: Any) -> Any:
    """`x` as a numpy array, if it is an array of numbers."""
    try:
        return np.asarray(x, typeof(x).dtype)
    except (TypeError, RuntimeError):  # a random key
        return x


def _shown(x: Any) -> Shown:
    return Shown(shown_array(x)) if hasattr(x, "shape") else Shown(repr(x))


def _invalid_kind(values: Sequence[Any]) -> str | None:
    """The first invalid number among values: "NaN", "infinity", or an empty text."""
    for x in values:
        if is_inexact(typeof(x).dtype):
            numbers = np.asarray(x)
            if np.isnan(numbers).any():
                return "NaN"
            if np.isinf(numbers).any():
                return "infinity"
    return None


# `debug.step`: a function executed equation by equation.


def step(fun: Callable[..., Any]) -> Callable[..., Execution]:
    """Execute a function equation by equation, as a debugger does.

    The function is staged to a jaxpr. Each equation is then evaluated by itself, and every variable
    can be looked at: `execution.step()` evaluates the next equation, `next()` does so with the
    programs that it calls, `run()` goes on to a breakpoint, to the first NaN or infinity, or to the
    end. `execution.prompt()` asks for commands in the terminal.

    Arguments:
        fun: function of arrays and pytrees of arrays, jitted or not.

    Returns:
        A function of the same arguments that returns an `Execution`, before its first equation.

    Raises:
        TypeError: `fun` is not a function; when called, an argument is not an array.

    >>> execution = glassjax.debug.step(lambda x: jnp.log(x - 1.0) * 2.0)(1.0)
    >>> execution.run()
    Stop(reason='infinity in the result of log', number='2')
    >>> execution.values["b"], execution.values["c"]
    (array(0., dtype=float32), array(-inf, dtype=float32))
    >>> execution.run() or execution.result
    array(-inf, dtype=float32)
    """
    require_function("debug.step", fun)

    @evaluated_by_library
    @functools.wraps(fun)
    def begin(*args: Any, **kwargs: Any) -> Execution:
        require_call(f"debug.step of `{name_of(fun)}`", fun, args, kwargs)
        function = traced_anew(fun)
        traced = function.trace(*args, **kwargs)
        static, args, kwargs = function._static.split(args, kwargs)
        args, kwargs = function._static.drop(static, args, kwargs)
        leaves, _ = tree_flatten((args, kwargs))
        for name, x in zip(argument_names(fun, args, kwargs), leaves, strict=True):
            if isinstance(x, ShapeDtypeStruct):
                raise TypeError(
                    f"debug.step of `{name_of(fun)}`: argument {name} is a type, {x}; give an array"
                )
        program = read_jaxpr(traced.jaxpr)
        # Each variable of a called program has its own value, and needs its own name.
        jaxpr = Jaxpr(program.constvars, program.invars, program.eqns, program.outvars)
        return Execution(name_of(fun), jaxpr, program.consts, leaves, traced.out_tree)

    return begin
