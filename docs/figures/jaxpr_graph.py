"""A jaxpr, and the same program as a graph: an equation is a node, a variable an edge."""

from drawing import Drawing
from glassjax_stage2 import sin
from glassjax_stage3 import make_jaxpr
from graph import draw


def svg() -> str:
    drawing = Drawing(
        640,
        290,
        "A jaxpr of three equations beside its graph: sin takes a; mul takes the result of sin "
        "and b; add takes the result of mul, and a once more.",
    )
    jaxpr = str(make_jaxpr(lambda x, y: sin(x) * y + x)(1.0, 2.0)).splitlines()
    styles = {" sin ": "stage-1", " mul ": "stage-2", " add ": "stage-3"}
    drawing.box(14, 70, 318, 150, style="panel")
    for i, line in enumerate(jaxpr):
        style = next((style for name, style in styles.items() if name in line), "")
        drawing.text((30, 95 + 24 * i), line, f"code {style}", anchor="start")
    graph = draw(drawing, 350, 16, {"sin": "stage-1", "mul": "stage-2", "add": "stage-3"})
    drawing.arrow((graph.x.bottom[0] + 12, graph.x.bottom[1]), graph.sin.top, label="a")
    drawing.arrow(graph.sin.bottom, (graph.mul.x + 16, graph.mul.y), label="c")
    drawing.arrow(graph.y.bottom, (graph.mul.x + 48, graph.mul.y), label="b")
    drawing.arrow(graph.mul.bottom, (graph.add.x + 48, graph.add.y), label="d")
    x, y = graph.x.bottom
    drawing.arrow((x - 12, y), (x - 12, y + 110), (graph.add.x + 14, graph.add.y))
    drawing.text((x - 22, y + 90), "a", "small", anchor="end")
    drawing.arrow(graph.add.bottom, (graph.add.bottom[0], 284), label="e")
    return drawing.svg()
