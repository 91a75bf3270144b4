"""The picture of README.md: what `./noxw -s demo` prints, cut to a page, as SVG.

    python -m tools.demo_picture    # writes docs/assets/demo.svg

Of the gradient it shows the sections about the lines in `SHOWN`. The picture brings its own
background, so that it is the same in light and dark schemes, and refers to no other file.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/assets/demo.svg"
SHOWN = 'return image @ last["weights"]', "return -jnp.mean", "image = nn.relu"  # of digits.py
BACK = "  The loss itself is not asked for."
END = "  The gradients: "
ACCURACY = "test accuracy "

SIZE, LINE, MARGIN = 13, 19, 20  # of letters, from line to line, around the text
LETTER = 0.602 * SIZE  # the width of one, in most fonts of one width
STYLE = """
rect { fill: #16181d }
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
       fill: #d7dae0; white-space: pre }
.command, .source { font-weight: bold }
.command { fill: #8be9a8 } .source { fill: #7cc4ff } .name { fill: #f0c674 }
.type { fill: #8b93a1 } .said { fill: #b9c0cb }
"""
EQUATION = re.compile(r"(    \w+ += )(\w+ +)(\w+\[[\d,]*\] +)(.*)")


def printed() -> list[str]:
    """The lines that the demo prints."""
    command = [sys.executable, "examples/digits.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def chosen(lines: list[str]) -> list[str]:
    """The lines to show: the way back, after one line of the way there."""
    back = next(i for i, line in enumerate(lines) if line.startswith(BACK))
    end = next(i for i, line in enumerate(lines) if line.startswith(END))
    last = next(line for line in lines if line.startswith(ACCURACY))
    there, way_back = sections(lines[2:back], SHOWN[:1]), sections(lines[back:end], SHOWN)
    return ["$ ./noxw -s demo", lines[0], "", *there, *way_back, lines[end], "", last]


def sections(lines: list[str], shown: tuple[str, ...]) -> Iterator[str]:
    """What is about the shown lines of the program, or about none; dots for what is left out."""
    number = 0
    numbered = []
    for line in lines:
        number += line.startswith("  line ")
        numbered.append((number, line))
    was_shown = True
    for number, group in groupby(numbered, lambda pair: pair[0]):
        texts = [line for _, line in group]
        is_shown = not number or any(each in texts[0] for each in shown)
        if is_shown:
            yield from texts
        elif was_shown:
            yield "    ..."
        was_shown = is_shown


def colored(line: str) -> str:
    """A line with the classes of its parts."""

    def part(kind: str, text: str) -> str:
        return f'<tspan class="{kind}">{escape(text)}</tspan>'

    if line.startswith("$ "):
        return part("command", line)
    if line.startswith("  line "):
        return part("source", line)
    if equation := EQUATION.fullmatch(line):
        before, name, type_, said = equation.groups()
        return escape(before) + part("name", name) + part("type", type_) + part("said", said)
    return escape(line)


def svg(lines: list[str]) -> str:
    width = round(2 * MARGIN + LETTER * max(map(len, lines)))
    height = 2 * MARGIN + LINE * len(lines)
    texts = [
        f'<text x="{MARGIN}" y="{MARGIN + LINE * row + SIZE}">{colored(line)}</text>'
        for row, line in enumerate(lines)
        if line
    ]
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = "<title>What the demo prints: a gradient, operation by operation</title>"
    background = '<rect width="100%" height="100%" rx="8"/>'
    return "\n".join([head, title, f"<style>{STYLE}</style>", background, *texts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(svg(chosen(printed())), encoding="utf-8")
