"""The programs that are measured, written once and run with either library.

Each takes `lib`: a library and its numpy, such as `jax` and `jax.numpy`, or ours.
"""

from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np


class Library(NamedTuple):
    name: str
    core: Any  # grad, jit, make_jaxpr, ...
    numpy: Any


def libraries() -> tuple[Library, Library]:
    """Ours and JAX."""
    return library("minijax"), library("jax")


def library(name: str) -> Library:
    """The library of that name, imported when it is asked for."""
    return Library(name, import_module(name), import_module(f"{name}.numpy"))


def chain(lib: Library, size: int) -> Any:
    """`size` sines, one after the other."""

    def f(x: Any) -> Any:
        for _ in range(size):
            x = lib.numpy.sin(x)
        return x

    return f


def sines_and_products(lib: Library) -> Any:
    """A number made of an array by 20 operations, and a sum."""

    def f(x: Any) -> Any:
        for _ in range(10):
            x = lib.numpy.sin(x) * x
        return lib.numpy.sum(x)

    return f


def mlp_params(lib: Library, sizes: tuple[int, ...] = (64, 128, 128, 10)) -> Any:
    rng = np.random.default_rng(0)
    return [
        {
            "w": lib.numpy.asarray(rng.normal(0, m**-0.5, (m, n)).astype(np.float32)),
            "b": lib.numpy.asarray(np.zeros(n, np.float32)),
        }
        for m, n in pairwise(sizes)
    ]


def mlp_batch(lib: Library, size: int = 32, inputs: int = 64, classes: int = 10) -> Any:
    rng = np.random.default_rng(1)
    labels = np.eye(classes, dtype=np.float32)[rng.integers(0, classes, size)]
    images = rng.normal(size=(size, inputs)).astype(np.float32)
    return lib.numpy.asarray(images), lib.numpy.asarray(labels)


def mlp_loss(lib: Library) -> Any:
    """Cross entropy of a network of three layers."""
    jnp = lib.numpy

    def loss(params: Any, batch: Any) -> Any:
        x, labels = batch
        for layer in params[:-1]:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        logits = x @ params[-1]["w"] + params[-1]["b"]
        top = jnp.max(logits, axis=1, keepdims=True)
        log_z = jnp.log(jnp.sum(jnp.exp(logits - top), axis=1, keepdims=True)) + top
        return -jnp.mean(jnp.sum((logits - log_z) * labels, axis=1))

    return loss


def step_of(lib: Library, loss: Any, rate: float = 0.1) -> Any:
    """A step of gradient descent on the parameters of a loss."""

    def step(params: Any, batch: Any) -> Any:
        value, gradient = lib.core.value_and_grad(loss)(params, batch)
        new = lib.core.tree_util.tree_map(lambda p, g: p - rate * g, params, gradient)
        return new, value

    return step


def transformer_params(lib: Library, layers: int, width: int, vocabulary: int) -> Any:
    rng = np.random.default_rng(0)

    def matrix(m: int, n: int) -> Any:
        return lib.numpy.asarray(rng.normal(0, m**-0.5, (m, n)).astype(np.float32))

    def ones() -> Any:
        return lib.numpy.asarray(np.ones(width, np.float32))

    return {
        "embed": matrix(vocabulary, width),
        "out": matrix(width, vocabulary),
        "layers": [
            {
                **{name: matrix(width, width) for name in ("q", "k", "v", "o")},
                "up": matrix(width, 4 * width),
                "down": matrix(4 * width, width),
                "scale1": ones(),
                "scale2": ones(),
            }
            for _ in range(layers)
        ],
    }


def transformer_batch(lib: Library, size: int, length: int, vocabulary: int) -> Any:
    rng = np.random.default_rng(1)
    tokens = rng.integers(0, vocabulary, (size, length + 1))
    one_hot = np.eye(vocabulary, dtype=np.float32)[tokens]
    return lib.numpy.asarray(one_hot[:, :-1]), lib.numpy.asarray(one_hot[:, 1:])


def transformer_loss(lib: Library, heads: int, length: int) -> Any:
    """Next-token cross entropy of a causal transformer, its layers unrolled."""
    jnp = lib.numpy
    mask = np.where(np.tril(np.ones((length, length))), 0.0, -1e9).astype(np.float32)

    def normalise(x: Any, scale: Any) -> Any:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
        return centred / jnp.sqrt(variance + 1e-5) * scale

    def softmax(x: Any) -> Any:
        e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
        return e / jnp.sum(e, axis=-1, keepdims=True)

    def attend(layer: Any, x: Any) -> Any:
        size, _, width = x.shape

        def split(y: Any) -> Any:
            return jnp.transpose(
                jnp.reshape(y, (size, length, heads, width // heads)), (0, 2, 1, 3)
            )

        q, k, v = (split(x @ layer[name]) for name in "qkv")
        scores = q @ jnp.transpose(k, (0, 1, 3, 2)) * (width // heads) ** -0.5
        mixed = softmax(scores + mask) @ v
        return jnp.reshape(jnp.transpose(mixed, (0, 2, 1, 3)), x.shape) @ layer["o"]

    def loss(params: Any, batch: Any) -> Any:
        inputs, targets = batch
        x = inputs @ params["embed"]
        for layer in params["layers"]:
            x = x + attend(layer, normalise(x, layer["scale1"]))
            x = x + jnp.tanh(normalise(x, layer["scale2"]) @ layer["up"]) @ layer["down"]
        return -jnp.mean(jnp.sum(jnp.log(softmax(x @ params["out"]) + 1e-9) * targets, axis=-1))

    return loss
