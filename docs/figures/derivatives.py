"""A function and its first four derivatives, computed by nested forward mode under `vmap`."""

import numpy as np

from drawing import Box, Drawing
from glassjax_stage2 import deriv, exp, vmap

STYLES = ["strong", "stage-1", "stage-2", "stage-3", "stage-4"]
NAMES = ["tanh", "1st", "2nd", "3rd", "4th derivative"]


def tanh(x):
    y = exp(-2.0 * x)
    return (1.0 - y) / (1.0 + y)


def svg() -> str:
    drawing = Drawing(
        640,
        290,
        "The graphs of tanh and its first four derivatives between -4 and 4. The first is never "
        "zero; each of the others crosses zero once more than the one before.",
    )
    axes = drawing.axes(Box(40, 14, 560, 216), (-4.0, 4.0), (-5.0, 5.0))
    drawing.line(axes(-4.0, 0.0), axes(4.0, 0.0), style="ghost faint")
    for value in (-4, 0, 4):
        drawing.text((34, axes(0.0, value)[1]), str(value), "small code", anchor="end")
        drawing.text((axes(value, 0.0)[0], 244), str(value), "small code")
    xs = np.linspace(-4.0, 4.0, 161)
    f = tanh
    for style in STYLES:
        drawing.line(*map(axes, xs, vmap(f)(xs)), style=style)
        f = deriv(f)
    for number, (style, name) in enumerate(zip(STYLES, NAMES, strict=True)):
        x = 70 + 105 * number
        drawing.line((x, 272), (x + 24, 272), style=style)
        drawing.text((x + 30, 272), name, "small", anchor="start")
    return drawing.svg()
