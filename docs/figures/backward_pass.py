"""The backward pass: cotangents flow from the result to the inputs, against the arrows."""

from drawing import Drawing, panels
from graph import draw


def svg() -> str:
    return panels(forward(), backward())


def forward() -> Drawing:
    drawing = Drawing(
        290, 300, "The graph of sin(x) * y + x: values flow down from x and y to the result."
    )
    drawing.text((20, 18), "forward: values", "strong", anchor="start")
    graph = draw(drawing, 20, 36, {})
    drawing.arrow((graph.x.bottom[0] + 12, graph.x.bottom[1]), graph.sin.top)
    drawing.arrow(graph.sin.bottom, (graph.mul.x + 16, graph.mul.y))
    drawing.arrow(graph.y.bottom, (graph.mul.x + 48, graph.mul.y))
    drawing.arrow(graph.mul.bottom, (graph.add.x + 48, graph.add.y))
    x, y = graph.x.bottom
    drawing.arrow((x - 12, y), (x - 12, y + 110), (graph.add.x + 14, graph.add.y))
    drawing.arrow(graph.add.bottom, (graph.add.bottom[0], 296))
    return drawing


def backward() -> Drawing:
    drawing = Drawing(
        310,
        300,
        "The same graph: cotangents flow up from the result, are multiplied by the derivative of "
        "each operation, and those that meet at x are added.",
    )
    drawing.text((20, 18), "backward: cotangents", "strong", anchor="start")
    graph = draw(drawing, 20, 36, dict.fromkeys(("x", "y", "sin", "mul", "add"), "stage-4"))
    drawing.arrow(graph.sin.top, (graph.x.bottom[0] + 12, graph.x.bottom[1]), style="stage-4")
    drawing.arrow((graph.mul.x + 16, graph.mul.y), graph.sin.bottom, style="stage-4")
    drawing.arrow((graph.mul.x + 48, graph.mul.y), graph.y.bottom, style="stage-4")
    drawing.arrow((graph.add.x + 48, graph.add.y), graph.mul.bottom, style="stage-4")
    x, y = graph.x.bottom
    drawing.arrow((graph.add.x + 14, graph.add.y), (x - 12, y + 110), (x - 12, y), style="stage-4")
    drawing.arrow((graph.add.bottom[0], 296), graph.add.bottom, style="stage-4")
    drawing.text((graph.add.bottom[0] + 10, 290), "1", "small code", anchor="start")
    drawing.text((graph.add.x + 84, 236), "1", "small code", anchor="start")
    drawing.text((graph.mul.x + 66, 130), "· sin x", "small code", anchor="start")
    drawing.text((graph.sin.x + 68, 152), "· y", "small code", anchor="start")
    drawing.text((graph.sin.x + 32, 86), "· cos x", "small code", anchor="start")
    drawing.text((x - 20, 180), "1", "small code", anchor="end")
    drawing.text((graph.x.x - 6, graph.x.center[1]), "+", "strong stage-4", anchor="end")
    drawing.text((304, 284), "x_bar = y cos x + 1\ny_bar = sin x", "small code", anchor="end")
    return drawing
