"""A dual number on the curve of `foo`: a point, and the slope there. The reader drags it."""

from moving import Slider, moving

from drawing import Box, Drawing
from glassjax_stage1 import add, jvp, mul

XS = [k / 10 for k in range(-40, 24)]
WIDTH, BOX = 420, Box(34, 14, 372, 250)


def foo(x):
    return mul(x, add(x, 3.0))


def at(x: float) -> Drawing:
    value, slope = (round(each, 2) for each in jvp(foo, x, 1.0))
    drawing = Drawing(WIDTH, 356, f"At x = {x}, foo is {value} and its slope is {slope}")
    axes = drawing.axes(BOX, (-4.2, 3.6), (-4.0, 20.0))
    drawing.line(axes(-4.2, 0.0), axes(3.5, 0.0), style="faint")
    drawing.text((axes(0, 0)[0] + 8, axes(0, 0)[1] + 11), "0", "small faint code")
    drawing.curve(foo, [k / 20 for k in range(-82, 62)], axes)

    def tangent(x1: float):
        return axes(x1, value + slope * (x1 - x))

    reach = 2.4 / (1 + slope * slope / 12) ** 0.5
    drawing.line(tangent(x - reach), tangent(x + max(reach, 1)), style="stage-1")
    drawing.line(axes(x, 0.0), axes(x, value), style="ghost")
    # One to the right, the slope up.
    drawing.line(axes(x, value), axes(x + 1, value), tangent(x + 1), style="stage-1")
    below = 12 if slope >= 0 else -12
    drawing.text((axes(x + 0.5, 0)[0], axes(0, value)[1] + below), "1", "small stage-1 code")
    at_side = axes(x + 1, value + slope / 2)
    drawing.text((at_side[0] + 6, at_side[1]), f"{slope}", "small stage-1 code", anchor="start")
    drawing.dot(axes(x, value), "strong", 6)
    drawing.text((axes(-3.4, 0)[0], axes(0, 4.2)[1]), "foo", "code")

    before = drawing.box(20, 298, 150, 40, style="stage-5")
    drawing.text(before.center, [(f"{x}", "strong"), (" + ", ""), ("1.0 ε", "stage-1")], "code")
    after = drawing.box(230, 298, 172, 40, style="stage-5")
    runs = [(f"{value}", "strong"), (" + " if slope >= 0 else " - ", "")]
    drawing.text(after.center, [*runs, (f"{abs(slope)} ε", "stage-1")], "code")
    drawing.arrow(before.right, after.left, label="foo", label_style="small code")
    drawing.text((before.center[0], 288), "x, and how fast it changes", "small faint")
    drawing.text((after.center[0], 288), "the point, and the slope", "small faint")
    return drawing


def svg() -> str:
    axes = Drawing(0, 0, "").axes(BOX, (-4.2, 3.6), (-4.0, 20.0))
    handles = [axes(x, foo(x)) for x in XS]
    x = Slider("x", list(map(str, XS)), XS.index(2.0), handles=handles)
    return moving(
        "The curve of foo, with a point and the tangent there: a dual number is both. foo maps the "
        "dual number of x to that of its result.",
        [x],
        lambda k: at(XS[k]),
    )
