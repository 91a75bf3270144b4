"""Partial evaluation: what is known is computed now, the rest is a program for later."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        420,
        300,
        "The graph of sin(x) * y + x where x is known and y is not. The sine of x is computed "
        "now. The product and the sum depend on y: they become a program, which takes the sine "
        "and x, its residuals, and y.",
    )
    drawing.box(6, 8, 176, 284, style="panel")
    drawing.text((20, 28), "now", "strong", anchor="start")
    drawing.text((214, 28), "later", "strong", anchor="start")
    x = drawing.box(62, 62, 96, 34, "x = 2.0", "stage-1", radius=17)
    sin = drawing.box(76, 140, 68, 34, "sin", "stage-1")
    y = drawing.box(326, 62, 64, 34, "y", "stage-4 ghost", radius=17)
    mul = drawing.box(310, 148, 64, 34, "mul", "stage-4 ghost")
    add = drawing.box(284, 232, 64, 34, "add", "stage-4 ghost")
    drawing.arrow(x.bottom, sin.top, style="stage-1")
    drawing.arrow(sin.right, (mul.x, mul.y + 12), style="stage-1")
    drawing.text((232, 142), "0.909", "small code")
    drawing.arrow(y.bottom, (348, mul.y), style="stage-4")
    drawing.arrow((336, mul.y + 34), (320, add.y), style="stage-4")
    drawing.arrow((76, 94), (38, 122), (38, add.center[1]), add.left, style="stage-1")
    drawing.text((232, add.center[1] - 12), "2.0", "small code")
    drawing.arrow(add.right, (400, add.center[1]), style="stage-4")
    drawing.text((236, 192), "residuals:\nknown values\nthat later needs", "small stage-1")
    drawing.text((358, 50), "unknown", "small stage-4")
    drawing.text((110, 50), "known", "small stage-1")
    return drawing.svg()
