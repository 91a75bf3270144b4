"""Carbon dioxide on Mauna Loa, and the extrapolation of `examples/gaussian_process.py --quick`."""

import numpy as np

import gaussian_process
from drawing import Box, Drawing
from glassjax import enable_x64, tree

STEPS, EVERY = 15, 4  # as --quick says


def extrapolation():
    """The data, then times after the last month that was learned from, means and deviations."""
    times, values = gaussian_process.load_co2()
    is_shown = times < gaussian_process.FIRST_HIDDEN_YEAR
    shown, seen = times[is_shown][::EVERY], values[is_shown][::EVERY]
    offset = np.mean(seen)
    future = np.arange(gaussian_process.FIRST_HIDDEN_YEAR, 2012, 1 / 8)
    with enable_x64(True):
        guess = tree.map(np.log, gaussian_process.GUESS)
        logarithms, _ = gaussian_process.learn(guess, shown, seen - offset, STEPS)
        parameters = tree.map(np.exp, logarithms)
        mean, deviation = gaussian_process.predict(parameters, shown, seen - offset, future)
    return times, values, future, np.asarray(mean) + offset, np.asarray(deviation)


def svg() -> str:
    times, values, future, mean, deviation = extrapolation()
    drawing = Drawing(
        420,
        270,
        "Carbon dioxide on Mauna Loa rises from 315 parts per million in 1958 to 371 in 2001, with "
        "a wave each year. From 1991 on, where the model has seen nothing, its curve continues "
        "both the rise and the wave through the measured points, in a band that widens to 2012.",
    )
    axes = drawing.axes(Box(40, 14, 370, 206), (1957.0, 2013.0), (305.0, 400.0))
    low, high = mean - 1.96 * deviation, mean + 1.96 * deviation
    drawing.area(*map(axes, [*future, *future[::-1]], [*low, *high[::-1]]), style="stage-2")
    for time, value in zip(times, values, strict=True):
        drawing.dot(axes(time, value), "strong", radius=1)
    drawing.line(*map(axes, future, mean), style="stage-2")
    for year in (1960, 1980, 2000):
        drawing.text((axes(year, 305.0)[0], 234), str(year), "small code")
    for amount in (320, 340, 360, 380):
        drawing.text((34, axes(1957.0, amount)[1]), str(amount), "small code", anchor="end")
    drawing.text((48, 22), "parts per million", "small", anchor="start")
    for x, style, name in (
        (30, "strong", "measured"),
        (150, "stage-2", "extrapolated, with its 95 % band"),
    ):
        drawing.line((x, 258), (x + 24, 258), style=style)
        drawing.text((x + 30, 258), name, "small", anchor="start")
    return drawing.svg()
