"""Where an array's numbers are, and which operations copy them between host and device."""

from drawing import Drawing

ROWS = [
    ("array(x)", "right", "copies", "stage-2"),
    ("a * 2 + a", "", "stays: new buffers", "stage-3"),
    ("a.numpy()", "left", "a GPU copies, once; a CPU lends its memory", "stage-2"),
    ("float(a[0])", "left", "waits, then copies one number", "stage-2"),
    ("a.shape", "", "asks the type: nothing moves", "stage-5"),
]


def svg() -> str:
    drawing = Drawing(
        420,
        356,
        "The memory of Python on the left, that of the device on the right. array(x) copies to "
        "the device; arithmetic stays there; numpy() and float() copy back, and wait.",
    )
    host = drawing.box(12, 12, 150, 340, style="panel")
    device = drawing.box(258, 12, 150, 340, style="panel")
    drawing.text((host.center[0], 32), "host: Python, numpy", "small strong")
    drawing.text((device.center[0], 32), "device: XLA's buffers", "small strong")
    for k, (program, way, note, style) in enumerate(ROWS):
        y = 76 + 58 * k
        on_device = program == "a * 2 + a"
        on_host = program == "a.shape"
        left = drawing.box(24, y - 16, 126, 32, program, style if on_host else "plain",
                           text_style="small code")  # fmt: skip
        if way:
            ends = (left.right, (270, y)) if way == "right" else ((270, y), left.right)
            drawing.box(270, y - 16, 126, 32, "buffer", "stage-3", text_style="small code")
            drawing.arrow(*ends, style=f"{style} thick")
        elif on_device:
            drawing.line(left.right, (270, y), style="ghost faint")
            drawing.box(270, y - 16, 58, 32, "buffer", "stage-3", text_style="small code")
            drawing.box(338, y - 16, 58, 32, "buffer", "stage-3", text_style="small code")
            drawing.arrow((328, y), (338, y), style=f"{style} thick")
        drawing.text((210, y + 26), note, "small faint")
    return drawing.svg()
