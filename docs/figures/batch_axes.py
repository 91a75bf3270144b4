"""The axes of a batch: what a mapped function sees, and what is computed."""

from drawing import Box, Drawing

SIZE = 26


def grid(
    drawing: Drawing, x: float, y: float, rows: int, columns: int, style: str, first: str
) -> Box:
    """Draws an array, whose first row has a style of its own."""
    for row in range(rows):
        for column in range(columns):
            look = first if row == 0 else style
            drawing.box(x + column * SIZE, y + row * SIZE, SIZE - 3, SIZE - 3, style=look, radius=3)
    return Box(x, y, columns * SIZE - 3, rows * SIZE - 3)


def svg() -> str:
    drawing = Drawing(
        640,
        300,
        "vmap of predict over three examples. The function sees one vector of two numbers; what "
        "is computed is one product of the weights and an array of three vectors, whose result "
        "has the batch axis, too.",
    )
    drawing.text((20, 20), "what predict sees", "small faint", anchor="start")
    drawing.text((20, 128), "what is computed", "small faint", anchor="start")

    w = grid(drawing, 190, 30, 1, 2, "stage-5", "stage-5")
    x = grid(drawing, 290, 30, 1, 2, "stage-2", "stage-2")
    dot = drawing.box(410, 26, 60, 32, "dot")
    out = grid(drawing, 540, 30, 1, 1, "stage-2", "stage-2")
    drawing.text((w.center[0], 72), "w: f64[2]", "small code")
    drawing.text((x.center[0], 72), "x: f64[2]", "small code")
    drawing.text((out.center[0], 72), "f64[]", "small code")
    drawing.arrow((346, dot.center[1]), dot.left)
    drawing.arrow(dot.right, (534, dot.center[1]))
    drawing.line((20, 98), (620, 98), style="ghost faint")

    w = grid(drawing, 190, 170, 1, 2, "stage-5", "stage-5")
    xs = grid(drawing, 290, 144, 3, 2, "stage-2 ghost", "stage-2")
    dot = drawing.box(410, 166, 60, 32, "dot")
    out = grid(drawing, 540, 144, 3, 1, "stage-2 ghost", "stage-2")
    drawing.arrow((346, dot.center[1]), dot.left)
    drawing.arrow(dot.right, (534, dot.center[1]))
    drawing.arrow((278, 144), (278, 220), style="stage-2")
    drawing.arrow((575, 144), (575, 220), style="stage-2")
    drawing.text((w.center[0], 246), "w: f64[2]", "small code")
    drawing.text((w.center[0], 268), "not mapped", "small faint")
    drawing.text((xs.center[0], 246), "xs: f64[3,2]", "small code")
    drawing.text((xs.center[0], 268), "batch axis 0", "small stage-2")
    drawing.text((out.center[0], 246), "f64[3]", "small code")
    drawing.text((out.center[0], 268), "batch axis 0", "small stage-2")
    return drawing.svg()
