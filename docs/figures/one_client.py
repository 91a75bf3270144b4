"""The four functions through which Python reaches the device, and what jaxlib does for each."""

from drawing import Drawing

VERBS = [
    ("compile", "StableHLO text", "parse, optimise,\nmake machine code", "stage-3"),
    ("put", "a numpy array", "copy to\nthe device", "stage-2"),
    ("execute", "buffers", "run; new buffers\nfor the results", "stage-5"),
    ("get", "a buffer", "a view for numpy,\nor a copy back", "stage-1"),
]


def svg() -> str:
    drawing = Drawing(
        640,
        268,
        "Four functions lead from Python through jaxlib to the device: compile takes StableHLO "
        "text, put a numpy array, execute buffers, and get a buffer.",
    )
    for y, height, name in [(10, 62, "Python"), (98, 72, "jaxlib"), (206, 52, "the device")]:
        drawing.box(10, y, 620, height, style="panel")
        drawing.text((22, y + height / 2), name, "strong", anchor="start")
    for number, (verb, given, work, style) in enumerate(VERBS):
        x = 112 + 130 * number
        box = drawing.box(x, 20, 118, 42, style=style)
        drawing.text((box.center[0], 33), verb, "code")
        drawing.text((box.center[0], 50), given, "small faint")
        inner = drawing.box(x, 108, 118, 52, work, text_style="small")
        there = drawing.box(x, 216, 118, 32, ["a program", "memory", "a run", "memory"][number])
        for above, below in [(box.bottom, inner.top), (inner.bottom, there.top)]:
            ends = (below, above) if verb == "get" else (above, below)
            drawing.arrow(*ends, style=style)
    return drawing.svg()
