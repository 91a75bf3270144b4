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
(dashed), `thin`, `thick`, `pale` and `plain`; for text `stage-1` to `stage-5`, `strong`, `faint`,
`small`, `large` and `code`.

A drawing of 420 pixels can be read on a telephone; what is wider stands side by side as `panels`,
and below one another where there is less room. `moving.py` lets the reader change a drawing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

Point = tuple[float, float]
Runs = Sequence[tuple[str, str]]  # pieces of a line of text, each with its style

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


@dataclass(frozen=True)
class Element:
    """An SVG element, with what it contains."""

    tag: str
    attributes: dict[str, str]
    content: str = ""

    def svg(self) -> str:
        attributes = "".join(f' {name}="{value}"' for name, value in self.attributes.items())
        return f"<{self.tag}{attributes}>{self.content}</{self.tag}>"


class Drawing:
    """An SVG image that is read aloud as `title`."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.elements: list[Element] = []

    def add(self, tag: str, style: str, content: str = "", **attributes: float | str) -> None:
        """Adds an SVG element; an underscore in the name of an attribute is a hyphen."""
        texts = {
            name.replace("_", "-"): value if isinstance(value, str) else f"{round(value, 2):g}"
            for name, value in attributes.items()
        }
        self.elements.append(Element(tag, {"class": style, **texts}, content))

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
        self.add("rect", f"box {style}", x=x, y=y, width=width, height=height, rx=radius)
        box = Box(x, y, width, height)
        if text:
            self.text(box.center, text, text_style)
        return box

    def text(self, at: Point, text: str | Runs, style: str = "", *, anchor: str = "middle") -> None:
        """Writes text around a point; `anchor` says which end of it: start, middle or end."""
        names = style.split()
        size = 12 if "small" in names else 22 if "large" in names else 14
        lines = text.split("\n") if isinstance(text, str) else [text]
        x, y = at
        y -= (len(lines) - 1) / 2 * size * 1.35
        for line in lines:
            runs = [(line, "")] if isinstance(line, str) else line
            content = "".join(
                f'<tspan class="{look}">{escape(run)}</tspan>' if look else escape(run)
                for run, look in runs
            )
            place = {"x": x, "y": y + size * BASELINE, "font_size": size, "text_anchor": anchor}
            self.add("text", style, content, **place, **{"xml:space": "preserve"})
            y += size * 1.35

    def line(self, *points: Point, style: str = "") -> None:
        """Draws a line through the points."""
        coordinates = " ".join(f"{round(x, 1):g},{round(y, 1):g}" for x, y in points)
        self.add("polyline", f"line {style}", points=coordinates)

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
        coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in head)
        self.add("polygon", f"head {style}", points=coordinates)
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

    def area(self, *points: Point, style: str = "") -> None:
        """Fills the area that the points surround."""
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.add("polygon", f"area {style}", points=corners)

    def image(self, at: Point, pixels: Sequence[Sequence[float]], size: float) -> None:
        """Draws an image below and right of a point: squares from 0, white, to 1, ink."""
        squares: dict[float, list[str]] = {}
        for row, values in enumerate(pixels):
            for column, value in enumerate(values):
                x, y = at[0] + column * size, at[1] + row * size
                squares.setdefault(value, []).append(f"M{x:g} {y:g}h{size:g}v{size:g}h{-size:g}z")
        for value, each in squares.items():
            if value:
                self.add("path", "pixels", fill_opacity=float(value), d="".join(each))

    def dot(self, at: Point, style: str = "", radius: float = 4.5) -> None:
        """Draws a point."""
        x, y = at
        self.add("circle", f"dot {style}", cx=x, cy=y, r=radius)

    def axes(self, box: Box, x: tuple[float, float], y: tuple[float, float]) -> "Axes":
        """Draws two axes around a box, for values from the first to the second of `x` and `y`."""
        left, bottom = box.x, box.y + box.height
        self.arrow((left, bottom), (box.x + box.width, bottom), style="faint")
        self.arrow((left, bottom), (left, box.y), style="faint")
        return Axes(box, x, y)

    def svg(self) -> str:
        elements = "".join(element.svg() for element in self.elements)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'style="max-width: {self.width:g}px" role="img">'
            f"<title>{escape(self.title)}</title>{elements}</svg>"
        )


def panels(*drawings: Drawing) -> str:
    """Drawings side by side, or below one another where a window is narrow."""
    return f'<div class="panels">{"".join(drawing.svg() for drawing in drawings)}</div>'


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
