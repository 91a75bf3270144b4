"""The lattice of dtypes: where two of them meet."""

from itertools import pairwise

from drawing import Box, Drawing

WIDTH = 33
# The column and the row of each dtype; those with a star are Python's numbers.
PLACES = {
    "bool": (0, 1),
    "i*": (1, 1),
    **{name: (2 + i, 0) for i, name in enumerate(["u8", "u16", "u32", "u64"])},
    **{name: (2 + i, 1) for i, name in enumerate(["i8", "i16", "i32", "i64"])},
    **{name: (6 + i, 1) for i, name in enumerate(["f*", "f16", "f32", "f64"])},
    **{name: (7 + i, 2) for i, name in enumerate(["c*", "c64", "c128"])},
}
CHAINS = [
    "bool i* i8 i16 i32 i64 f* f16 f32 f64",
    "i* u8 u16 u32 u64 f*",
    "u8 i16",
    "u16 i32",
    "u32 i64",
    "f* c* c64 c128",
    "f32 c64",
    "f64 c128",
]
STYLES = {"b": "plain", "u": "stage-1", "i": "stage-1", "f": "stage-2", "c": "stage-4"}


def svg() -> str:
    drawing = Drawing(
        420,
        206,
        "The lattice of dtypes, from booleans through signed and unsigned integers and real "
        "numbers to complex ones. Each dtype converts along the arrows; two dtypes meet in the "
        "first that both reach.",
    )
    boxes: dict[str, Box] = {}
    for name, (column, row) in PLACES.items():
        style = STYLES[name[0]] + (" ghost" if name.endswith("*") else "")
        boxes[name] = drawing.box(
            4 + 42 * column, 14 + 72 * row, WIDTH, 28, name, style, text_style="small code"
        )
    for chain in CHAINS:
        for one, other in pairwise(chain.split()):
            connect(drawing, boxes[one], boxes[other])
    return drawing.svg()


def connect(drawing: Drawing, one: Box, other: Box) -> None:
    """Draws an arrow between the sides that face each other."""
    if one.x == other.x:
        drawing.arrow(one.bottom, other.top)
    elif one.y == other.y:
        drawing.arrow(one.right, other.left)
    else:
        down = other.y > one.y
        start = one.x + one.width - 6, one.y + (one.height if down else 0)
        drawing.arrow(start, (other.x + 4, other.y + (0 if down else other.height)))
