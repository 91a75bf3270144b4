"""Reverse mode in programs: known values, a linear program that uses them, and its transpose."""

from drawing import Box, Drawing, panels

TOP, STEP = 46, 56  # of the first row of a program, and from row to row


def svg() -> str:
    return panels(known(), tangents(), cotangents())


def known() -> Drawing:
    drawing = Drawing(170, 232, "The values that are computed at once: cos x, y and sin x.")
    drawing.box(6, 6, 158, 220, style="panel")
    drawing.text((22, 24), "now: known", "strong", anchor="start")
    for row, text in enumerate(["cos x = -0.416", "y = 3.0", "sin x = 0.909"]):
        drawing.box(18, TOP + STEP * row + 8, 134, 32, text, "stage-1", text_style="small code")
    return drawing


def nodes(drawing: Drawing, left: float, texts: list[str]) -> list[Box]:
    """The two ends of a program, its three products, and its two sums."""
    places = [(40, 0), (150, 0), (40, 1), (40, 2), (150, 2), (95, 3), (95, 4)]
    styles = ["stage-4 ghost"] * 2 + ["stage-1"] * 3 + ["stage-4 ghost"] * 2
    return [
        drawing.box(
            left + x - 8,
            TOP + STEP * row,
            70,
            32,
            text,
            style,
            text_style="small code",
            radius=16 if row == 0 else 5,
        )
        for (x, row), text, style in zip(places, texts, styles, strict=True)
    ]


def tangents() -> Drawing:
    drawing, left = (
        Drawing(
            230,
            340,
            "The linear program of sin(x) * y + x: dx is multiplied by cos x and then by y, dy by "
            "sin x, these two are added, and dx is added to their sum.",
        ),
        0.0,
    )
    drawing.text((8, 24), "later: tangents", "strong", anchor="start")
    dx, dy, cos, y, sin, add, last = nodes(
        drawing, left, ["dx", "dy", "· cos x", "· y", "· sin x", "+", "+"]
    )
    drawing.arrow(dx.bottom, cos.top, style="stage-4")
    drawing.arrow(cos.bottom, y.top, style="stage-4")
    drawing.arrow(dy.bottom, sin.top, style="stage-4")
    drawing.arrow(y.bottom, (add.x + 16, add.y), style="stage-4")
    drawing.arrow(sin.bottom, (add.x + 54, add.y), style="stage-4")
    drawing.arrow(add.bottom, last.top, style="stage-4")
    side = left + 8
    drawing.arrow(dx.left, (side, dx.left[1]), (side, last.left[1]), last.left, style="stage-4")
    drawing.arrow(last.bottom, (last.bottom[0], 328), style="stage-4")
    drawing.text((last.bottom[0] + 10, 322), "dz", "small code", anchor="start")
    return drawing


def cotangents() -> Drawing:
    drawing, left = (
        Drawing(
            230,
            340,
            "The same program with its arrows turned round: z_bar is copied where there was a sum, "
            "and what arrives at x is added.",
        ),
        0.0,
    )
    drawing.text((8, 24), "transposed: cotangents", "strong", anchor="start")
    x, y_bar, cos, y, sin, add, last = nodes(
        drawing, left, ["x_bar: +", "y_bar", "· cos x", "· y", "· sin x", "copy", "copy"]
    )
    drawing.arrow(cos.top, x.bottom, style="stage-4")
    drawing.arrow(y.top, cos.bottom, style="stage-4")
    drawing.arrow(sin.top, y_bar.bottom, style="stage-4")
    drawing.arrow((add.x + 16, add.y), y.bottom, style="stage-4")
    drawing.arrow((add.x + 54, add.y), sin.bottom, style="stage-4")
    drawing.arrow(last.top, add.bottom, style="stage-4")
    side = left + 8
    drawing.arrow(last.left, (side, last.left[1]), (side, x.left[1]), x.left, style="stage-4")
    drawing.arrow((last.bottom[0], 334), last.bottom, style="stage-4")
    drawing.text((last.bottom[0] + 10, 322), "z_bar", "small code", anchor="start")
    return drawing
