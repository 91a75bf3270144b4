"""The columns of a Jacobian, computed as one batch of directions."""

from drawing import Box, Drawing

SIZE = 30
STYLES = ["stage-1", "stage-2", "stage-3"]


def cell(drawing: Drawing, x: float, y: float, style: str, text: str) -> Box:
    return drawing.box(x, y, SIZE - 3, SIZE - 3, text, style, radius=3, text_style="small code")


def svg() -> str:
    drawing = Drawing(
        420,
        200,
        "The three unit vectors, stacked as a batch, go through vmap of jvp. What comes out for "
        "the first is the first column of the Jacobian, and so on.",
    )
    drawing.text((70, 24), "unit vectors, a batch", "small")
    for i in range(3):
        for j in range(3):
            style = STYLES[i] if i == j else "plain"
            cell(drawing, 26 + j * SIZE, 50 + i * SIZE, style, "1" if i == j else "0")
    drawing.arrow((14, 50), (14, 137), style="faint")
    drawing.text((70, 160), "batch axis 0", "small faint")

    box = drawing.box(150, 68, 122, 50, "vmap\n(push_forward)", "stage-5")
    drawing.arrow((118, 93), box.left)
    drawing.text((211, 140), "jvp of f at x, along each", "small faint")

    drawing.text((360, 24), "the Jacobian", "small")
    drawing.arrow(box.right, (306, 93))
    for i in range(2):
        for j in range(3):
            cell(drawing, 316 + j * SIZE, 65 + i * SIZE, STYLES[j], "")
    drawing.arrow((316, 138), (403, 138), style="faint")
    drawing.text((360, 160), "batch axis last", "small faint")
    return drawing.svg()
