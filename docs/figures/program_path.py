"""The way of a program from Python to the machine, with the files of stage 3 for each step."""

from drawing import Box, Drawing, Point

WIDTH, HEIGHT = 150, 46


def svg() -> str:
    drawing = Drawing(
        640,
        300,
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

    f = stop(10, 30, "a function", "Python", "stage-1")
    jaxpr = stop(245, 30, "a jaxpr", "jaxpr.py", "stage-3")
    text = stop(480, 30, "StableHLO", "text", "stage-3")
    step(f.right, jaxpr.left, "stage", "staging.py", "stage-1")
    step(jaxpr.right, text.left, "lower", "lowering.py", "stage-3")

    program = stop(480, 220, "machine code", "executable.py", "stage-5")
    results = stop(245, 220, "results", "array.py", "stage-5")
    arguments = stop(10, 220, "arguments", "array.py", "stage-5")
    drawing.arrow(text.bottom, program.top, style="stage-5")
    drawing.text((545, 140), "compile", "small", anchor="end")
    drawing.text((545, 160), "backend.py", "small code faint", anchor="end")
    drawing.arrow(arguments.bottom, (85, 288), (555, 288), program.bottom, style="stage-5")
    drawing.text((320, 277), "execute", "small")
    drawing.arrow(program.left, results.right, style="stage-5")

    x, y = jaxpr.bottom
    drawing.arrow((x - 40, y), (x - 40, y + 40), (x + 40, y + 40), (x + 40, y), style="stage-3")
    drawing.text((x, y + 58), "check, shrink, differentiate, batch", "small")
    drawing.text((x, y + 78), "typecheck.py, dce.py, jit_rules.py", "small code faint")
    return drawing.svg()
