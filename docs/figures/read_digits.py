"""What the network of `examples/digits.py --quick` learns, and reads in images new to it."""

import numpy as np

import digits
from drawing import Box, Drawing, panels

EPOCHS = 15  # as --quick says
PIXEL = 5
SHOWN = 5  # images in a row


def svg() -> str:
    rng = np.random.default_rng(0)
    to_learn, (images, labels) = digits.load_digits(rng)
    parameters, losses, _ = digits.train(
        rng, digits.init_parameters(rng), *to_learn, EPOCHS, lambda parameters, loss: None
    )
    read = np.asarray(digits.predict_all(parameters, images))
    return panels(curve(losses), images_read(images, labels, read))


def curve(losses: list[float]) -> Drawing:
    drawing = Drawing(
        300,
        230,
        f"The loss falls from {losses[0]:.1f} to {losses[-1]:.3f} in {len(losses)} steps.",
    )
    axes = drawing.axes(Box(52, 28, 238, 166), (0.0, len(losses)), (-3.0, 0.5))
    drawing.line(*(axes(i, np.log10(loss)) for i, loss in enumerate(losses)), style="stage-1")
    for power in (-3, -2, -1, 0):
        drawing.text((46, axes(0.0, power)[1]), f"{10.0**power:g}", "small code", anchor="end")
    drawing.text((171, 14), "loss", "small")
    drawing.text((171, 210), f"{len(losses)} steps", "small")
    return drawing


def images_read(images: np.ndarray, labels: np.ndarray, read: np.ndarray) -> Drawing:
    is_right = read == labels
    right, wrong = np.flatnonzero(is_right)[:SHOWN], np.flatnonzero(~is_right)[:SHOWN]
    drawing = Drawing(
        330,
        230,
        f"Images of handwritten digits. Read correctly: {', '.join(map(str, read[right]))}. "
        f"Mistakes: {', '.join(f'{labels[i]} read as {read[i]}' for i in wrong)}.",
    )
    rows = (14, right, "read correctly"), (126, wrong, "mistakes: what was read, and what it is")
    for y, chosen, title in rows:
        drawing.text((165, y), title, "small")
        for place, i in enumerate(chosen):
            x = 17 + 64 * place
            drawing.image((x, y + 14), images[i].reshape(8, 8), PIXEL)
            text = str(read[i]) if is_right[i] else f"{read[i]}, not {labels[i]}"
            drawing.text((x + 4 * PIXEL, y + 70), text, "small" if is_right[i] else "small stage-4")
    return drawing
