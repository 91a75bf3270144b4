"""Jaxprs with colors, in a terminal and on a page."""

import html
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassjax_stage3.printing import Printer
from glassjax_watch.recorder import place_of
from glassjax_watch.stepper import definition, element

if TYPE_CHECKING:
    from glassjax_stage3.jaxpr import JaxprEqn, Var

_ASSETS = Path(__file__).with_name("jaxpr.html")

# Escape codes for words, by kind.
_CODES = {
    "keyword": "2",
    "primitive": "1;34",
    "type": "36",
    "literal": "33",
    "bound": "32",
}


def wants_color() -> bool:
    """Return True if the output is a terminal and the user has not set `NO_COLOR`."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not refused and sys.stdout.isatty()


class TerminalPrinter(Printer):
    """Writes jaxprs with the escape sequences of terminals."""

    def word(self, text: str, kind: str) -> str:
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m"

    def variable(self, var: "Var", eqn: "JaxprEqn | None", is_bound: bool) -> str:
        name = self.names[var]
        return self.word(name, "bound") if is_bound else name

    def fits(self, line: str, blocks: Sequence[Sequence[str]]) -> bool:
        return super().fits(re.sub(r"\x1b\[[\d;]*m", "", line), blocks)


class PagePrinter(Printer):
    """Writes jaxprs with marks, which become HTML once all other text is escaped.

    A mark is the number of a tag between control characters, which no jaxpr contains.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def mark(self, text: str, tag: str) -> str:
        self.tags.append(tag)
        return f"\x01{len(self.tags) - 1}\x02{text}\x03"

    def word(self, text: str, kind: str) -> str:
        return self.mark(text, f'<span class="gj-{kind}">')

    def variable(self, var: "Var", eqn: "JaxprEqn | None", is_bound: bool) -> str:
        name = self.names[var]
        if not is_bound:
            return self.mark(name, f'<span data-var="{name}">')
        note = f"{name}:{var.aval}, "
        note += "an input" if eqn is None else f"a result of {eqn.primitive}"
        if eqn is not None and eqn.source is not None:
            place = place_of(eqn.source.code.co_filename, eqn.source.line)
            note += f", {place}  {eqn.source.text}"
        note = html.escape(note.strip())
        tag = f'<span data-var="{name}" data-note="{note}" tabindex="0">'
        return self.mark(name, tag)

    def fits(self, line: str, blocks: Sequence[Sequence[str]]) -> bool:
        return super().fits(re.sub("\x01\\d+\x02|\x03", "", line), blocks)

    def page_of(self, text: str) -> str:
        """Marked text as HTML."""
        text = html.escape(text, quote=False).replace("\x03", "</span>")
        return re.sub("\x01(\\d+)\x02", lambda mark: self.tags[int(mark[1])], text)


def definition_of_jaxprs() -> str:
    """The style and the script of jaxprs on a page."""
    return definition(_ASSETS)


def in_color(jaxpr: Any) -> str:
    """A program as text with colors for a terminal."""
    return "\n".join(TerminalPrinter().jaxpr_lines(jaxpr))


def to_html(jaxpr: Any) -> str:
    """A program as part of a page, where a variable shows its definition and uses."""
    printer = PagePrinter()
    text = printer.page_of("\n".join(printer.jaxpr_lines(jaxpr)))
    return element("glassjax-jaxpr", f'<pre class="gj-jaxpr">{text}</pre>', _ASSETS)
