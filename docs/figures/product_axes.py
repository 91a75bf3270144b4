"""What becomes of a matrix-vector product under `vmap`, by which operand is mapped."""

from drawing import Drawing

ROWS = [
    ("w[i,j] x[j]", "out[i]", "one example"),
    ("w[i,j] x[B,j]", "out[i,B]", "B is a free axis of x"),
    ("w[B,i,j] x[j]", "out[B,i]", "B is a free axis of w"),
    ("w[B,i,j] x[B,j]", "out[B,i]", "B is a batch axis"),
]


def svg() -> str:
    drawing = Drawing(
        420,
        216,
        "The product of a matrix and a vector, and its three batched forms. If one operand is "
        "mapped, the batch axis is a free axis of it; if both are, it is a batch axis of the "
        "product.",
    )
    drawing.text((8, 18), "sum over j of", "small faint", anchor="start")
    drawing.text((186, 18), "is", "small faint", anchor="start")
    drawing.text((282, 18), "the role of B", "small faint", anchor="start")
    for number, (operands, out, role) in enumerate(ROWS):
        y = 34 + 46 * number
        style = "plain" if number == 0 else "stage-2"
        product = drawing.box(8, y, 150, 34, operands, style)
        result = drawing.box(186, y, 84, 34, out, style)
        drawing.arrow(product.right, result.left)
        look = "small faint" if number == 0 else "small stage-2"
        drawing.text((282, result.center[1]), role, look, anchor="start")
    return drawing.svg()
