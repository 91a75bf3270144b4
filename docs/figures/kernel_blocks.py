"""The programs of a blocked matrix product, one after another, with the blocks that each has."""

from itertools import product

from moving import Slider, moving

from drawing import Drawing

CELL, SIZE = 22, 4  # pixels of a cell, cells of an array along each axis
GRID = list(product(range(2), repeat=3))


def array(drawing: Drawing, x: float, name: str, block: tuple[int, int], style: str) -> None:
    """Draw an array of 2 by 2 blocks, one of them in a style of its own."""
    drawing.text((x + SIZE * CELL / 2, 52), name, "small code")
    for row, column in product(range(SIZE), repeat=2):
        look = style if (row // 2, column // 2) == block else "ghost"
        at = x + column * CELL, 70 + row * CELL
        drawing.box(*at, CELL - 3, CELL - 3, style=look, radius=3)
    drawing.text((x + SIZE * CELL / 2, 180), f"block {block[0]}, {block[1]}", f"small {style}")


def at(number: int) -> Drawing:
    i, j, k = GRID[number]
    does = ("begin" if k == 0 else "add to", "and write it" if k == 1 else "and keep it")
    drawing = Drawing(
        420,
        236,
        f"Program {i}, {j}, {k} multiplies block {i}, {k} of x and block {k}, {j} of y: "
        f"{does[0]} the total of block {i}, {j}, {does[1]}.",
    )
    drawing.text((210, 20), f"program {i}, {j}, {k}", "code strong")
    array(drawing, 26, "x: f32[4,4]", (i, k), "stage-2")
    array(drawing, 168, "y: f32[4,4]", (k, j), "stage-3")
    array(drawing, 310, "out: f32[4,4]", (i, j), "stage-5")
    drawing.text((139, 114), "@", "code")
    drawing.text((282, 114), "=", "code")
    drawing.text((210, 214), f"{does[0]} the total, {does[1]}", "small")
    return drawing


def svg() -> str:
    programs = Slider("program", [f"{i}, {j}, {k}" for i, j, k in GRID], plays=1)
    title = "The blocks of x, y and out that each program of a matrix product has"
    return moving(title, [programs], at)
