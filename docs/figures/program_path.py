"""The way of a program from Python to the machine, with the files of stage 3 for each step."""

from drawing import Box, Drawing, Point

WIDTH, HEIGHT = 150, 46


def svg() -> str:
    drawing = Drawing(
        420,
        336,
        "A Python function is staged to a jaxpr by staging.py; lowering.py writes the jaxpr as "
        "StableHLO; backend.py has XLA compile that to an executable, which is kept by "
        "executable.py and takes and returns Arrays. Between the steps, programs about programs: "
        "the verifier and dead-code elimination work on the jaxpr, and jvp and vmap of a jitted "
        "function make another one.",
    )

    def stop(x: float, y: float, name: str, what: str, style: str) -> Box:
        box = drawing.box(x, y, WIDTH, HEIGHT, style=style)
        drawing.text((box.center[0], box.center[1] - 9), name, "strong")
        drawing.text((box.center[0], box.center[1] + 11), what, "small faint")
        return box

    def step(start: Point, end: Point, verb: str, file: str, style: str) -> None:
        drawing.arrow(start, end, style=style)
        middle = (start[0] + end[0]) / 2
        drawing.text((middle, start[1] - 12), verb, "small")
        drawing.text((middle, start[1] + 16), file, "small code faint")

    f = stop(8, 20, "a function", "Python", "stage-1")
    jaxpr = stop(262, 20, "a jaxpr", "jaxpr.py", "stage-3")
    step(f.right, jaxpr.left, "stage", "staging.py", "stage-1")
    x, y = jaxpr.x + 22, jaxpr.y + jaxpr.height
    drawing.arrow((x - 14, y), (x - 14, y + 34), (x + 14, y + 34), (x + 14, y), style="stage-3")
    drawing.text((x - 28, y + 18), "check, shrink, differentiate, batch", "small", anchor="end")
    files = "typecheck.py, dce.py, jit_rules.py"
    drawing.text((x - 28, y + 38), files, "small code faint", anchor="end")

    text = stop(262, 158, "StableHLO", "text", "stage-3")
    program = stop(262, 276, "machine code", "executable.py", "stage-5")
    for above, below, verb, file, style in (
        (jaxpr, text, "lower", "lowering.py", "stage-3"),
        (text, program, "compile", "backend.py", "stage-5"),
    ):
        x, start, end = 390, above.y + above.height, below.y
        drawing.arrow((x, start), (x, end), style=style)
        middle = end - 28
        drawing.text((x - 10, middle - 10), verb, "small", anchor="end")
        drawing.text((x - 10, middle + 8), file, "small code faint", anchor="end")

    results = stop(8, 276, "results", "array.py", "stage-5")
    arguments = stop(8, 158, "arguments", "array.py", "stage-5")
    drawing.arrow(arguments.bottom, (83, 240), (280, 240), (280, 276), style="stage-5")
    drawing.text((180, 228), "execute", "small")
    drawing.arrow(program.left, results.right, style="stage-5")
    return drawing.svg()
