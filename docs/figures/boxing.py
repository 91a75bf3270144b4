"""One step of an interpreter: unbox the arguments, compute with the parent, box the result."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        640,
        300,
        "The product of a dual number and a constant: both are unboxed into a primal and a "
        "tangent, the rule computes with the parent as current interpreter, and primal and "
        "tangent of the result are put into one box.",
    )
    drawing.text((20, 18), "mul(x, 3.0)", "code", anchor="start")
    drawing.text((20, 62), "unbox", "small faint", anchor="start")
    drawing.text((20, 160), "compute", "small faint", anchor="start")
    drawing.text((20, 258), "box", "small faint", anchor="start")

    x = drawing.box(110, 40, 190, 44, "", "stage-1")
    drawing.text((x.x + 52, x.center[1]), "2.0", "code")
    drawing.text((x.x + 142, x.center[1]), "1.0", "code")
    drawing.line((x.center[0], x.y + 8), (x.center[0], x.y + 36), style="stage-1 ghost")
    drawing.text((x.center[0], 28), "x, a dual number", "small")
    y = drawing.box(390, 40, 190, 44, "", "plain")
    drawing.text((y.x + 52, y.center[1]), "3.0", "code")
    drawing.text((y.x + 142, y.center[1]), "0.0", "code faint")
    drawing.text((y.center[0], 28), "a number: its tangent is zero", "small")

    panel = drawing.box(100, 118, 520, 84, style="panel")
    drawing.text(
        (panel.x + panel.width - 12, 130), "parent is current", "small faint", anchor="end"
    )
    primal = drawing.box(130, 142, 130, 40, "2.0 · 3.0")
    tangent = drawing.box(330, 142, 230, 40, "1.0 · 3.0 + 2.0 · 0.0")
    drawing.arrow((x.x + 52, 84), (175, 142))
    drawing.arrow((y.x + 52, 84), (225, 142))
    drawing.arrow((x.x + 142, 84), (380, 142), style="stage-1")
    drawing.arrow((y.x + 142, 84), (515, 142), style="faint")

    result = drawing.box(220, 236, 190, 44, "", "stage-1")
    drawing.text((result.x + 52, result.center[1]), "6.0", "code")
    drawing.text((result.x + 142, result.center[1]), "3.0", "code")
    drawing.line(
        (result.center[0], result.y + 8), (result.center[0], result.y + 36), style="stage-1 ghost"
    )
    drawing.arrow(primal.bottom, (result.x + 52, 236))
    drawing.arrow(tangent.bottom, (result.x + 142, 236), style="stage-1")
    drawing.text((430, 250), "primal: the value", "small", anchor="start")
    drawing.text((430, 268), "tangent: how fast it changes", "small stage-1", anchor="start")
    return drawing.svg()
