"""A tree, and its structure as a list of nodes in pre-order."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        640,
        306,
        "The tree of a dict with the keys a and b, where b is a list of two leaves. In pre-order "
        "its nodes are the dict, whose children follow, the leaf of a, the list, and the two "
        "leaves that are its children.",
    )
    drawing.box(250, 16, 130, 36, "dict  a, b", "stage-2")
    a = drawing.box(170, 92, 56, 36, "3.0", radius=18)
    b = drawing.box(390, 92, 110, 36, "list", "stage-2")
    b0 = drawing.box(360, 168, 56, 36, "1.0", radius=18)
    b1 = drawing.box(474, 168, 56, 36, "2.0", radius=18)
    drawing.arrow((285, 52), a.top)
    drawing.arrow((345, 52), b.top)
    drawing.arrow((430, 128), b0.top)
    drawing.arrow((460, 128), b1.top)
    drawing.text((226, 70), "'a'", "small code", anchor="end")
    drawing.text((408, 70), "'b'", "small code", anchor="start")
    drawing.text((400, 148), "0", "small code", anchor="end")
    drawing.text((494, 148), "1", "small code", anchor="start")

    drawing.text((20, 250), "nodes", "small code", anchor="start")
    row = [
        drawing.box(80, 232, 188, 36, "dict a, b, 2 children", "stage-2"),
        drawing.box(280, 232, 56, 36, "*", radius=18),
        drawing.box(348, 232, 146, 36, "list, 2 children", "stage-2"),
        drawing.box(506, 232, 56, 36, "*", radius=18),
        drawing.box(574, 232, 56, 36, "*", radius=18),
    ]
    # Each inner node takes the next subtrees after it: an arrow leads to the end of the last.
    last = row[4]
    for node, x, y in ((row[2], last.x + 20, 280), (row[0], last.x + 36, 292)):
        start = node.center[0], node.y + node.height + 2
        end = x, last.y + last.height + 4
        drawing.arrow(start, (start[0], y), (x, y), end, style="stage-2")
    return drawing.svg()
