"""`cond` under `vmap`, with a batched predicate: both branches are computed, then selected."""

import numpy as np

from drawing import Drawing
from glassjax_stage2 import sin, vmap
from glassjax_stage4 import cond

XS = np.array([0.5, 1.5, 1.0, 2.0])
WIDTH, HEIGHT = 64, 32


def safe(x):
    return cond(x > 1.0, lambda x: sin(x) * x, lambda x: x * x, x)


def svg() -> str:
    takes = XS > 1.0
    rows = [
        ("x", 20, XS, None, "stage-5"),
        ("x > 1", 78, takes, None, "stage-5"),
        ("sin(x) * x", 136, vmap(lambda x: sin(x) * x)(XS), takes, "stage-1"),
        ("x * x", 182, XS * XS, ~takes, "stage-3"),
        ("result", 252, vmap(safe)(XS), None, ""),
    ]
    drawing = Drawing(
        420,
        300,
        "A batch of four numbers. Both branches are computed for all four; for each number the "
        "result is selected from the branch that its predicate chooses.",
    )
    for name, y, values, kept, style in rows:
        drawing.text((128, y + HEIGHT / 2), name, "small code", anchor="end")
        for k, value in enumerate(values):
            look = style or ("stage-1" if takes[k] else "stage-3")
            is_kept = kept is None or kept[k]
            text = f"{value:.2f}" if values.dtype == float else str(value)
            drawing.box(
                142 + (WIDTH + 4) * k, y, WIDTH, HEIGHT, text, look if is_kept else "ghost faint",
                text_style="small code" if is_kept else "small code faint",
            )  # fmt: skip
    for k, takes_first in enumerate(takes):
        x = 142 + (WIDTH + 4) * k + WIDTH / 2
        if takes_first:
            side = x + WIDTH / 2 + 2
            drawing.arrow((x, 168), (x, 175), (side, 175), (side, 232), (x, 232), (x, 251),
                          style="stage-1")  # fmt: skip
        else:
            drawing.arrow((x, 214), (x, 251), style="stage-3")
    drawing.text((16, 175), "both", "small faint", anchor="start")
    drawing.text((16, 232), "select", "small faint", anchor="start")
    return drawing.svg()
