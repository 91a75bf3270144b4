"""Shows where the memory of a network's training step goes, line by line.

    python examples/memory.py

The step is compiled as it is, and with a checkpoint around each layer. Pages with the pictures are
written beside the text.
"""

import argparse
from pathlib import Path

import glassjax.numpy as jnp
from glassjax import ShapeDtypeStruct, checkpoint, explain_memory, lax, value_and_grad

OUTPUT = Path(__file__).parent / "output"


def attention(weights, x):
    q = x @ weights["query"]
    k = x @ weights["key"]
    v = x @ weights["value"]
    scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(q.shape[-1])
    weights_of_words = jnp.exp(scores - scores.max(-1, keepdims=True))
    return (weights_of_words / weights_of_words.sum(-1, keepdims=True)) @ v


def perceptron(weights, x):
    hidden = jnp.tanh(x @ weights["up"])
    return hidden @ weights["down"]


def layer(weights, x):
    x = x + attention(weights, x)
    return x + perceptron(weights, x)


def loss_with(layer):
    def loss(weights, x):
        x, _ = lax.scan(lambda x, of_layer: (layer(of_layer, x), None), x, weights)
        return jnp.mean(x**2)

    return loss


def types(layers, batch, words, width):
    shapes = {
        **dict.fromkeys(("query", "key", "value"), (width, width)),
        "up": (width, 4 * width),
        "down": (4 * width, width),
    }
    weights = {
        name: ShapeDtypeStruct((layers, *shape), "float32") for name, shape in shapes.items()
    }
    return weights, ShapeDtypeStruct((batch, words, width), "float32")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small network")
    sizes = (2, 2, 32, 16) if parser.parse_args().quick else (12, 8, 256, 128)
    OUTPUT.mkdir(exist_ok=True)
    for name, chosen in ("plain", layer), ("checkpointed", checkpoint(layer)):
        memory = explain_memory(value_and_grad(loss_with(chosen)))(*types(*sizes))
        picture = OUTPUT / f"memory_{name}.html"
        memory.save(picture)
        print(f"{name}: {memory}\n\n{'picture':13}{picture}\n")


if __name__ == "__main__":
    main()
