"""A tree, and its structure as a list of nodes in pre-order."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        420,
        306,
        "The tree of a dict with the keys a and b, where b is a list of two leaves. In pre-order "
        "its nodes are the dict, whose children follow, the leaf of a, the list, and the two "
        "leaves that are its children.",
    )
    drawing.box(140, 16, 130, 36, "dict  a, b", "stage-2")
    a = drawing.box(60, 92, 56, 36, "3.0", radius=18)
    b = drawing.box(270, 92, 110, 36, "list", "stage-2")
    b0 = drawing.box(240, 168, 56, 36, "1.0", radius=18)
    b1 = drawing.box(354, 168, 56, 36, "2.0", radius=18)
    drawing.arrow((175, 52), a.top)
    drawing.arrow((235, 52), b.top)
    drawing.arrow((310, 128), b0.top)
    drawing.arrow((340, 128), b1.top)
    drawing.text((116, 70), "'a'", "small code", anchor="end")
    drawing.text((298, 70), "'b'", "small code", anchor="start")
    drawing.text((280, 148), "0", "small code", anchor="end")
    drawing.text((374, 148), "1", "small code", anchor="start")

    drawing.text((8, 214), "nodes", "small code", anchor="start")
    row = []
    x = 8.0
    for text, width in (
        ("dict a, b, 2 children", 164),
        ("*", 30),
        ("list, 2 children", 126),
        ("*", 30),
        ("*", 30),
    ):
        is_leaf = text == "*"
        style, radius = ("plain", 15) if is_leaf else ("stage-2", 5)
        box = drawing.box(x, 232, width, 34, text, style, text_style="small code", radius=radius)
        row.append(box)
        x += width + 6
    # Each inner node takes the next subtrees after it: an arrow leads to the end of the last.
    last = row[4]
    for node, x, y in ((row[2], last.x + 10, 278), (row[0], last.x + 20, 290)):
        start = node.center[0], node.y + node.height + 2
        end = x, last.y + last.height + 4
        drawing.arrow(start, (start[0], y), (x, y), end, style="stage-2")
    return drawing.svg()
