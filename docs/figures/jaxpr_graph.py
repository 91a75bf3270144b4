"""A jaxpr, and the same program as a graph: an equation is a node, a variable an edge."""

from drawing import Drawing, panels
from glassjax_stage2 import sin
from glassjax_stage3 import make_jaxpr
from graph import draw

STYLES = {"sin": "stage-1", "mul": "stage-2", "add": "stage-3"}


def svg() -> str:
    return panels(jaxpr(), graph())


def jaxpr() -> Drawing:
    drawing = Drawing(320, 154, "A jaxpr of three equations: sin, mul and add.")
    lines = str(make_jaxpr(lambda x, y: sin(x) * y + x)(1.0, 2.0)).splitlines()
    drawing.box(2, 2, 316, 150, style="panel")
    for i, line in enumerate(lines):
        style = next((style for name, style in STYLES.items() if f" {name} " in line), "")
        drawing.text((16, 27 + 24 * i), line, f"code {style}", anchor="start")
    return drawing


def graph() -> Drawing:
    drawing = Drawing(
        270,
        290,
        "Its graph: sin takes a; mul takes the result of sin and b; add takes the result of mul, "
        "and a once more.",
    )
    graph = draw(drawing, 10, 16, STYLES)
    drawing.arrow((graph.x.bottom[0] + 12, graph.x.bottom[1]), graph.sin.top, label="a")
    drawing.arrow(graph.sin.bottom, (graph.mul.x + 16, graph.mul.y), label="c")
    drawing.arrow(graph.y.bottom, (graph.mul.x + 48, graph.mul.y), label="b")
    drawing.arrow(graph.mul.bottom, (graph.add.x + 48, graph.add.y), label="d")
    x, y = graph.x.bottom
    drawing.arrow((x - 12, y), (x - 12, y + 110), (graph.add.x + 14, graph.add.y))
    drawing.text((x - 22, y + 90), "a", "small", anchor="end")
    drawing.arrow(graph.add.bottom, (graph.add.bottom[0], 284), label="e")
    return drawing
