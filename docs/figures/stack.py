"""The stack of interpreters while `deriv(deriv(f))(3.0)` runs."""

from itertools import pairwise

from drawing import Drawing

# Each rule of jvp makes of one multiplication three and an addition, and of an addition two.
ASKED = ("1 mul", "3 mul, 1 add", "9 mul, 5 add")


def svg() -> str:
    drawing = Drawing(
        420,
        318,
        "Three interpreters on a stack. The multiplication of f is asked of the topmost, that of "
        "the inner deriv. Its rule computes with the one below, that of the outer deriv, whose "
        "rule computes with evaluation, at the bottom.",
    )
    drawing.text((12, 22), "f computes", "small faint", anchor="start")
    drawing.text((82, 22), "mul(x, x)", "code", anchor="start")
    rows = [
        ("JVPInterpreter", "of the inner deriv", "stage-1"),
        ("JVPInterpreter", "of the outer deriv", "stage-2"),
        ("EvalInterpreter", "the bottom: numbers", "plain"),
    ]
    values = ["Dual( Dual(3, 1),\n      Dual(1, 0) )", "Dual(3, 1)", "3"]
    boxes = []
    for i, (name, of, style) in enumerate(rows):
        box = drawing.box(12, 62 + 92 * i, 176, 56, style=style)
        drawing.text((box.center[0], box.center[1] - 10), name, "code")
        drawing.text((box.center[0], box.center[1] + 12), of, "small faint")
        boxes.append(box)
    drawing.arrow((100, 34), boxes[0].top)
    for i, (above, below) in enumerate(pairwise(boxes)):
        drawing.arrow(above.bottom, below.top, label=f"its rule computes: {ASKED[i + 1]}")
    drawing.text((244, 22), "what x is there", "small faint", anchor="start")
    for box, value in zip(boxes, values, strict=True):
        drawing.line(box.right, (236, box.center[1]), style="ghost faint")
        drawing.text((244, box.center[1]), value, "code", anchor="start")
    return drawing.svg()
