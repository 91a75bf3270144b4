"""Who keeps a traced and a compiled program alive: as long as the jitted function is there."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        640,
        238,
        "Your variable refers to a jitted function, whose dictionary holds a traced program for "
        "each signature, which holds a jaxpr. The table of compiled programs refers to a jaxpr "
        "weakly: its entry goes when the jaxpr goes.",
    )
    name = drawing.box(10, 60, 70, 40, "step", radius=20)
    function = drawing.box(130, 60, 130, 40, "jitted function", "stage-1", text_style="small")
    drawing.arrow(name.right, function.left, style="stage-1")
    for row, signature in enumerate(["f64[3]", "f64[4]"]):
        y = 20 + 80 * row
        traced = drawing.box(330, y, 104, 40, "traced", "stage-2", text_style="small")
        drawing.arrow(function.right, traced.left, style="stage-2")
        label = traced.x - 8, y + (8, 34)[row]
        drawing.text(label, signature, "small code", anchor="end")
        jaxpr = drawing.box(500, y, 104, 40, "a jaxpr", "stage-3", text_style="small")
        drawing.arrow(traced.right, jaxpr.left, style="stage-3")
    drawing.box(130, 166, 474, 58, style="panel")
    drawing.text((146, 195), "the table of compiled\nprograms", "small", anchor="start")
    program = drawing.box(330, 175, 104, 40, "executable", "stage-5", text_style="small")
    key = drawing.box(500, 175, 88, 40, "key", "ghost", text_style="small")
    drawing.arrow(key.left, program.right, style="stage-5")
    drawing.arrow((552, 175), (552, 140), style="ghost")
    drawing.text((560, 155), "weak", "small faint", anchor="start")
    return drawing.svg()
