"""A function and its first four derivatives, by nested forward mode under `vmap`.

A point moves along each curve with a piece of its tangent: the slope of a curve is the height of
the next one.
"""

import numpy as np
from moving import Choice, Slider, moving

from drawing import Box, Drawing
from glassjax_stage2 import deriv, exp, sin, vmap

STYLES = ["strong", "stage-1 thick", "stage-2 thick", "stage-3 thick", "stage-4 thick"]
NAMES = ["f" + "'" * order for order in range(5)]
XS = np.linspace(-4.0, 4.0, 161)
STOPS = range(0, 161, 2)  # of the point that moves
BOX = Box(30, 10, 380, 250)


def tanh(x):
    y = exp(-2.0 * x)
    return (1.0 - y) / (1.0 + y)


def x_sin_x(x):
    return x * sin(x)


FUNCTIONS = {"tanh(x)": tanh, "x * sin(x)": x_sin_x}


def orders(f, count: int) -> list[np.ndarray]:
    """The values of `f` and of its derivatives at all points."""
    found = []
    for _ in range(count):
        found.append(vmap(f)(XS))
        f = deriv(f)
    return found


CURVES = [orders(f, len(NAMES) + 1) for f in FUNCTIONS.values()]


def at(which: int, k: int) -> Drawing:
    curves, x = CURVES[which], XS[k]
    says = f"x = {x:.1f}: f is {curves[0][k]:.2f}, and its slope is {curves[1][k]:.2f}"
    drawing = Drawing(420, 322, says)
    axes = drawing.axes(BOX, (-4.1, 4.1), (-6.0, 6.0))
    drawing.line(axes(-4.1, 0.0), axes(4.1, 0.0), style="ghost faint")
    for value in (-4, 0, 4):
        drawing.text((24, axes(0, value)[1]), str(value), "small code", anchor="end")
        drawing.text((axes(value, 0)[0], 274), str(value), "small code")
    drawing.line(axes(x, -6.0), axes(x, 6.0), style="faint")
    for style, curve in zip(STYLES, curves, strict=False):
        drawing.line(*map(axes, XS[::2], curve[::2]), style=f"{style} pale")
    for style, curve, slope in zip(STYLES, curves, curves[1:], strict=False):
        reach = 0.45 / (1 + (slope[k] / 1.6) ** 2) ** 0.5
        ends = [axes(x + s, curve[k] + slope[k] * s) for s in (-reach, reach)]
        drawing.line(*ends, style=style)
        drawing.dot(axes(x, curve[k]), style, 3.5)
    for number, (style, name) in enumerate(zip(STYLES, NAMES, strict=True)):
        left = 10 + 80 * number
        drawing.line((left, 306), (left + 18, 306), style=style)
        drawing.text((left + 22, 306), name, "small strong", anchor="start")
        drawing.text((left + 45, 306), f"{curves[number][k]:.2f}", "small", anchor="start")
    return drawing


def svg() -> str:
    axes = Drawing(0, 0, "").axes(BOX, (-4.1, 4.1), (-6.0, 6.0))
    slider = Slider("x", [f"{XS[k]:.1f}" for k in STOPS], 30, 12, [axes(XS[k], 0) for k in STOPS])
    return moving(
        "The graphs of a function and its first four derivatives between -4 and 4, with a point "
        "on each. The slope of each curve at x is the height of the next one.",
        [Choice("f(x) =", list(FUNCTIONS)), slider],
        lambda which, stop: at(which, STOPS[stop]),
    )
