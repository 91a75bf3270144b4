"""Who keeps a traced and a compiled program alive: as long as the jitted function is there."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        420,
        254,
        "Your variable refers to a jitted function, whose dictionary holds a traced program for "
        "each signature, which holds a jaxpr. The table of compiled programs refers to a jaxpr "
        "weakly: its entry goes when the jaxpr goes.",
    )
    name = drawing.box(6, 68, 60, 40, "step", radius=20)
    function = drawing.box(92, 62, 84, 52, "jitted\nfunction", "stage-1", text_style="small")
    drawing.arrow(name.right, function.left, style="stage-1")
    for row, signature in enumerate(["f64[3]", "f64[4]"]):
        y = 28 + 80 * row
        traced = drawing.box(216, y, 76, 40, "traced", "stage-2", text_style="small")
        drawing.arrow(function.right, traced.left, style="stage-2")
        label = traced.center[0], y - 12
        drawing.text(label, signature, "small code")
        jaxpr = drawing.box(328, y, 80, 40, "a jaxpr", "stage-3", text_style="small")
        drawing.arrow(traced.right, jaxpr.left, style="stage-3")
    drawing.box(6, 186, 408, 62, style="panel")
    drawing.text((16, 217), "the table of\ncompiled programs", "small", anchor="start")
    program = drawing.box(196, 197, 96, 40, "executable", "stage-5", text_style="small")
    key = drawing.box(328, 197, 80, 40, "key", "ghost", text_style="small")
    drawing.arrow(key.left, program.right, style="stage-5")
    drawing.arrow((368, 197), (368, 148), style="ghost")
    drawing.text((376, 173), "weak", "small faint", anchor="start")
    return drawing.svg()
