"""Learns to read handwritten digits.

A small neural network is trained on four fifths of 1,797 images and tested on the rest:

    python examples/digits.py

Everything is made of three transformations of plain Python functions: `value_and_grad` says how
to change the parameters, `vmap` makes a function of one image a function of many, and `jit`
compiles the whole step.
"""

import argparse
import os
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from bars import bar
from reading import read_aloud

import glassjax.numpy as jnp
from glassjax import block_until_ready, grad, jit, make_jaxpr, nn, value_and_grad, vmap
from glassjax.example_libraries import optimizers

HERE = Path(__file__).parent
LAYERS = (64, 128, 10)  # pixels, hidden units, digits
BATCH_SIZE = 64
LEARNING_RATE = 0.2
MOMENTUM = 0.9
WANTED_ACCURACY = 0.96


# The data


def load_digits(rng):
    """Images (pixels from 0 to 1) and labels, first to train with, then to test with."""
    table = np.loadtxt(HERE / "data" / "digits.csv.gz", delimiter=",", dtype=np.float32)
    rng.shuffle(table)
    images, labels = table[:, :-1] / 16, table[:, -1].astype(np.int32)
    fifth = len(table) // 5
    return (images[fifth:], labels[fifth:]), (images[:fifth], labels[:fifth])


def batches(rng, images, labels):
    """One epoch: all images in random order, a batch at a time. An incomplete batch is left out."""
    order = rng.permutation(len(images))
    for start in range(0, len(order) - BATCH_SIZE + 1, BATCH_SIZE):
        chosen = order[start : start + BATCH_SIZE]
        yield images[chosen], labels[chosen]


# The network


def init_parameters(rng):
    """Random weights, scaled so that signals keep their size from layer to layer; no bias."""
    return [
        {
            "weights": jnp.array(
                rng.normal(0, np.sqrt(2 / inputs), (inputs, outputs)), jnp.float32
            ),
            "bias": jnp.zeros(outputs, jnp.float32),
        }
        for inputs, outputs in pairwise(LAYERS)
    ]


def scores(parameters, image):
    """A number for each digit: the larger, the more the image looks like it."""
    *hidden, last = parameters
    for layer in hidden:
        image = nn.relu(image @ layer["weights"] + layer["bias"])
    return image @ last["weights"] + last["bias"]


def surprise(scores, labels):
    """How surprised one who gives these scores is by the right answers, on average."""
    log_probabilities = nn.log_softmax(scores)
    right = nn.one_hot(labels, LAYERS[-1], dtype=jnp.float32)
    return -jnp.mean(jnp.sum(log_probabilities * right, axis=-1))


def loss(parameters, images, labels):
    """How surprised the network is."""
    return surprise(scores(parameters, images), labels)


def predict(parameters, image):
    """The digit in one image."""
    return jnp.argmax(scores(parameters, image))


# The transformations

loss_and_gradient = jit(value_and_grad(loss))
predict_all = jit(vmap(predict, in_axes=(None, 0)))
change_of_surprise = grad(surprise)

# One step of gradient descent with momentum, of which the state holds the parameters too.
optimizer = optimizers.momentum(LEARNING_RATE, MOMENTUM)
update = jit(optimizer.update_fn)


def train(rng, parameters, images, labels, epochs, after_epoch):
    """Returns the trained parameters, the loss of every step, and the seconds that each took.

    After every epoch it calls `after_epoch(parameters, loss)`.
    """
    state = optimizer.init_fn(parameters)
    losses, seconds = [], []
    for _ in range(epochs):
        for batch in batches(rng, images, labels):
            start = time.perf_counter()
            value, gradient = loss_and_gradient(optimizer.params_fn(state), *batch)
            state = update(len(losses), gradient, state)
            block_until_ready(state)
            losses.append(float(value))
            seconds.append(time.perf_counter() - start)
        after_epoch(optimizer.params_fn(state), losses[-1])
    return optimizer.params_fn(state), losses, seconds


def accuracy(parameters, images, labels):
    """The part of the images that is read rightly."""
    return float(np.mean(np.asarray(predict_all(parameters, images)) == labels))


# What is shown


def show_gradient(parameters, images, labels):
    """Prints the program that `grad` makes of the loss, and says each step in words."""
    batch = images[:BATCH_SIZE], labels[:BATCH_SIZE]
    program = make_jaxpr(grad(loss))(parameters, *batch)
    names = ["bias 1", "weights 1", "bias 2", "weights 2", "images", "labels"]
    print(f"The gradient of the loss, as jit sees it, with the lines of {Path(__file__).name}:\n")
    print(*read_aloud(program, names), sep="\n", end="\n\n")


def show_compilations(functions):
    """Prints how often each function was compiled, and why."""
    counts = ", ".join(f"{name} {f._cache_size()}" for name, f in functions.items())
    print(f"compilations   {counts}")
    print("               A function is compiled when its arguments have new types; those of a")
    print("               batch are the same in every step, so each was compiled once.")


def draw(path, losses, images, labels, predictions):
    """Writes a picture: the loss of every step, and what was read in some images."""
    import matplotlib

    matplotlib.use("Agg")  # draws without a screen
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(12, 4.5), layout="constrained")
    [(left, right)] = figure.subfigures(1, 2, squeeze=False, width_ratios=[2, 3])
    axes = left.subplots()
    axes.semilogy(losses)
    axes.set(title="learning", xlabel="step", ylabel="loss")
    is_right = predictions == labels
    above, below = right.subfigures(2, 1)
    for part, chosen, title, color in (
        (above, np.flatnonzero(is_right), "read rightly", "black"),
        (below, np.flatnonzero(~is_right), "mistakes: what was read, and what it is", "red"),
    ):
        part.suptitle(title)
        for axes, i in zip(part.subplots(1, 8), chosen, strict=False):
            axes.imshow(images[i].reshape(8, 8), cmap="gray_r")
            read = f"{predictions[i]}" if is_right[i] else f"{predictions[i]}, not {labels[i]}"
            axes.set_title(read, color=color, fontsize=9)
        for axes in part.axes:
            axes.axis("off")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)


NEXT = """
What to do now:
  ./noxw -s docs -- serve       opens the tutorial, which builds all of this from nothing
  ./noxw -s study -- stage1     lets you write the interpreters yourself
  {python} -m glassjax step examples/digits.py:change_of_surprise 'f32[2,10]' '[3, 1]'
                                executes a gradient, an equation at a time
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the split and the parameters")
    parser.add_argument("--epochs", type=int, default=40, help="how often each image is seen")
    parser.add_argument("--quick", action="store_true", help="15 epochs, to see that it runs")
    options = parser.parse_args()
    epochs = 15 if options.quick else options.epochs

    rng = np.random.default_rng(options.seed)
    (train_images, train_labels), (test_images, test_labels) = load_digits(rng)
    parameters = init_parameters(rng)
    show_gradient(parameters, train_images, train_labels)
    with bar(epochs) as advance_bar:

        def advance(parameters, last_loss):
            reached = accuracy(parameters, test_images, test_labels)
            advance_bar(f"loss {last_loss:.4f}, test accuracy {reached:.4f}")

        parameters, losses, seconds = train(
            rng, parameters, train_images, train_labels, epochs, advance
        )
    reached = accuracy(parameters, test_images, test_labels)
    picture = HERE / "output" / "digits.png"
    draw(
        picture, losses, test_images, test_labels, np.asarray(predict_all(parameters, test_images))
    )

    print(f"seed           {options.seed}")
    print(f"training       {len(losses)} steps, {1e3 * np.median(seconds):.2f} ms each")
    show_compilations(
        {"loss_and_gradient": loss_and_gradient, "update": update, "predict_all": predict_all}
    )
    print(f"test accuracy  {reached:.4f} of {len(test_labels)} images")
    print(f"picture        {picture}")
    if reached < WANTED_ACCURACY:
        sys.exit(f"The accuracy should be at least {WANTED_ACCURACY}.")
    print(NEXT.format(python=os.path.relpath(sys.executable)), end="")


if __name__ == "__main__":
    main()
