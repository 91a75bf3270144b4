"""The four functions through which Python reaches the device, and what jaxlib does for each."""

from drawing import Drawing

VERBS = [
    ("compile", "StableHLO text", "parse, optimize,\nmake\nmachine code", "stage-3"),
    ("put", "a numpy array", "copy to\nthe device", "stage-2"),
    ("execute", "buffers", "run; new buffers\nfor the results", "stage-5"),
    ("get", "a buffer", "a view for\nnumpy, or\na copy back", "stage-1"),
]


def svg() -> str:
    drawing = Drawing(
        420,
        336,
        "Four functions lead from Python through jaxlib to the device: compile takes StableHLO "
        "text, put a numpy array, execute buffers, and get a buffer.",
    )
    for y, height, name in [(6, 84, "Python"), (114, 108, "jaxlib"), (246, 76, "the device")]:
        drawing.box(4, y, 412, height, style="panel")
        at = y + height - 16 if name == "the device" else y + 16  # clear of arrows
        drawing.text((14, at), name, "strong", anchor="start")
    for number, (verb, given, work, style) in enumerate(VERBS):
        x = 12 + 101 * number
        box = drawing.box(x, 38, 94, 44, style=style)
        drawing.text((box.center[0], 51), verb, "code")
        drawing.text((box.center[0], 69), given, "small faint")
        inner = drawing.box(x, 146, 94, 66, work, text_style="small")
        there = drawing.box(x, 256, 94, 32, ["a program", "memory", "a run", "memory"][number])
        for above, below in [(box.bottom, inner.top), (inner.bottom, there.top)]:
            ends = (below, above) if verb == "get" else (above, below)
            drawing.arrow(*ends, style=style)
    return drawing.svg()
