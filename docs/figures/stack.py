"""The stack of interpreters while `deriv(deriv(f))(3.0)` runs."""

from itertools import pairwise

from drawing import Drawing

# Each rule of jvp makes of one multiplication three and an addition, and of an addition two.
ASKED = ("1 mul", "3 mul, 1 add", "9 mul, 5 add")


def svg() -> str:
    drawing = Drawing(
        640,
        318,
        "Three interpreters on a stack. The multiplication of f is asked of the topmost, that of "
        "the inner deriv. Its rule computes with the one below, that of the outer deriv, whose "
        "rule computes with evaluation, at the bottom.",
    )
    drawing.text((30, 22), "f computes", "small faint", anchor="start")
    drawing.text((104, 22), "mul(x, x)", "code", anchor="start")
    rows = [
        ("JVPInterpreter", "of the inner deriv", "stage-1", "current"),
        ("JVPInterpreter", "of the outer deriv", "stage-2", "its parent"),
        ("EvalInterpreter", "numbers", "plain", "the bottom"),
    ]
    values = ["Dual( Dual(3, 1), Dual(1, 0) )", "Dual(3, 1)", "3"]
    boxes = []
    for i, (name, of, style, _) in enumerate(rows):
        box = drawing.box(30, 62 + 92 * i, 210, 56, style=style)
        drawing.text((box.center[0], box.center[1] - 10), name, "code")
        drawing.text((box.center[0], box.center[1] + 12), of, "small faint")
        boxes.append(box)
    drawing.arrow((135, 34), boxes[0].top)
    for i, (above, below) in enumerate(pairwise(boxes)):
        drawing.arrow(above.bottom, below.top, label=f"its rule computes: {ASKED[i + 1]}")
    drawing.text((290, 22), "what x is there", "small faint", anchor="start")
    for box, value in zip(boxes, values, strict=True):
        drawing.line(box.right, (280, box.center[1]), style="ghost faint")
        drawing.text((290, box.center[1]), value, "code", anchor="start")
    for box, (_, _, style, what) in zip(boxes, rows, strict=True):
        drawing.text(
            (622, box.center[1]), what, f"small {style.replace('plain', 'faint')}", anchor="end"
        )
    return drawing.svg()
