"""What `jit` does with a call: look the signature up, and stage and compile only what is new."""

from drawing import Drawing


def svg() -> str:
    drawing = Drawing(
        420,
        402,
        "A call of a jitted function: its arguments are flattened, and their signature is looked "
        "up. If it is known, the compiled program is executed at once; if not, the function is "
        "traced, lowered and compiled first, and the program is kept.",
    )
    call = drawing.box(8, 12, 148, 40, 'step({"w": w}, 3)', text_style="small code")
    drawing.arrow(call.right, (222, 32), label="flatten")
    key = drawing.box(222, 6, 192, 94, style="panel")
    drawing.text((key.x + 12, 22), "structure of the arguments", "small faint", anchor="start")
    drawing.text((key.x + 12, 41), "({'w': *}, *)", "small code", anchor="start")
    drawing.text((key.x + 12, 65), "types of the leaves", "small faint", anchor="start")
    drawing.text((key.x + 12, 84), "f32[3], i32[]", "small code", anchor="start")
    cache = drawing.box(222, 138, 192, 44, "seen this signature?", "stage-3", text_style="strong")
    drawing.arrow((318, 100), cache.top, label="signature")

    run = drawing.box(222, 316, 192, 44, "execute", "stage-3")
    drawing.arrow((370, 182), (370, 316), style="stage-3")
    drawing.text((360, 222), "yes", "stage-3", anchor="end")
    drawing.text((360, 244), "microseconds", "small faint", anchor="end")
    drawing.arrow(run.bottom, (run.bottom[0], 392))
    drawing.text((run.bottom[0] + 12, 384), "results", "small", anchor="start")

    drawing.text((208, 148), "no", "stage-1", anchor="end")
    drawing.arrow(cache.left, (82, 160), (82, 186), style="stage-1")
    steps = [("trace", "a jaxpr"), ("lower", "StableHLO"), ("compile", "machine code")]
    boxes = []
    for number, (name, gives) in enumerate(steps):
        box = drawing.box(8, 186 + 64 * number, 148, 46, style="stage-1")
        drawing.text((box.center[0], box.center[1] - 9), name, "code")
        drawing.text((box.center[0], box.center[1] + 11), gives, "small faint")
        boxes.append(box)
    drawing.arrow(boxes[0].bottom, boxes[1].top, style="stage-1")
    drawing.arrow(boxes[1].bottom, boxes[2].top, style="stage-1")
    drawing.arrow((156, 338), run.left, style="stage-1")
    drawing.text((188, 324), "keep", "small")
    drawing.text((8, 376), "milliseconds, once", "small faint", anchor="start")
    drawing.text((8, 392), "for each signature", "small faint", anchor="start")
    return drawing.svg()
