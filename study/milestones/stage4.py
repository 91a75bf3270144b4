"""Handwritten digits, learned with your `grad`.

A network of two layers is trained on four fifths of 1,797 images and reads the others. The gradient
of its loss is yours, from the tangents of each primitive to the program that runs backwards.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np

from glassjax_stage2 import exp, log, reduce_sum, vmap
from glassjax_stage3 import jit
from glassjax_stage4 import value_and_grad

DATA = Path(__file__).parents[2] / "examples" / "data" / "digits.csv.gz"
LAYERS = 64, 48, 10  # pixels, hidden units, digits
BATCH, EPOCHS, RATE = 32, 12, 0.3
SHADES = " .:-=+*#@"


def load(rng):
    """Images and labels, as rows of 0 and 1: first to train with, then to test with."""
    table = rng.permutation(np.loadtxt(DATA, delimiter=",", dtype=np.float32))
    images, labels = table[:, :-1] / 16, np.eye(10, dtype=np.float32)[table[:, -1].astype(int)]
    fifth = len(table) // 5
    return (images[fifth:], labels[fifth:]), (images[:fifth], labels[:fifth])


def scores(parameters, image):
    """A number for each digit: the larger, the more the image looks like it."""
    hidden, out = parameters
    sums = image @ hidden["weights"] + hidden["bias"]
    active = 2.0 / (1.0 + exp(-2.0 * sums)) - 1.0  # the hyperbolic tangent
    return active @ out["weights"] + out["bias"]


def loss(parameters, images, labels):
    """How surprised the network is by the right answers, on average."""

    def surprise(image, label):
        given = scores(parameters, image)
        return log(reduce_sum(exp(given))) - reduce_sum(given * label)

    return reduce_sum(vmap(surprise)(images, labels)) / len(images)


@jit
def step(parameters, images, labels):
    """A step down the gradient."""
    value, gradient = value_and_grad(loss)(parameters, images, labels)
    moved = [
        {name: layer[name] - RATE * slope[name] for name in layer}
        for layer, slope in zip(parameters, gradient, strict=True)
    ]
    return moved, value


def read(parameters, images):
    """The digit in each image."""
    return np.argmax(np.asarray(jit(vmap(scores, (None, 0)))(parameters, images)), axis=1)


def picture(image):
    return ["".join(SHADES[round(8 * float(x))] * 2 for x in row) for row in image.reshape(8, 8)]


def main():
    rng = np.random.default_rng(0)
    (images, labels), (test_images, test_labels) = load(rng)
    parameters = [
        {
            "weights": rng.normal(0, inputs**-0.5, (inputs, outputs)).astype(np.float32),
            "bias": np.zeros(outputs, np.float32),
        }
        for inputs, outputs in pairwise(LAYERS)
    ]
    right = np.argmax(test_labels, axis=1)
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            parameters, value = step(parameters, images[chosen], labels[chosen])
        accuracy = float(np.mean(read(parameters, test_images) == right))
        print(f"epoch {epoch + 1:2}   loss {float(value):.4f}   reads {accuracy:.1%} rightly")
    print()
    found = read(parameters, test_images[:4])
    for row in zip(*map(picture, test_images[:4]), strict=True):
        print("  ".join(row))
    print("  ".join(f"read as {digit}".ljust(16) for digit in found))
    assert accuracy > 0.93, "the network has not learned to read: is a rule wrong?"


if __name__ == "__main__":
    main()
