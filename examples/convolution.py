"""Learns to read handwritten digits with a convolutional network.

The network of digits.py knows nothing of images: it would learn as well from pixels in any order.
This one looks for small patterns, the same ones everywhere in an image, and makes fewer mistakes:

    python examples/convolution.py

In each step of the training the images are moved and parts of the network switched off, by
random numbers that `vmap` and `jit` work on as on any others.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from bars import bar

import glassjax.numpy as jnp
from glassjax import jit, lax, nn, random, tree, value_and_grad, vmap
from glassjax.example_libraries import optimizers

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
SIDE, DIGITS = 8, 10
PATTERNS = 32, 64  # that the two convolutions look for, each of 3 x 3 pixels
HIDDEN = 128
BATCH_SIZE = 128
STEP_SIZE = 2e-3  # at first
DROPPED = 0.3  # the part of the hidden units that is switched off in a step
WANTED_ACCURACY = {"quick": 0.95, "full": 0.98}


# The data


def load_digits(rng):
    """Images (pixels from 0 to 1) and labels, first to train with, then to test with."""
    table = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
    rng.shuffle(table)
    images = table[:, :-1].reshape(-1, SIDE, SIDE, 1) / 16  # one channel: how much ink
    labels = table[:, -1].astype(np.int32)
    fifth = len(table) // 5
    return (images[fifth:], labels[fifth:]), (images[:fifth], labels[:fifth])


def moved(key, image):
    """The image, moved by at most a pixel in each direction, as one sees it in a window."""
    padded = jnp.pad(image, ((1, 1), (1, 1), (0, 0)))
    row, column = random.randint(key, (2,), 0, 3)
    return lax.dynamic_slice(padded, (row, column, 0), image.shape)


# The network


def init_parameters(key):
    """Random weights, scaled so that signals keep their size from layer to layer; no bias."""
    few, many = PATTERNS
    shapes = {
        "first": (3, 3, 1, few),
        "second": (3, 3, few, many),
        "hidden": (SIDE // 4 * SIDE // 4 * many, HIDDEN),
        "last": (HIDDEN, DIGITS),
    }
    init = nn.initializers.he_normal()
    return {
        name: {"weights": init(each, shape), "bias": jnp.zeros(shape[-1])}
        for each, (name, shape) in zip(random.split(key, len(shapes)), shapes.items(), strict=True)
    }


def convolve(images, layer):
    """How well each pattern fits at each place, where it fits at all; of 2 x 2 places the best."""
    fits = lax.conv_general_dilated(
        images,
        layer["weights"],
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    fits = nn.relu(fits + layer["bias"])
    return lax.reduce_window(fits, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def scores(parameters, images, key=None):
    """Numbers for each image and digit; with a key, some hidden units are switched off."""
    images = convolve(convolve(images, parameters["first"]), parameters["second"])
    flat = images.reshape(len(images), -1)
    hidden = nn.relu(flat @ parameters["hidden"]["weights"] + parameters["hidden"]["bias"])
    if key is not None:
        is_kept = random.bernoulli(key, 1 - DROPPED, hidden.shape)
        hidden = jnp.where(is_kept, hidden / (1 - DROPPED), 0)
    return hidden @ parameters["last"]["weights"] + parameters["last"]["bias"]


def loss(parameters, key, images, labels):
    """How surprised the network is by the right answers, on average, while it is disturbed."""
    to_move, to_drop = random.split(key)
    images = vmap(moved)(random.split(to_move, len(images)), images)
    log_probabilities = nn.log_softmax(scores(parameters, images, to_drop))
    right = jnp.take_along_axis(log_probabilities, labels[:, None], axis=-1)
    return -jnp.mean(right)


@jit
def predict(parameters, images):
    """The digits in the images."""
    return jnp.argmax(scores(parameters, images), axis=-1)


# The training


def train(key, images, labels, epochs):
    """Returns the trained parameters, the loss of every step, and the seconds that each took."""
    steps_per_epoch = len(images) // BATCH_SIZE
    schedule = optimizers.polynomial_decay(STEP_SIZE, epochs * steps_per_epoch, 0.0)
    optimizer = optimizers.adam(schedule)
    init_key, order_key, step_key = random.split(key, 3)

    @partial(jit, donate_argnums=1)
    def update(i, state, images, labels):
        parameters = optimizer.params_fn(state)
        key = random.fold_in(step_key, i)
        value, gradient = value_and_grad(loss)(parameters, key, images, labels)
        return optimizer.update_fn(i, gradient, state), value

    state = optimizer.init_fn(init_parameters(init_key))
    losses, seconds = [], []
    with bar(epochs) as advance:
        for epoch in range(epochs):
            order = np.asarray(random.permutation(random.fold_in(order_key, epoch), len(images)))
            whole_batches = order[: steps_per_epoch * BATCH_SIZE]
            for batch in whole_batches.reshape(steps_per_epoch, BATCH_SIZE):
                start = time.perf_counter()
                state, value = update(len(losses), state, images[batch], labels[batch])
                losses.append(float(value))
                seconds.append(time.perf_counter() - start)
            advance(f"loss {losses[-1]:.4f}")
    return optimizer.params_fn(state), losses, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the split and the parameters")
    parser.add_argument("--epochs", type=int, default=60, help="how often each image is seen")
    parser.add_argument("--quick", action="store_true", help="12 epochs, to see that it runs")
    options = parser.parse_args()
    epochs = 12 if options.quick else options.epochs

    (images, labels), (test_images, test_labels) = load_digits(np.random.default_rng(options.seed))
    start = time.perf_counter()
    parameters, losses, seconds = train(random.key(options.seed), images, labels, epochs)
    took = time.perf_counter() - start
    is_right = np.asarray(predict(parameters, test_images)) == test_labels
    numbers = sum(x.size for x in tree.leaves(parameters))

    print(f"parameters     {numbers} numbers")
    print(f"training       {len(losses)} steps, {1e3 * np.median(seconds):.2f} ms each")
    print(f"time           {took:.1f} s")
    print(f"loss           {losses[0]:.3f} at first, {np.mean(losses[-10:]):.3f} at last")
    print(f"test accuracy  {np.mean(is_right):.4f} of {len(test_labels)} images")
    wanted = WANTED_ACCURACY["quick" if options.quick else "full"]
    if np.mean(is_right) < wanted:
        sys.exit(f"The accuracy should be at least {wanted}.")


if __name__ == "__main__":
    main()
