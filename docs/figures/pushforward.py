"""A function of two numbers: it maps points to points, and arrows at a point to arrows."""

import math

from moving import Slider, moving

from drawing import Axes, Box, Drawing
from glassjax_stage2 import cos, jvp, sin

POINT = 1.4, 0.7
SPEED = 0.5
TURNS = 24


def f(r, angle):
    return r * cos(angle), r * sin(angle)


def arrow(drawing: Drawing, axes: Axes, at, along, style: str) -> None:
    end = at[0] + along[0], at[1] + along[1]
    drawing.arrow(axes(*at), axes(*end), style=f"thick {style}")


def direction(turn: int) -> tuple[float, float]:
    angle = 2 * math.pi * turn / TURNS
    return SPEED * math.cos(angle), SPEED * math.sin(angle)


def at(turn: int) -> Drawing:
    tangent = direction(turn)
    value, value_dot = jvp(f, POINT, tangent)
    shown = [", ".join(f"{each + 0.0:.2f}" for each in pair) for pair in (tangent, value_dot)]
    drawing = Drawing(420, 268, f"jvp maps the tangent ({shown[0]}) to ({shown[1]})")
    before = drawing.axes(Box(24, 54, 160, 140), (0.0, 2.2), (0.0, 1.925))
    after = drawing.axes(Box(244, 44, 160, 150), (-0.3, 2.1), (0.0, 2.25))
    steps = [k / 12 for k in range(13)]
    for k in range(7):  # a grid, and what f makes of it
        r, angle = 0.5 + 0.25 * k, 0.25 * k
        for axes, of in ((before, lambda *p: p), (after, f)):
            drawing.line(*(axes(*of(r, 1.5 * s)) for s in steps), style="faint thin")
            drawing.line(*(axes(*of(0.5 + 1.5 * s, angle)) for s in steps), style="faint thin")
    around = [direction(k) for k in range(TURNS + 1)]
    drawing.line(*(before(POINT[0] + x, POINT[1] + y) for x, y in around), style="ghost stage-1")
    images = [jvp(f, POINT, each)[1] for each in around]
    drawing.line(*(after(value[0] + x, value[1] + y) for x, y in images), style="ghost stage-1")
    arrow(drawing, before, POINT, tangent, "stage-1")
    arrow(drawing, after, value, value_dot, "stage-1")
    drawing.dot(before(*POINT), "strong", 5)
    drawing.dot(after(*value), "strong", 5)
    drawing.arrow((192, 114), (232, 114), label="f", label_style="small code")
    drawing.text((104, 16), "x and its tangent", "small strong")
    drawing.text((324, 16), "f(x) and its tangent", "small strong")
    for box, text in ((Box(24, 214, 160, 36), shown[0]), (Box(244, 214, 160, 36), shown[1])):
        drawing.box(box.x, box.y, box.width, box.height, style="stage-1")
        drawing.text(box.center, text, "code")
    drawing.arrow((184, 232), (244, 232), label="jvp", label_style="small code")
    return drawing


def svg() -> str:
    labels = [f"{360 * k // TURNS}°" for k in range(TURNS)]
    return moving(
        "A function of two numbers as a map of a plane with a grid to another plane. At a point, "
        "an arrow is mapped to an arrow, and a circle of arrows to an ellipse.",
        [Slider("direction", labels, 3)],
        at,
    )
