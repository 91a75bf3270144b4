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
        640,
        290,
        "A tape of five nodes, one for each value of sin(x) * y + x. Every node of a result "
        "points at the nodes of its operands, with the factor for cotangents. Read from the last "
        "to the first, the tape gives the gradient.",
    )
    drawing.arrow((24, 40), (24, 270))
    drawing.text((8, 22), "recorded", "small faint", anchor="start")
    drawing.arrow((622, 270), (622, 40), style="stage-4")
    drawing.text((632, 22), "played", "small stage-4", anchor="end")
    drawing.text((120, 22), "value", "small faint")
    drawing.text((312, 22), "pull-backs", "small faint")
    drawing.text((515, 22), "cotangent", "small stage-4")
    names = [name.split()[0] for name, *_ in TAPE]
    for number, (name, value, pull_backs, cotangent) in enumerate(TAPE):
        y = 40 + 48 * number
        box = drawing.box(44, y, 150, 36)
        drawing.text((box.x + 10, box.center[1]), name, "small code", anchor="start")
        drawing.text((box.x + 142, box.center[1]), value, "small code", anchor="end")
        drawing.box(430, y, 170, 36, cotangent, "stage-4", text_style="small code")
        for i, (parent, factor) in enumerate(pull_backs):
            middle = y + 18 + (i - (len(pull_backs) - 1) / 2) * 17
            text = f"{names[parent]}_bar += {names[number]}_bar · {factor}"
            drawing.text((208, middle), text, "small code", anchor="start")
    return drawing.svg()
