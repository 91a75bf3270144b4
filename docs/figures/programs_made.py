"""What becomes of the program in a jitted function under `vmap` of `deriv`."""

from drawing import Drawing

ROWS = [
    ("jvp", "stage-1", "jit[scale]", "scale", "x -> y"),
    ("vmap", "stage-2", "jit[jvp_scale]", "jvp_scale", "x, dx -> y, dy"),
    ("evaluation", "stage-5", "jit[vmap_jvp_scale]", "vmap_jvp_scale", "xs, dx -> ys, dys"),
]
MADE = ["jvp_jaxpr, once", "vmap_jaxpr, once", "compile, once"]


def svg() -> str:
    drawing = Drawing(
        420,
        396,
        "The interpreter of jvp gets a jit equation with the program scale. It makes the program "
        "jvp_scale and binds jit with it; vmap gets that, makes vmap_jvp_scale and binds it; "
        "evaluation compiles that and runs it.",
    )
    for row, (interpreter, style, call, program, what) in enumerate(ROWS):
        y = 28 + 108 * row
        drawing.text((10, y - 12), interpreter, "small strong", anchor="start")
        bound = drawing.box(8, y, 168, 52, call, style)
        held = drawing.box(242, y, 170, 52, style="panel")
        drawing.text((held.center[0], y + 17), program, "code")
        drawing.text((held.center[0], y + 37), what, "small code faint")
        drawing.arrow(bound.right, held.left, label="holds")
        x, bottom = held.bottom
        drawing.arrow((x, bottom), (x, bottom + 54), style="stage-3")
        drawing.text((x - 12, bottom + 24), MADE[row], "small", anchor="end")
        if row < 2:
            drawing.arrow(bound.bottom, (bound.bottom[0], bottom + 54), label="binds", style=style)
    drawing.box(242, 350, 170, 36, "machine code", "stage-5", text_style="small")
    x, y = bound.bottom
    drawing.arrow((x, y), (x, 368), (242, 368), style="stage-5")
    drawing.text((x + 10, 356), "runs", "small", anchor="start")
    return drawing.svg()
