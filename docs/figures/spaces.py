"""The four spaces of a derivative: tangents go forward, cotangents come back.

A cotangent is drawn as the parallel lines where it is a whole number: its value on an arrow is
the number of lines that the arrow crosses, and this number is the same on both sides.
"""

import numpy as np

from drawing import Box, Drawing, Point
from glassjax_stage2 import cos, jvp, sin
from glassjax_stage4 import vjp

X, TANGENT, COTANGENT = (1.4, 0.5), (0.9, 0.5), (2.6, 1.3)
SCALE = 52  # pixels of one unit


def f(r, angle):
    return r * cos(angle), r * sin(angle)


class Plane:
    """A tangent space: arrows from the middle of a box, and cotangents as lines across it."""

    def __init__(self, drawing: Drawing, box: Box) -> None:
        self.drawing, self.box = drawing, box
        drawing.box(box.x, box.y, box.width, box.height, style="plain")

    def at(self, x: float, y: float) -> Point:
        return self.box.x + 46 + SCALE * x, self.box.y + self.box.height - 44 - SCALE * y

    def arrow(self, tangent: Point) -> None:
        self.drawing.arrow(self.at(0, 0), self.at(*tangent), style="thick stage-1")

    def lines(self, cotangent: Point) -> None:
        """Draws where the cotangent is 0, 1, 2, ..."""
        u = np.array(cotangent)
        across = np.array([-u[1], u[0]]) / np.linalg.norm(u)
        for value in range(-3, 8):
            middle = u * value / (u @ u)
            inside = [
                self.at(*(middle + across * s))
                for s in np.arange(-4.0, 4.0, 0.02)
                if self.holds(self.at(*(middle + across * s)))
            ]
            if len(inside) > 12:
                style = "stage-4" if value == 0 else "stage-4 thin"
                self.drawing.line(inside[0], inside[-1], style=style)
                x, y = inside[0] if inside[0][1] > inside[-1][1] else inside[-1]
                if value >= 0 and x < self.box.x + self.box.width - 12:
                    self.drawing.text((x + 7, y - 7), str(value), "small stage-4")

    def holds(self, point: Point) -> bool:
        x, y = point
        box = self.box
        return box.x + 3 < x < box.x + box.width - 3 and box.y + 3 < y < box.y + box.height - 3


def svg() -> str:
    _, out_tangent = jvp(f, X, TANGENT)
    _, transposed = vjp(f, *X)
    in_cotangent = transposed(COTANGENT)
    answers = np.dot(in_cotangent, TANGENT), np.dot(COTANGENT, out_tangent)
    assert abs(answers[0] - answers[1]) < 1e-12
    drawing = Drawing(
        420,
        432,
        "Above, an arrow v in the tangent space of x and its image J v in that of f(x). Below, a "
        "cotangent u as parallel lines on the right, and its image on the left. Each arrow "
        f"crosses {answers[0]:.1f} lines of its own side's cotangent.",
    )
    left, right = Box(16, 40, 160, 140), Box(244, 40, 160, 140)
    for box, vector in ((left, TANGENT), (right, out_tangent)):
        plane = Plane(drawing, box)
        plane.arrow(vector)
        drawing.dot(plane.at(0, 0), "strong")
    drawing.text((left.x + 40, left.y + 116), "x", "code", anchor="end")
    drawing.text((right.x + 40, right.y + 116), "f(x)", "small code", anchor="end")
    drawing.text((left.x + 50 + SCALE * 0.9, left.y + 60), "v", "code stage-1", anchor="start")
    x, y = out_tangent
    drawing.text(
        (right.x + 52 + SCALE * x, right.y + 98 - SCALE * y), "J v", "code stage-1", anchor="start"
    )
    drawing.arrow((180, 110), (240, 110), label="jvp", label_style="small code", style="stage-1")
    drawing.text((96, 18), [("V", "strong"), ("  tangents at x", "")], "small")
    drawing.text((324, 18), [("W", "strong"), ("  tangents at f(x)", "")], "small")

    left, right = Box(16, 238, 160, 140), Box(244, 238, 160, 140)
    for box, vector, cotangent in (
        (left, TANGENT, in_cotangent),
        (right, out_tangent, COTANGENT),
    ):
        plane = Plane(drawing, box)
        plane.lines(cotangent)
        plane.arrow(vector)
        drawing.dot(plane.at(0, 0), "strong")
    drawing.arrow((240, 308), (180, 308), label="vjp", label_style="small code", style="stage-4")
    drawing.text((96, 216), [("V*", "strong"), ("  its cotangents", "")], "small")
    drawing.text((324, 216), [("W*", "strong"), ("  its cotangents", "")], "small")
    drawing.text((96, 394), "Jᵀu", "code stage-4")
    drawing.text((324, 394), "u", "code stage-4")
    drawing.text((96, 418), f"⟨Jᵀu, v⟩ = {answers[0]:.2f}", "small code")
    drawing.text((324, 418), f"⟨u, J v⟩ = {answers[1]:.2f}", "small code")
    drawing.text((210, 418), "=", "code strong")
    return drawing.svg()
