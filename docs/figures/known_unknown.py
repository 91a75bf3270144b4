"""Partial evaluation: what is known is computed now, the rest is a program for later."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        640,
        300,
        "The graph of sin(x) * y + x where x is known and y is not. The sine of x is computed "
        "now. The product and the sum depend on y: they become a program, which takes the sine "
        "and x, its residuals, and y.",
    )
    drawing.box(10, 8, 250, 284, style="panel")
    drawing.text((26, 28), "now", "strong", anchor="start")
    drawing.text((296, 28), "later", "strong", anchor="start")
    x = drawing.box(90, 44, 96, 34, "x = 2.0", "stage-1", radius=17)
    sin = drawing.box(104, 128, 68, 34, "sin", "stage-1")
    y = drawing.box(460, 44, 64, 34, "y", "stage-4 ghost", radius=17)
    mul = drawing.box(440, 148, 64, 34, "mul", "stage-4 ghost")
    add = drawing.box(400, 232, 64, 34, "add", "stage-4 ghost")
    drawing.arrow(x.bottom, sin.top, style="stage-1")
    drawing.arrow(sin.right, (mul.x, mul.y + 12), style="stage-1")
    drawing.text((330, 136), "0.909", "small code", anchor="middle")
    drawing.arrow(y.bottom, (484, mul.y), style="stage-4")
    drawing.arrow((466, mul.y + 34), (444, add.y), style="stage-4")
    drawing.arrow((104, 78), (60, 110), (60, add.center[1]), add.left, style="stage-1")
    drawing.text((330, add.center[1] - 12), "2.0", "small code", anchor="middle")
    drawing.arrow(add.right, (560, add.center[1]), style="stage-4")
    drawing.text((330, 186), "residuals:\nknown values\nthat later needs", "small stage-1")
    drawing.text((540, 61), "unknown", "small stage-4", anchor="start")
    drawing.text((30, 61), "known", "small stage-1", anchor="start")
    return drawing.svg()
