"""Explanations: the stages of a function, as text with headings, and as tabs on a page."""

import html
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import minijax_watch
from minijax_stage3 import ClosedJaxpr, Jaxpr
from minijax_watch.highlighting import definition_of_jaxprs, wants_color
from minijax_watch.stepper import element, page

_ASSETS = Path(__file__).with_name("explanation.html")
_WIDTH = 80


class Section(NamedTuple):
    """A stage of a function.

    Attributes:
        title: its name.
        summary: a sentence that says what it is, or why there is none.
        program: the program at that stage, a jaxpr or text; None if there is none.
        seconds: the time that it took to make it; None if nothing was made.
    """

    title: str
    summary: str
    program: Jaxpr | ClosedJaxpr | str | None = None
    seconds: float | None = None

    @property
    def time(self) -> str:
        """The time as text: `1.5 ms`."""
        if self.seconds is None:
            return ""
        return f"{self.seconds:.2f} s" if self.seconds >= 1 else f"{1e3 * self.seconds:.1f} ms"


class Explanation:
    """The stages of a function from its source to a compiled program.

    Print it; in a notebook, the last line of a cell shows it as tabs.

    Attributes:
        name: the name of the function.
        sections: the stages.
    """

    def __init__(self, name: str, sections: Sequence[Section]):
        self.name = name
        self.sections = list(sections)

    def __getitem__(self, title: str) -> Any:
        """The program of the stage with a title, such as "jaxpr".

        Raises:
            KeyError: there is no such stage.
        """
        for section in self.sections:
            if section.title == title:
                return section.program
        titles = ", ".join(repr(section.title) for section in self.sections)
        raise KeyError(f"there is no stage {title!r}; there are {titles}")

    def pretty_print(self, *, use_color: bool | None = None) -> str:
        """The text, with colors, by default if it is printed on a terminal."""
        in_color = wants_color() if use_color is None else use_color
        return "\n\n".join(_text(section, in_color) for section in self.sections)

    def __str__(self) -> str:
        return self.pretty_print(use_color=False)

    def __repr__(self) -> str:
        return f"<explanation of `{self.name}`>"

    def to_html(self) -> str:
        """The stages as tabs, as a part of a page."""
        first, *others = "".join(map(_panel, self.sections)).split(definition_of_jaxprs())
        panels = first + definition_of_jaxprs() + "".join(others)  # which is needed once
        return element("minijax-explanation", panels, _ASSETS)

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: Any) -> None:
        """Write a page with the stages to a file."""
        text = page(f"From `{self.name}` to the machine", self.to_html())
        Path(path).write_text(text, encoding="utf-8")


def _text(section: Section, in_color: bool) -> str:
    time = f" {section.time}" if section.time else ""
    rule = "─" * max(3, _WIDTH - len(section.title) - len(time) - 4)
    heading = f"── {section.title} {rule}{time}"
    if in_color:
        heading = f"\x1b[1m{heading}\x1b[0m"
    program = section.program
    if isinstance(program, Jaxpr | ClosedJaxpr):
        program = minijax_watch.in_color(program) if in_color else str(program)
    summary = textwrap.fill(section.summary, _WIDTH)
    return "\n".join([heading, summary, *([] if program is None else ["", program.rstrip()])])


def _panel(section: Section) -> str:
    program = section.program
    if isinstance(program, Jaxpr | ClosedJaxpr):
        shown = minijax_watch.to_html(program)
    else:
        shown = "" if program is None else f"<pre>{html.escape(program)}</pre>"
    title, summary = html.escape(section.title), html.escape(section.summary)
    summary = re.sub("`([^`]*)`", r"<code>\1</code>", summary)
    return (
        f'<section data-title="{title}" data-time="{section.time}"><h4>{title}</h4>'
        f"<p>{summary}</p>{shown}</section>"
    )
