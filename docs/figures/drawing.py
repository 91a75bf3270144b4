"""Drawings as SVG: boxes, arrows, lines, curves and text.

A figure is a file beside this one, with a function `svg` that returns one drawing:

    def svg() -> str:
        drawing = Drawing(300, 80, "Evaluation: a number goes in, its sine comes out")
        x = drawing.box(10, 20, 60, 40, "2.0")
        sin = drawing.box(120, 20, 60, 40, "sin", "stage-2")
        drawing.arrow(x.right, sin.left)
        return drawing.svg()

Lengths are pixels at full size, y goes down, and a point is a pair. Colours are no concern of a
figure: a `style` is one or more classes of `docs/assets/figures.css`, which gives each its colours
in both schemes. For boxes, lines and curves these are `stage-1` to `stage-5`, `strong`, `ghost`
(dashed) and `plain`; for text `stage-1` to `stage-5`, `strong`, `faint`, `small` and `code`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

Point = tuple[float, float]

HEAD = 7  # the length of an arrow's head
BASELINE = 0.35  # of the height of letters, from the middle of a line of text to its base


@dataclass(frozen=True)
class Box:
    """A rectangle that was drawn, for what is placed relative to it."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> Point:
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> Point:
        return self.x + self.width, self.y + self.height / 2

    @property
    def top(self) -> Point:
        return self.x + self.width / 2, self.y

    @property
    def bottom(self) -> Point:
        return self.x + self.width / 2, self.y + self.height

    @property
    def center(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2


class Drawing:
    """An SVG image that is read aloud as `title`."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.elements: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        text: str = "",
        style: str = "plain",
        *,
        text_style: str = "code",
        radius: float = 5,
    ) -> Box:
        """Draws a rectangle with text in its middle; newlines break the text."""
        self.elements.append(
            f'<rect class="box {style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'rx="{radius:g}"/>'
        )
        box = Box(x, y, width, height)
        if text:
            self.text(box.center, text, text_style)
        return box

    def text(self, at: Point, text: str, style: str = "", *, anchor: str = "middle") -> None:
        """Writes text around a point; `anchor` says which end of it: start, middle or end."""
        size = 12 if "small" in style.split() else 14
        lines = text.split("\n")
        x, y = at
        y -= (len(lines) - 1) / 2 * size * 1.35
        for line in lines:
            self.elements.append(
                f'<text class="{style}" x="{x:g}" y="{y + size * BASELINE:g}" font-size="{size}" '
                f'text-anchor="{anchor}" xml:space="preserve">{escape(line)}</text>'
            )
            y += size * 1.35

    def line(self, *points: Point, style: str = "") -> None:
        """Draws a line through the points."""
        coordinates = " ".join(f"{x:.4g},{y:.4g}" for x, y in points)
        self.elements.append(f'<polyline class="line {style}" points="{coordinates}"/>')

    def arrow(
        self, *points: Point, label: str = "", style: str = "", label_style: str = "small"
    ) -> None:
        """Draws a line through the points, with a head at the last and a label in its middle."""
        (x0, y0), (x1, y1) = points[-2:]
        angle = math.atan2(y1 - y0, x1 - x0)
        cos, sin = math.cos(angle), math.sin(angle)
        base = x1 - HEAD * cos, y1 - HEAD * sin
        wing = HEAD / 2
        head = (
            (x1, y1),
            (base[0] - wing * sin, base[1] + wing * cos),
            (base[0] + wing * sin, base[1] - wing * cos),
        )
        self.line(*points[:-1], base, style=style)
        coordinates = " ".join(f"{x:.2f},{y:.2f}" for x, y in head)
        self.elements.append(f'<polygon class="head {style}" points="{coordinates}"/>')
        if label:
            longest = max(pairwise(points), key=lambda ends: math.dist(*ends))
            (xa, ya), (xb, yb) = longest
            middle = (xa + xb) / 2, (ya + yb) / 2
            if abs(xb - xa) >= abs(yb - ya):
                self.text((middle[0], middle[1] - 10), label, label_style)
            else:
                self.text((middle[0] + 8, middle[1]), label, label_style, anchor="start")

    def curve(self, function: Callable[[float], float], xs: Sequence[float], axes: "Axes") -> None:
        """Draws the graph of a function over the points `xs`."""
        self.line(*[axes(x, function(x)) for x in xs], style="strong")

    def dot(self, at: Point, style: str = "", radius: float = 4.5) -> None:
        """Draws a point."""
        x, y = at
        self.elements.append(f'<circle class="dot {style}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def axes(self, box: Box, x: tuple[float, float], y: tuple[float, float]) -> "Axes":
        """Draws two axes around a box, for values from the first to the second of `x` and `y`."""
        left, bottom = box.x, box.y + box.height
        self.arrow((left, bottom), (box.x + box.width, bottom), style="faint")
        self.arrow((left, bottom), (left, box.y), style="faint")
        return Axes(box, x, y)

    def svg(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'style="max-width: {self.width:g}px" role="img">'
            f"<title>{escape(self.title)}</title>{''.join(self.elements)}</svg>"
        )


@dataclass(frozen=True)
class Axes:
    """Where the values of a graph are in its drawing."""

    box: Box
    x: tuple[float, float]
    y: tuple[float, float]

    def __call__(self, x: float, y: float) -> Point:
        box = self.box
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return box.x + across * box.width, box.y + (1 - up) * box.height
