"""The attractor of a driven oscillator, whose period `examples/unrolled.py` rolls up."""

import numpy as np
import unrolled

from drawing import Box, Drawing
from glassjax import jit

COUNT = 900


def svg() -> str:
    orbit = jit(lambda state: unrolled.orbit(state, COUNT))((0.5, 0.0))
    drawing = Drawing(
        420,
        250,
        "Places and velocities once a period: points on a folded band that never closes.",
    )
    axes = drawing.axes(Box(34, 14, 376, 200), (-1.7, 1.7), (-0.7, 1.1))
    for x, v in np.stack(orbit, axis=1)[20:]:
        drawing.dot(axes(float(x), float(v)), "stage-4", radius=0.9)
    drawing.text((222, 236), "place", "small")
    drawing.text((40, 8), "velocity", "small", anchor="start")
    return drawing.svg()
