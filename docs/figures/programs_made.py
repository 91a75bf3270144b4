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
        640,
        336,
        "The interpreter of jvp gets a jit equation with the program scale. It makes the program "
        "jvp_scale and binds jit with it; vmap gets that, makes vmap_jvp_scale and binds it; "
        "evaluation compiles that and runs it.",
    )
    for row, (interpreter, style, call, program, what) in enumerate(ROWS):
        y = 14 + 92 * row
        drawing.text((112, y + 26), interpreter, "strong", anchor="end")
        bound = drawing.box(130, y, 190, 52, call, style)
        held = drawing.box(430, y, 180, 52, style="panel")
        drawing.text((held.center[0], y + 17), program, "code")
        drawing.text((held.center[0], y + 37), what, "small code faint")
        drawing.arrow(bound.right, held.left, label="holds")
        x, bottom = held.bottom
        drawing.arrow((x, bottom), (x, bottom + 40), style="stage-3")
        drawing.text((x - 12, bottom + 19), MADE[row], "small", anchor="end")
        if row < 2:
            drawing.arrow(bound.bottom, (bound.bottom[0], bottom + 40), label="binds", style=style)
    drawing.box(430, 290, 180, 36, "machine code", "stage-5", text_style="small")
    x = 130 + 95
    drawing.arrow((x, 250), (x, 308), (430, 308), style="stage-5")
    drawing.text((x + 10, 297), "runs", "small", anchor="start")
    return drawing.svg()
