"""One step of an interpreter: unbox the arguments, compute with the parent, box the result."""

from drawing import Box, Drawing


def pair(drawing: Drawing, box: Box, primal: str, tangent: str, style: str) -> None:
    """Writes the two halves of a dual number, with a line between them."""
    drawing.text((box.x + box.width * 0.27, box.center[1]), primal, "code")
    drawing.text((box.x + box.width * 0.75, box.center[1]), tangent, style)


def svg() -> str:
    drawing = Drawing(
        420,
        336,
        "The product of a dual number and a constant: both are unboxed into a primal and a "
        "tangent, the rule computes with the parent as current interpreter, and primal and "
        "tangent of the result are put into one box.",
    )
    drawing.text((14, 18), "mul(x, 3.0)", "code", anchor="start")
    drawing.text((406, 18), "unbox", "small faint", anchor="end")
    x = drawing.box(14, 60, 150, 44, "", "stage-1")
    pair(drawing, x, "2.0", "1.0", "code")
    drawing.line((x.center[0], x.y + 8), (x.center[0], x.y + 36), style="stage-1 ghost")
    drawing.text((x.center[0], 48), "x, a dual number", "small")
    y = drawing.box(238, 60, 168, 44, "", "plain")
    pair(drawing, y, "3.0", "0.0", "code faint")
    drawing.text((y.center[0], 48), "a number: its tangent is zero", "small")

    drawing.box(8, 138, 404, 92, style="panel")
    drawing.text((280, 154), "compute by the parent", "small faint")
    primal = drawing.box(24, 172, 110, 42, "2.0 · 3.0")
    drawing.box(186, 172, 212, 42, "1.0 · 3.0 + 2.0 · 0.0")
    drawing.arrow((x.x + 40, 104), (60, 172))
    drawing.arrow((y.x + 45, 104), (110, 172))
    drawing.arrow((x.x + 112, 104), (220, 172), style="stage-1")
    drawing.arrow((y.x + 126, 104), (364, 172), style="faint")

    result = drawing.box(60, 272, 150, 44, "", "stage-1")
    pair(drawing, result, "6.0", "3.0", "code")
    drawing.line(
        (result.center[0], result.y + 8), (result.center[0], result.y + 36), style="stage-1 ghost"
    )
    drawing.arrow(primal.bottom, (result.x + 40, 272))
    drawing.arrow((240, 214), (result.x + 112, 272), style="stage-1")
    drawing.text((406, 254), "box", "small faint", anchor="end")
    drawing.text((226, 286), "primal: the value", "small", anchor="start")
    drawing.text((226, 304), "tangent: how fast it changes", "small stage-1", anchor="start")
    return drawing.svg()
