"""A dual number: a point of a curve, and the slope there."""

from drawing import Box, Drawing


def f(x: float) -> float:
    return 0.3 * x * x + 0.4


def svg() -> str:
    drawing = Drawing(
        640,
        270,
        "A dual number is the point of a curve at x = 2, and the slope of its tangent there. "
        "A function of dual numbers maps the pair at x to the pair at f(x).",
    )
    axes = drawing.axes(Box(40, 16, 290, 218), (0.0, 3.4), (0.0, 3.9))
    drawing.curve(f, [i / 20 for i in range(67)], axes)
    slope = 0.6 * 2.0
    drawing.line(*[axes(x, f(2.0) + slope * (x - 2.0)) for x in (1.0, 3.2)], style="stage-1")
    drawing.line(axes(2.0, 0.0), axes(2.0, f(2.0)), style="ghost")
    drawing.line(axes(0.0, f(2.0)), axes(2.0, f(2.0)), style="ghost")
    # One to the right, the slope up.
    drawing.line(axes(2.0, f(2.0)), axes(3.0, f(2.0)), axes(3.0, f(2.0) + slope), style="stage-1")
    drawing.text((axes(2.5, 0)[0], axes(0, f(2.0))[1] + 12), "1", "small stage-1")
    drawing.text(
        (axes(3.0, 0)[0] + 8, axes(0, f(2.0) + slope / 2)[1]),
        "1.2",
        "small stage-1",
        anchor="start",
    )
    drawing.dot(axes(2.0, f(2.0)), "strong")
    drawing.text((axes(2.0, 0)[0], 250), "x = 2", "small code")
    drawing.text((34, axes(0, f(2.0))[1]), "1.6", "small code", anchor="end")
    drawing.text((axes(0.6, 0)[0], axes(0, f(0.6))[1] - 14), "f", "code")

    before = drawing.box(400, 50, 190, 44, "x = 2 + 1 ε", "plain")
    after = drawing.box(400, 160, 190, 44, "f(x) = 1.6 + 1.2 ε", "plain")
    drawing.arrow(before.bottom, after.top, label="f")
    drawing.text((488, 222), "point", "small strong")
    drawing.text((542, 222), "slope", "small stage-1")
    return drawing.svg()
