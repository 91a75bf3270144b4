"""`vmap` of a product, by `in_axes`: the part of each argument that an example sees."""

from itertools import product

import numpy as np
from moving import Choice, moving

from drawing import Box, Drawing
from glassjax_stage2 import typeof, vmap

CELL = 32
W, X = np.array([1.0, 10.0]), np.arange(6.0).reshape(2, 3)
AXES = {"w": [None, 0], "x": [None, 0, 1]}
COLORS = ["stage-1", "stage-3", "stage-4"]  # of the first, second and third example
ROOM = 2, 3, 3  # for any result


def style_of(index: tuple[int, ...], axis: int | None) -> str:
    return "plain" if axis is None else COLORS[index[axis]]


def grid(drawing: Drawing, at: tuple[float, float], x: np.ndarray, axis: int | None) -> Box:
    """Draws an array; the cells of an example have its color."""
    rows = np.atleast_2d(x)
    for (i, j), value in np.ndenumerate(rows):
        index = (i, j)[-x.ndim :]
        place = at[0] + CELL * j, at[1] + CELL * i, CELL - 3, CELL - 3
        style = style_of(index, axis)
        drawing.box(*place, f"{value:g}", style, text_style="small code", radius=3)
    return Box(*at, rows.shape[1] * CELL - 3, rows.shape[0] * CELL - 3)


def result(drawing: Drawing, at: tuple[float, float], out: np.ndarray | None) -> None:
    """Draws a result whose first axis is the batch axis, in the room for the largest one."""
    for k, i, j in product(*map(range, ROOM)):
        shape = (0, 0, 0) if out is None else (1, *out.shape) if out.ndim == 2 else out.shape
        is_there = k < shape[0] and i < shape[1] and j < shape[2]
        value = out.reshape(shape)[k, i, j] if is_there else 0.0
        style = COLORS[k if len(out.shape) == 3 else i] if is_there else "none"
        place = at[0] + 112 * k + CELL * j, at[1] + CELL * i, CELL - 3, CELL - 3
        text_style = "small code" if is_there else "none"
        drawing.box(*place, f"{value:g}", style, text_style=text_style, radius=3)


def at(w_choice: int, x_choice: int) -> Drawing:
    axes = AXES["w"][w_choice], AXES["x"][x_choice]
    seen = []

    def times(w, x):
        seen[:] = typeof(w), typeof(x)
        return w * x

    try:
        out = vmap(times, in_axes=axes)(W, X)
        says = f"in_axes={axes}: an example sees w: {seen[0]} and x: {seen[1]}"
        found = f"{typeof(out)}"
    except (TypeError, ValueError) as error:
        out, says = None, f"in_axes={axes}: {str(error).splitlines()[0].partition('. ')[0]}"
        found = type(error).__name__
    drawing = Drawing(420, 264, says)
    w = grid(drawing, (72, 42), W, axes[0])
    x = grid(drawing, (176, 26), X, axes[1])
    drawing.text((56, w.center[1]), "w", "code")
    drawing.text((156, x.center[1]), "x", "code")
    drawing.text((w.center[0], 106), f"{typeof(W)}", "small code")
    drawing.text((x.center[0], 106), f"{typeof(X)}", "small code")
    drawing.text((360, x.center[1] - 14), "times(w, x):", "small code")
    drawing.text((360, x.center[1] + 6), "w * x", "code")
    drawing.arrow((210, 122), (210, 146), label="vmap", label_style="small code")
    out_style = "code" if out is not None else "code stage-2"
    drawing.text((162, 174), found, out_style, anchor="end")
    result(drawing, (176, 160), out)
    return drawing


def svg() -> str:
    names = [[str(axis) for axis in axes] for axes in AXES.values()]
    return moving(
        "Two arguments, w with two numbers and x with two rows of three, and the result of vmap of "
        "their product. The parts of one example have one color.",
        [Choice("in_axes: w", names[0], 1), Choice("x", names[1], 1)],
        at,
    )
