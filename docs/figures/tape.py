"""A tape: a node for each result, which knows how to send a cotangent back to its parents."""

from drawing import Drawing

# Result, operation, pull-backs (parent, factor), cotangent.
TAPE = [
    ("x", "2.0", [], "-1.248 + 1 = -0.248"),
    ("y", "3.0", [], "0.909"),
    ("a = sin(x)", "0.909", [(0, "cos x")], "3"),
    ("b = a * y", "2.728", [(2, "y"), (1, "a")], "1"),
    ("c = b + x", "4.728", [(3, "1"), (0, "1")], "1"),
]


def svg() -> str:
    drawing = Drawing(
        420,
        290,
        "A tape of five nodes, one for each value of sin(x) * y + x. Every node of a result "
        "points at the nodes of its operands, with the factor for cotangents. Read from the last "
        "to the first, the tape gives the gradient.",
    )
    drawing.arrow((10, 40), (10, 270))
    drawing.text((4, 22), "recorded", "small faint", anchor="start")
    drawing.arrow((410, 270), (410, 40), style="stage-4")
    drawing.text((416, 22), "played", "small stage-4", anchor="end")
    drawing.text((98, 22), "value", "small faint")
    drawing.text((204, 22), "pulls cotangents back", "small faint")
    drawing.text((316, 22), "cotangent", "small stage-4")
    names = [name.split()[0] for name, *_ in TAPE]
    for number, (name, value, pull_backs, cotangent) in enumerate(TAPE):
        y = 40 + 48 * number
        box = drawing.box(17, y, 131, 36)
        drawing.text((box.x + 6, box.center[1]), name, "small code", anchor="start")
        drawing.text((box.x + 125, box.center[1]), value, "small code", anchor="end")
        drawing.box(256, y, 146, 36, cotangent, "stage-4", text_style="small code")
        for i, (parent, factor) in enumerate(pull_backs):
            middle = y + 18 + (i - (len(pull_backs) - 1) / 2) * 17
            text = f"{names[parent]} += {names[number]}·{factor}"
            drawing.text((153, middle), text, "small code", anchor="start")
    return drawing.svg()
