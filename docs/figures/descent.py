"""Gradient descent on the contours of a loss, for the step size that the reader chooses."""

import math

import numpy as np
from moving import Slider, moving

from drawing import Box, Drawing
from glassjax_stage4 import grad

START = -2.6, 1.3
STEPS = 14
SIZES = [round(0.02 * k, 2) for k in range(1, 22)]
BOX = Box(14, 14, 392, 210)


def loss(x, y):
    return 0.5 * (x * x + 5.0 * y * y)


def path(size: float) -> list[tuple[float, float]]:
    points = [START]
    for _ in range(STEPS):
        x, y = points[-1]
        x_bar, y_bar = grad(loss, (0, 1))(x, y)
        points.append((x - size * float(x_bar), y - size * float(y_bar)))
    return points


def at(k: int) -> Drawing:
    points = path(SIZES[k])
    value = float(loss(*points[-1]))
    says = f"step size {SIZES[k]}: after {STEPS} steps the loss is {value:.3g}"
    drawing = Drawing(420, 240, says)
    drawing.box(BOX.x, BOX.y, BOX.width, BOX.height)
    centre, scale = BOX.center, 65.0

    def place(x: float, y: float) -> tuple[float, float]:
        return centre[0] + scale * x, centre[1] - scale * y

    turns = np.linspace(0.0, 2 * math.pi, 73)
    for level in (0.05, 0.25, 0.6, 1.1, 1.75):
        a, b = math.sqrt(2 * level), math.sqrt(2 * level / 5)
        drawing.line(*(place(a * math.cos(t), b * math.sin(t)) for t in turns), style="faint thin")
    for level in (3.0,):
        a, b = math.sqrt(2 * level), math.sqrt(2 * level / 5)
        drawing.line(*(place(a * math.cos(t), b * math.sin(t)) for t in turns), style="faint thin")
    limits = [(min(max(x, -2.95), 2.95), min(max(y, -1.55), 1.55)) for x, y in points]
    drawing.line(*(place(*p) for p in limits), style="stage-4")
    for p in limits:
        drawing.dot(place(*p), "stage-4", 3)
    x, y = START
    x_bar, y_bar = (float(each) for each in grad(loss, (0, 1))(x, y))
    length = 0.09
    end = place(x - length * x_bar, y - length * y_bar)
    drawing.arrow(place(x, y), end, style="stage-1 thick")
    drawing.dot(place(x, y), "strong", 5)
    return drawing


def svg() -> str:
    return moving(
        "Contours of a loss, long ellipses, and a path of gradient descent that begins on the "
        "left. Small steps follow the valley; large ones jump from one side of it to the other.",
        [Slider("step size", list(map(str, SIZES)), SIZES.index(0.3))],
        at,
    )
