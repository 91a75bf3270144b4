"""A sheet of digits, blurred by the kernel of `examples/blur.py --quick`, and the filter found."""

import numpy as np

import blur
from drawing import Drawing

STEPS = 150  # as --quick says


def svg() -> str:
    sharp, true = blur.load_sheet(np.random.default_rng(0)), blur.comet()
    blurred = np.asarray(blur.blur(sharp, true))
    found = np.asarray(blur.find_filter(sharp, blurred, STEPS)[0])
    drawing = Drawing(
        420,
        290,
        "A sheet of handwritten digits and the same sheet blurred along a diagonal; below, the "
        "filter that blurred it and the one that descent found, which look the same.",
    )
    for x, name, image in ((12, "sharp", sharp), (216, "blurred", blurred)):
        drawing.text((x + 96, 14), name, "small strong")
        drawing.image((x, 28), np.round(np.clip(image, 0, 1) * 16) / 16, 3)
    for x, name, weights in ((78, "true filter", true), (282, "found filter", found)):
        drawing.text((x + 30, 192), name, "small strong")
        drawing.image((x, 208), np.clip(weights / true.max(), 0, 1), 12)
    return drawing.svg()
