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
        420,
        312,
        "vmap of predict over three examples. The function sees one vector of two numbers; what "
        "is computed is one product of the weights and an array of three vectors, whose result "
        "has the batch axis, too.",
    )
    drawing.text((12, 16), "what predict sees", "small strong", anchor="start")
    w = grid(drawing, 30, 40, 1, 2, "stage-5", "stage-5")
    x = grid(drawing, 132, 40, 1, 2, "stage-2", "stage-2")
    dot = drawing.box(238, 36, 56, 32, "dot")
    out = grid(drawing, 356, 40, 1, 1, "stage-2", "stage-2")
    drawing.text((w.center[0], 84), "w: f64[2]", "small code")
    drawing.text((x.center[0], 84), "x: f64[2]", "small code")
    drawing.text((out.center[0], 84), "f64[]", "small code")
    drawing.arrow((190, dot.center[1]), dot.left)
    drawing.arrow(dot.right, (348, dot.center[1]))
    drawing.line((12, 108), (408, 108), style="ghost faint")

    drawing.text((12, 132), "what is computed", "small strong", anchor="start")
    w = grid(drawing, 30, 184, 1, 2, "stage-5", "stage-5")
    xs = grid(drawing, 132, 158, 3, 2, "stage-2 ghost", "stage-2")
    dot = drawing.box(238, 180, 56, 32, "dot")
    out = grid(drawing, 356, 158, 3, 1, "stage-2 ghost", "stage-2")
    drawing.arrow((190, dot.center[1]), dot.left)
    drawing.arrow(dot.right, (348, dot.center[1]))
    drawing.arrow((120, 158), (120, 234), style="stage-2")
    drawing.arrow((392, 158), (392, 234), style="stage-2")
    drawing.text((w.center[0], 258), "w: f64[2]", "small code")
    drawing.text((w.center[0], 280), "not mapped", "small faint")
    drawing.text((xs.center[0], 258), "xs: f64[3,2]", "small code")
    drawing.text((xs.center[0], 280), "batch axis 0", "small stage-2")
    drawing.text((out.center[0], 258), "f64[3]", "small code")
    drawing.text((out.center[0], 280), "batch axis 0", "small stage-2")
    return drawing.svg()
