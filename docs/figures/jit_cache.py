"""What `jit` does with a call: look the signature up, and stage and compile only what is new."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        640,
        330,
        "A call of a jitted function: its arguments are flattened, and their signature is looked "
        "up. If it is known, the compiled program is executed at once; if not, the function is "
        "traced, lowered and compiled first, and the program is kept.",
    )
    call = drawing.box(20, 20, 150, 40, 'step({"w": w}, 3)')
    drawing.arrow(call.right, (228, 40), label="flatten")
    key = drawing.box(228, 10, 392, 60, style="panel")
    drawing.text((key.x + 14, 28), "structure of the arguments", "small", anchor="start")
    drawing.text((key.x + 14, 52), "({'w': *}, *)", "small code", anchor="start")
    drawing.text((key.x + 214, 28), "types of the leaves", "small", anchor="start")
    drawing.text((key.x + 214, 52), "f32[3], i32[]", "small code", anchor="start")
    cache = drawing.box(300, 116, 240, 44, "seen this signature?", "stage-3", text_style="strong")
    drawing.arrow((420, 70), cache.top, label="signature")

    run = drawing.box(300, 270, 240, 44, "execute", "stage-3")
    drawing.arrow((520, 160), (520, 270), style="stage-3")
    drawing.text((530, 200), "yes", "stage-3", anchor="start")
    drawing.text((530, 222), "microseconds", "small faint", anchor="start")
    drawing.arrow(run.left, (190, run.center[1]))
    drawing.text((180, run.center[1]), "results", "small", anchor="end")

    drawing.text((288, 126), "no", "stage-1", anchor="end")
    steps = [("trace", "a jaxpr"), ("lower", "StableHLO"), ("compile", "machine code")]
    drawing.arrow(cache.left, (90, 138), (90, 166), style="stage-1")
    x = 20
    boxes = []
    for name, gives in steps:
        box = drawing.box(x, 166, 118, 52, style="stage-1")
        drawing.text((box.center[0], box.center[1] - 9), name, "code")
        drawing.text((box.center[0], box.center[1] + 11), gives, "small faint")
        boxes.append(box)
        x += 138
    drawing.arrow(boxes[0].right, boxes[1].left, style="stage-1")
    drawing.arrow(boxes[1].right, boxes[2].left, style="stage-1")
    drawing.arrow((360, 218), (360, 270), style="stage-1", label="keep, then")
    drawing.text((30, 236), "milliseconds, once for each signature", "small faint", anchor="start")
    return drawing.svg()
