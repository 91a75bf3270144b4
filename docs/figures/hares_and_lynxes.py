"""Pelts of hares and lynxes, and the equations that `examples/predators.py --quick` fits."""

import numpy as np

import predators
from drawing import Box, Drawing
from glassjax import random

BEGINNINGS, STEPS = 2, 200  # as --quick says
LATER = 10  # years that are simulated after the last one seen


def svg() -> str:
    years, hares, lynxes = np.loadtxt(
        predators.HERE / "data/hares.csv", delimiter=",", skiprows=1, unpack=True, dtype=np.float32
    )
    seen = np.stack([hares, lynxes], axis=1)
    best, _ = predators.fit(random.key(0), seen, BEGINNINGS, STEPS)
    found = np.exp(best)
    simulated = np.asarray(predators.simulate(found[:4], found[4:6], len(years) + LATER))
    drawing = Drawing(
        420,
        250,
        "Pelts of hares and lynxes sold from 1900 to 1920, with the fitted curves, which go on to "
        "1930. Hares rise to seventy thousand every ten years; the lynxes follow a year or two "
        "later and reach fifty thousand, while the hares become few.",
    )
    axes = drawing.axes(Box(34, 14, 376, 190), (1899.0, 1931.0), (0.0, 90.0))
    later = years[0] + np.arange(len(simulated))
    for name, column, style, x in (("hares", 0, "stage-3", 100), ("lynxes", 1, "stage-4", 240)):
        drawing.line(*map(axes, later, simulated[:, column]), style=style)
        for year, animals in zip(years, seen[:, column], strict=True):
            drawing.dot(axes(year, animals), style, radius=3.5)
        drawing.line((x, 240), (x + 24, 240), style=style)
        drawing.text((x + 30, 240), name, "small", anchor="start")
    for year in (1900, 1910, 1920, 1930):
        drawing.text((axes(year, 0.0)[0], 218), str(year), "small code")
    for animals in (20, 40, 60, 80):
        drawing.text((28, axes(1899.0, animals)[1]), str(animals), "small code", anchor="end")
    drawing.text((42, 22), "thousand pelts", "small", anchor="start")
    return drawing.svg()
