"""One evaluation, many tangents: the line that `linearize` returns, and a tangent to choose."""

import numpy as np
from moving import Slider, moving

from drawing import Box, Drawing
from glassjax_stage2 import exp, sin
from glassjax_stage4 import linearize

POINT = 0.5
TANGENTS = [k / 20 for k in range(-24, 25)]
BOX = Box(34, 14, 372, 220)


def h(x):
    return exp(sin(x))


VALUE, H_JVP = linearize(h, POINT)  # once, for all states


def at(k: int) -> Drawing:
    tangent = TANGENTS[k]
    change = float(H_JVP(tangent))
    drawing = Drawing(420, 330, f"h_jvp({tangent}) is {change:.3f}")
    axes = drawing.axes(BOX, (-1.0, 2.1), (0.0, 3.4))
    drawing.curve(h, np.linspace(-0.95, 2.0, 80), axes)
    drawing.line(*(axes(POINT + t, VALUE + float(H_JVP(t))) for t in (-1.3, 1.35)), style="stage-1")
    x, y = POINT + tangent, VALUE + change
    drawing.line(axes(POINT, 0.0), axes(POINT, VALUE), style="ghost")
    if tangent:
        drawing.arrow(axes(POINT, VALUE), axes(x, VALUE), style="stage-1 thick")
        drawing.arrow(axes(x, VALUE), axes(x, y), style="stage-4 thick")
    else:
        for style in ("stage-1 thick", "stage-4 thick"):
            drawing.line(axes(x, y), axes(x, y), style=style)
            drawing.add("polygon", f"head {style} none", points="0,0")
    drawing.dot(axes(POINT, VALUE), "strong", 5)
    drawing.dot(axes(x, y), "stage-4", 5)
    drawing.text((axes(-0.7, 0)[0], axes(0, 0.9)[1]), "h", "code")
    drawing.text((axes(POINT, 0)[0], 248), f"{POINT}", "small code")

    once = drawing.box(14, 278, 184, 40, style="stage-5")
    drawing.text((once.center[0], 268), "evaluated once", "small faint")
    drawing.text(once.center, f"h({POINT}) = {VALUE:.3f}", "small code")
    often = drawing.box(222, 278, 184, 40, style="stage-4")
    drawing.text((often.center[0], 268), "a linear program, for any tangent", "small faint")
    runs = [("h_jvp(", ""), (f"{tangent}", "stage-1"), (") = ", ""), (f"{change:.3f}", "stage-4")]
    drawing.text(often.center, runs, "small code")
    return drawing


def svg() -> str:
    axes = Drawing(0, 0, "").axes(BOX, (-1.0, 2.1), (0.0, 3.4))
    handles = [axes(POINT + t, VALUE) for t in TANGENTS]
    slider = Slider("tangent", list(map(str, TANGENTS)), TANGENTS.index(0.8), handles=handles)
    return moving(
        "The curve of h and its tangent line at 0.5. A step along x, the tangent, gives a step up "
        "or down along the line, by one linear program; h is evaluated only once.",
        [slider],
        at,
    )
