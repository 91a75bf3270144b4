"""Learns to write like the gospels, letter by letter.

A small transformer reads the four gospels and learns to say what letter comes next, from the ones
before. Then it writes some lines of its own:

    python examples/transformer.py

How surprised it is by text that it has not seen is compared with what counting yields: the
entropy of a letter, and of a letter where the one before is known.
"""

import argparse
import gzip
import math
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from bars import bar

import glassjax.numpy as jnp
from glassjax import jit, lax, nn, random, tree, value_and_grad, vmap
from glassjax.example_libraries import optimizers

TEXT = Path(__file__).parent / "data" / "gospels.txt.gz"
CONTEXT = 64  # letters that the network sees
BATCH_SIZE = 32
STEP_SIZE = 3e-3  # the largest
WARM_UP = 50  # steps until then
LONGEST_GRADIENT = 1.0
SIZES = {  # of the network: numbers for a letter, blocks, heads in each of them
    "quick": {"width": 32, "blocks": 1, "heads": 2},
    "full": {"width": 96, "blocks": 3, "heads": 4},
}


# The data


def load_text():
    """The letters that occur, and the text as their numbers: to train with, to test with."""
    text = gzip.decompress(TEXT.read_bytes()).decode("ascii")
    letters = sorted(set(text))
    numbers = np.array([letters.index(letter) for letter in text], np.int32)
    most = len(numbers) * 9 // 10
    return letters, numbers[:most], numbers[most:]


def entropies(train, test, kinds):
    """The surprise at a letter of the test, by how often it came, and came after the one before."""
    pairs = np.ones((kinds, kinds))  # a pair that never came is not impossible
    np.add.at(pairs, (train[:-1], train[1:]), 1)
    singles = np.log(pairs.sum(axis=0) / pairs.sum())
    following = np.log(pairs / pairs.sum(axis=1, keepdims=True))
    return -np.mean(singles[test]), -np.mean(following[test[:-1], test[1:]])


@partial(jit, static_argnames="count")
def windows(key, text, count):
    """Pieces of the text from random places, each with one letter more than the context."""
    starts = random.randint(key, (count,), 0, len(text) - CONTEXT)
    return vmap(lambda start: lax.dynamic_slice(text, (start,), (CONTEXT + 1,)))(starts)


# The network


def init_parameters(key, letters, width, blocks):
    """Random weights, scaled by the number of their inputs."""
    keys = iter(random.split(key, 3 + 4 * blocks))

    def weights(inputs, outputs):
        return random.normal(next(keys), (inputs, outputs)) / math.sqrt(inputs)

    return {
        "letters": 0.1 * random.normal(next(keys), (letters, width)),
        "places": 0.1 * random.normal(next(keys), (CONTEXT, width)),
        "blocks": [
            {
                "norms": jnp.ones((2, width)),
                "attention": weights(width, 3 * width),
                "together": weights(width, width),
                "widen": weights(width, 4 * width),
                "narrow": weights(4 * width, width),
            }
            for _ in range(blocks)
        ],
        "norm": jnp.ones(width),
        "scores": weights(width, letters),
    }


def normalize(x, scale):
    """Each place's numbers, brought to the size 1."""
    return x * scale * lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)


def attend(x, block, heads):
    """Each place looks back for places that answer its question, and takes their values."""
    length, width = x.shape
    split = (x @ block["attention"]).reshape(length, 3, heads, width // heads)
    questions, answers, values = (split[:, i] for i in range(3))
    fits = jnp.einsum("qhd,khd->hqk", questions, answers) / math.sqrt(width // heads)
    is_past = jnp.tril(jnp.ones((length, length), bool))
    attention = nn.softmax(jnp.where(is_past, fits, -jnp.inf))
    taken = jnp.einsum("hqk,khd->qhd", attention, values)
    return taken.reshape(length, width) @ block["together"]


def scores(parameters, text, heads):
    """For each place of one text a number for each letter: how likely it comes next."""
    x = parameters["letters"][text] + parameters["places"][: len(text)]
    for block in parameters["blocks"]:
        before_attention, before_thought = block["norms"]
        x = x + attend(normalize(x, before_attention), block, heads)
        x = x + nn.silu(normalize(x, before_thought) @ block["widen"]) @ block["narrow"]
    return normalize(x, parameters["norm"]) @ parameters["scores"]


def loss(parameters, texts, heads):
    """How surprised the network is by the next letters, on average."""
    score_all = vmap(scores, in_axes=(None, 0, None))
    log_probabilities = nn.log_softmax(score_all(parameters, texts[:, :-1], heads))
    return -jnp.mean(jnp.take_along_axis(log_probabilities, texts[:, 1:, None], axis=-1))


@partial(jit, static_argnames=("heads", "length"))
def write(key, parameters, start, heads, length):
    """Letters drawn one by one, each by the network's probabilities after the ones before."""

    def write_letter(seen, key):
        letter = random.categorical(key, scores(parameters, seen, heads)[-1])
        return jnp.append(seen[1:], letter), letter

    return lax.scan(write_letter, start, random.split(key, length))[1]


# The training


def train(key, parameters, text, steps, heads):
    """Returns the trained parameters and the seconds that each step took; says how it goes."""

    def step_size(i):
        return STEP_SIZE * jnp.minimum((i + 1) / WARM_UP, 1 - (i + 1) / (steps + 1))

    optimizer = optimizers.adam(step_size, b2=0.99)

    @partial(jit, donate_argnums=1)
    def update(i, state, text):
        texts = windows(random.fold_in(key, i), text, BATCH_SIZE)
        value, gradient = value_and_grad(loss)(optimizer.params_fn(state), texts, heads)
        gradient = optimizers.clip_grads(gradient, LONGEST_GRADIENT)
        return optimizer.update_fn(i, gradient, state), value

    state, seconds = optimizer.init_fn(parameters), []
    with bar(steps) as advance:
        for i in range(steps):
            start = time.perf_counter()
            state, value = update(i, state, text)
            value = float(value)
            seconds.append(time.perf_counter() - start)
            advance(f"surprise {value:.3f}")
    return optimizer.params_fn(state), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of parameters, order and sample")
    parser.add_argument("--steps", type=int, default=1500, help="of the training")
    parser.add_argument("--quick", action="store_true", help="60 steps of a smaller network")
    options = parser.parse_args()
    size = SIZES["quick" if options.quick else "full"]
    steps, length = (60, 100) if options.quick else (options.steps, 400)
    heads = size["heads"]

    letters, train_text, test_text = load_text()
    init_key, train_key, test_key, write_key = random.split(random.key(options.seed), 4)
    parameters = init_parameters(init_key, len(letters), size["width"], size["blocks"])
    start = time.perf_counter()
    parameters, seconds = train(train_key, parameters, jnp.array(train_text), steps, heads)
    took = time.perf_counter() - start
    test_windows = windows(test_key, test_text, 512)
    tested = float(jit(loss, static_argnames="heads")(parameters, test_windows, heads))
    alone, after_one = entropies(train_text, test_text, len(letters))
    written = write(write_key, parameters, test_text[:CONTEXT], heads, length)

    print(f"parameters     {sum(x.size for x in tree.leaves(parameters))} numbers")
    print(f"training       {steps} steps, {1e3 * np.median(seconds):.1f} ms each, {took:.0f} s")
    print(f"surprise       {tested:.3f} at a letter of the unseen text (nats)")
    print(f"by counting    {alone:.3f} for letters, {after_one:.3f} for pairs of letters")
    print("\n" + "".join(letters[i] for i in written))
    if tested > (alone if options.quick else 0.75 * after_one):
        sys.exit("It should have learned more.")


if __name__ == "__main__":
    main()
