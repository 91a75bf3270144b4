"""What the network of `examples/digits.py --quick` learns, and reads in images new to it."""

import numpy as np

import digits
from drawing import Box, Drawing

EPOCHS = 15  # as --quick says
PIXEL = 5
SHOWN = 6  # images in a row


def svg() -> str:
    rng = np.random.default_rng(0)
    to_learn, (images, labels) = digits.load_digits(rng)
    parameters, losses, _ = digits.train(
        rng, digits.init_parameters(rng), *to_learn, EPOCHS, lambda parameters, loss: None
    )
    read = np.asarray(digits.predict_all(parameters, images))
    is_right = read == labels
    drawing = Drawing(
        640,
        240,
        f"Left, the loss, which falls from {losses[0]:.1f} to {losses[-1]:.2f} in {len(losses)} "
        f"steps. Right, images of handwritten digits: {SHOWN} that were read correctly, and "
        f"{SHOWN} of the mistakes, such as "
        + ", ".join(f"a {labels[i]} read as {read[i]}" for i in np.flatnonzero(~is_right)[:3])
        + ".",
    )
    axes = drawing.axes(Box(44, 30, 210, 170), (0.0, len(losses)), (-3.0, 0.5))
    drawing.line(*(axes(i, np.log10(loss)) for i, loss in enumerate(losses)), style="stage-1")
    for power in (-3, -2, -1, 0):
        drawing.text((38, axes(0.0, power)[1]), f"{10.0**power:g}", "small code", anchor="end")
    drawing.text((149, 14), "loss", "small")
    drawing.text((149, 216), f"{len(losses)} steps", "small")
    rows = (
        (14, np.flatnonzero(is_right), "read correctly"),
        (126, np.flatnonzero(~is_right), "mistakes: what was read, and what it is"),
    )
    for y, chosen, title in rows:
        drawing.text((455, y), title, "small")
        for place, i in enumerate(chosen[:SHOWN]):
            x = 284 + 59 * place
            drawing.image((x, y + 14), images[i].reshape(8, 8), PIXEL)
            text = str(read[i]) if is_right[i] else f"{read[i]}, not {labels[i]}"
            drawing.text((x + 4 * PIXEL, y + 70), text, "small" if is_right[i] else "small stage-4")
    return drawing.svg()
