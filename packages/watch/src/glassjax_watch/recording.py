"""Recordings: the steps of a program, as data, as text, and as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from glassjax_stage1.interpreter import Interpreter
from glassjax_watch.stepper import page, stepper


@dataclass(frozen=True)
class Shown:
    """A value for readers: a text, or a box with named parts."""

    text: str = ""
    kind: str = ""  # the class of a boxed value
    color: int | None = None  # the color of the interpreter that boxed it
    parts: tuple[tuple[str, "Shown"], ...] = ()

    def __str__(self) -> str:
        parts = ", ".join(str(value) for _, value in self.parts)
        return f"{self.kind}({parts})" if parts else self.text


class Level(NamedTuple):
    """An interpreter on the stack: its name, and the number of its color."""

    name: str
    color: int


class Rule(NamedTuple):
    """The rule that an interpreter has for a primitive: its name, and its source text."""

    name: str
    text: str = ""


@dataclass
class Step:
    """One operation, as one interpreter handled it.

    Attributes:
        primitive: the name of the operation.
        args: its operands.
        params: its metadata, by name, as text.
        depth: the number of enclosing steps, whose rules apply this operation.
        stack: the interpreters that are running, evaluation first.
        level: the position on the stack of the interpreter that handles this operation. Those above
            it are inside their own rules.
        rule: the rule. None: this interpreter boxed none of the operands, and leaves the operation
            to its parent.
        place: file and line of the user's program.
        line: the text of that line.
        results: what the operation returned.
        error: the error that it raised instead.
    """

    primitive: str
    args: Sequence[Shown]
    params: dict[str, str]
    depth: int
    stack: Sequence[Level]
    level: int
    rule: Rule | None
    place: str
    line: str
    results: Sequence[Shown] = ()
    error: str = ""

    @property
    def interpreter(self) -> str:
        """The name of the interpreter that handled the operation."""
        return self.stack[self.level].name

    @property
    def outcome(self) -> str:
        """The results, or the error, as text."""
        return self.error or ", ".join(map(str, self.results))

    def __str__(self) -> str:
        params = [f"{name}={value}" for name, value in self.params.items()]
        return f"{self.primitive}({', '.join([*map(str, self.args), *params])})"


class Recording:
    """The steps of a program, in the order in which they began.

    Print it to read it; in a notebook, the last line of a cell draws it as a stepper.

    Attributes:
        steps: a list of `Step`.
        left_out: the number of further steps, counted but not recorded.
    """

    def __init__(self, max_steps: int):
        self.max_steps = max_steps
        self.steps: list[Step] = []
        self.left_out = 0
        self.has_ended = False
        self._colors: dict[Interpreter, int] = {}
        self._names: dict[Interpreter, dict[Any, str]] = {}

    def color(self, stack: Sequence[Interpreter]) -> list[int]:
        """A number for each interpreter on a stack, all different, the same in every step."""
        for interpreter in stack:
            if interpreter not in self._colors:
                taken = {self._colors.get(other) for other in stack}
                self._colors[interpreter] = min({*range(len(stack))} - taken)
        return [self._colors[interpreter] for interpreter in stack]

    def name_of(self, var: Any, interpreter: Interpreter, names: Iterator[str]) -> str:
        """The name of a variable that `interpreter` stages: the first free one of `names`."""
        given = self._names.setdefault(interpreter, {})
        if var not in given:
            given[var] = next(name for name in names if name not in given.values())
        return given[var]

    def end(self) -> None:
        """Stop recording, and release the interpreters."""
        self.has_ended = True
        self._colors.clear()
        self._names.clear()

    def __str__(self) -> str:
        width = max([len(step.interpreter) for step in self.steps], default=0)
        lines: list[str] = []
        unfinished: list[Step] = []  # their results follow their inner steps

        def finish(depth: int) -> None:
            while unfinished and unfinished[-1].depth >= depth:
                step = unfinished.pop()
                lines.append(f"{'':{width + 8 + 2 * step.depth}}= {step.outcome}")

        place = ""
        for number, step in enumerate(self.steps, start=1):
            finish(step.depth)
            if step.depth == 0 and step.place != place:
                place = step.place
                lines.append(f"{place}  {step.line}".rstrip())
            indent = "  " * step.depth
            line = f"{number:4}  {step.interpreter:{width}}  {indent}{step}"
            if number < len(self.steps) and self.steps[number].depth > step.depth:
                unfinished.append(step)
            else:
                line += f" = {step.outcome}"
            lines.append(line)
        finish(0)
        if self.left_out:
            lines.append(f"and {self.left_out} more: record(max_steps=...)")
        return "\n".join(lines) or "no steps"

    def __repr__(self) -> str:
        return f"<recording of {len(self.steps)} steps>"

    def to_html(self) -> str:
        """A stepper through the recording, as a part of a page."""
        return stepper(self.steps, self.left_out, fallback=str(self))

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: Any) -> None:
        """Write a page with the stepper to a file."""
        Path(path).write_text(page("A recording", self.to_html()), encoding="utf-8")
