"""One program, three interpreters, three results."""

from drawing import Drawing
from glassjax_stage1 import add, build_jaxpr, derivative, mul


def foo(x):
    return mul(x, add(x, 3.0))


def svg() -> str:
    value, slope, program = foo(2.0), derivative(foo, 2.0), build_jaxpr(foo, 1)
    drawing = Drawing(
        420,
        330,
        "The program foo, mul(x, add(x, 3.0)), and three interpreters of it. The first computes "
        f"{value}, the second the slope {slope}, the third writes the program down.",
    )
    source = drawing.box(16, 12, 388, 42)
    drawing.text((30, 33), "foo(x)", "code strong", anchor="start")
    drawing.text((390, 33), "mul(x, add(x, 3.0))", "code", anchor="end")
    rows = [
        (76, 56, "stage-5", "evaluate", "x is 2.0", f"{value}"),
        (148, 56, "stage-1", "differentiate", "x is 2.0 + 1.0 ε", f"{slope}"),
        (220, 96, "stage-3", "write down", "x is v_1", str(program)),
    ]
    for y, height, style, does, given, result in rows:
        asked = drawing.box(44, y, 136, height, style=style)
        drawing.text((asked.center[0], asked.center[1] - 10), does, style)
        drawing.text((asked.center[0], asked.center[1] + 11), given, "small code")
        drawing.arrow((30, source.bottom[1]), (30, asked.left[1]), asked.left)
        out = drawing.box(204, y, 200, height)
        drawing.arrow(asked.right, out.left)
        if "\n" in result:
            drawing.text((out.x + 12, out.center[1]), result, "small code", anchor="start")
        else:
            drawing.text(out.center, result, "large code")
    return drawing.svg()
