"""A type and an array of this type: the shape is the lengths of its axes, the dtype its numbers."""

import numpy as np

from drawing import Box, Drawing
from glassjax_stage2 import typeof

CELL = 44


def svg() -> str:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    drawing = Drawing(
        420,
        196,
        f"The type {typeof(x)}: 32-bit floats, in two rows of three. Beside it an array of this "
        "type, a grid whose axis 0 goes down, and whose axis 1 goes across.",
    )
    drawing.text((96, 52), [("f32", "stage-2"), ("[", ""), ("2", "stage-3"), (",", ""),
                            ("3", "stage-4"), ("]", "")], "large code")  # fmt: skip
    for at, text, style in (
        ((38, 112), "dtype", "stage-2"),
        ((104, 112), "axis 0", "stage-3"),
        ((160, 112), "axis 1", "stage-4"),
    ):
        drawing.text(at, text, f"small {style}")
    drawing.line((66, 66), (44, 98), style="stage-2")
    drawing.line((103, 66), (104, 98), style="stage-3")
    drawing.line((129, 66), (152, 98), style="stage-4")
    drawing.text((96, 148), "f32: 32 bits, 4 bytes a number", "small faint")
    grid = Box(252, 56, 3 * CELL, 2 * CELL)
    for (i, j), value in np.ndenumerate(x):
        at = grid.x + CELL * j + 2, grid.y + CELL * i + 2
        drawing.box(*at, CELL - 4, CELL - 4, f"{value}", "stage-2", radius=3)
    drawing.arrow((grid.x, 40), (grid.x + grid.width, 40), style="stage-4")
    drawing.text((grid.center[0], 24), "axis 1: 3", "small stage-4")
    drawing.arrow((236, grid.y), (236, grid.y + grid.height), style="stage-3")
    drawing.text((230, grid.center[1] - 8), "axis 0:", "small stage-3", anchor="end")
    drawing.text((230, grid.center[1] + 8), "2", "small stage-3", anchor="end")
    drawing.text((grid.center[0], 168), "one array of this type", "small faint")
    return drawing.svg()
