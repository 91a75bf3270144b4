"""The digits of `foo(2.00001)`: value, slope and error, one after the other."""

import re

from drawing import Drawing
from glassjax_stage1 import add, mul

LETTER = 13.2  # the width of a digit of large code


def foo(x):
    return mul(x, add(x, 3.0))


def svg() -> str:
    before, after = f"{2.00001:.5f}", f"{foo(2.00001):.10f}"
    drawing = Drawing(
        420,
        212,
        f"foo maps {before} to {after}. The first digits are the value 10, the 7 five places on is "
        "the slope, and the 1 five places further is the error.",
    )
    point = 140  # where the decimal points are

    def digits(y: float, text: str, *styles: str) -> None:
        """Writes a number: what is before the point, and each digit after it that is not zero."""
        left = point - LETTER * text.index(".")
        pieces = re.findall(r"^\d+|[.0]+|[1-9]", text)
        runs = list(zip(pieces, styles, strict=True))
        drawing.text((left, y), runs, "large code", anchor="start")

    digits(52, before, "strong", "faint", "stage-1")
    digits(132, after, "strong", "faint", "stage-1", "faint", "stage-2")
    x = [point + LETTER * (k + 0.5) for k in (-1, 5, 10)]
    drawing.text((x[0], 22), "x", "small strong")
    drawing.text((x[1], 22), "its change", "small stage-1")
    drawing.text((x[0] - 7, 166), "value", "small strong")
    drawing.text((x[1], 166), "slope", "small stage-1")
    drawing.text((x[2], 166), "error", "small stage-2")
    drawing.arrow((point + LETTER * 0.5, 70), (point + LETTER * 0.5, 112), label="foo",
                  label_style="small code")  # fmt: skip
    drawing.text((x[0] - 7, 196), "10", "code strong")
    drawing.text((x[1] - 40, 196), "+", "code")
    drawing.text((x[1], 196), "7 ε", "code stage-1")
    drawing.text((x[2] - 33, 196), "+", "code")
    drawing.text((x[2] + 4, 196), "1 ε²", "code stage-2")
    drawing.text((400, 196), "ε = 0.00001", "small code faint", anchor="end")
    return drawing.svg()
