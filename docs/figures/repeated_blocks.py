"""An unrolled loop as repeated blocks of equations, and as one scan."""

from drawing import Drawing, panels

ROW = 26


def svg() -> str:
    return panels(unrolled(), rolled())


def unrolled() -> Drawing:
    drawing = Drawing(
        200,
        270,
        "Three blocks of the equations tanh, mul and add, each fed by the one before, and "
        "more below.",
    )
    drawing.text((100, 12), "unrolled", "strong")
    y = 28
    for number in range(3):
        block = drawing.box(30, y, 140, 62, style="panel")
        for row, (text, style) in enumerate(
            [("tanh", "stage-1"), ("mul 0.9", "stage-2"), (f"add 0.5**{number}", "stage-3")]
        ):
            drawing.text((44, y + 12 + 19 * row), text, f"small code {style}", anchor="start")
        if number < 2:
            drawing.arrow(block.bottom, (100, y + 74), style="strong")
        y += 74
    drawing.text((100, 258), "397 more", "small faint")
    return drawing


def rolled() -> Drawing:
    drawing = Drawing(
        200,
        270,
        "One block, whose result is carried into its next iteration, and a stack of 400 numbers "
        "from which each iteration takes one.",
    )
    drawing.text((100, 12), "rolled up", "strong")
    block = drawing.box(30, 60, 140, 74, style="panel")
    for row, (text, style) in enumerate(
        [("tanh", "stage-1"), ("mul 0.9", "stage-2"), ("add c", "stage-3")]
    ):
        drawing.text((44, 78 + 19 * row), text, f"small code {style}", anchor="start")
    right = block.x + block.width
    drawing.arrow(
        (100, 134), (100, 150), (right + 18, 150), (right + 18, 44), (100, 44), (100, 60),
        style="strong",
    )  # fmt: skip
    drawing.text((100, 34), "carry", "small")
    for number in range(6):
        drawing.box(46 + 18 * number, 196, 16, ROW, "", "stage-3", radius=2)
    drawing.arrow((66, 196), (66, 136), style="stage-3")
    drawing.text((100, 236), "400 numbers", "small")
    return drawing
