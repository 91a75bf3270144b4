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
    return library("glassjax"), library("jax")


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


# Programs that are loops.
def lstm_params(lib: Library, inputs: int, width: int) -> Any:
    rng = np.random.default_rng(0)
    weights = rng.normal(0, (inputs + width) ** -0.5, (inputs + width, 4 * width))
    return {
        "w": lib.numpy.asarray(weights.astype(np.float32)),
        "b": lib.numpy.asarray(np.zeros(4 * width, np.float32)),
        "out": lib.numpy.asarray(rng.normal(0, 0.1, (width, inputs)).astype(np.float32)),
    }


def lstm_batch(lib: Library, length: int, size: int, inputs: int) -> Any:
    series = np.random.default_rng(1).normal(size=(length + 1, size, inputs)).astype(np.float32)
    return lib.numpy.asarray(series[:-1]), lib.numpy.asarray(series[1:])


def lstm_loss(lib: Library) -> Any:
    """How far an LSTM, a `scan` over time, is from telling the next element of a series."""
    jnp = lib.numpy

    def loss(params: Any, batch: Any) -> Any:
        series, targets = batch
        width = params["out"].shape[0]

        def cell(carry: Any, x: Any) -> Any:
            state, memory = carry
            gates = jnp.concatenate([x, state], axis=1) @ params["w"] + params["b"]
            update, forget, new, out = jnp.split(gates, 4, axis=1)
            memory = lib.core.nn.sigmoid(forget) * memory
            memory = memory + lib.core.nn.sigmoid(update) * jnp.tanh(new)
            state = lib.core.nn.sigmoid(out) * jnp.tanh(memory)
            return (state, memory), state @ params["out"]

        nothing = jnp.zeros((series.shape[1], width))
        _, told = lib.core.lax.scan(cell, (nothing, nothing), series)
        return jnp.mean((told - targets) ** 2)

    return loss


def ode_solve(lib: Library, end: float = 1.0, tolerance: float = 1e-4) -> Any:
    """Lorenz's model of weather on a circle, by Bogacki and Shampine's method of adapting steps."""
    jnp = lib.numpy

    def slope(x: Any, forcing: Any) -> Any:
        return (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + forcing

    def solve(x: Any, forcing: Any) -> Any:
        def goes_on(carry: Any) -> Any:
            time, _, _ = carry
            return time < end

        def step(carry: Any) -> Any:
            time, size, x = carry
            size = jnp.minimum(size, end - time)
            k1 = slope(x, forcing)
            k2 = slope(x + size * k1 / 2, forcing)
            k3 = slope(x + size * k2 * 3 / 4, forcing)
            new = x + size * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = slope(new, forcing)
            error = size * jnp.max(jnp.abs(-5 * k1 + 6 * k2 + 8 * k3 - 9 * k4)) / 72
            is_good = error < tolerance
            factor = jnp.clip(0.9 * (tolerance / (error + 1e-12)) ** (1 / 3), 0.2, 5.0)
            x = jnp.where(is_good, new, x)
            return jnp.where(is_good, time + size, time), size * factor, x

        return lib.core.lax.while_loop(goes_on, step, (0.0, 0.01, x))[2]

    return solve


def ode_start(lib: Library, size: int) -> Any:
    x = 8 + np.random.default_rng(0).normal(size=size).astype(np.float32)
    return lib.numpy.asarray(x), lib.numpy.asarray(np.float32(8))


def deep_params(lib: Library, layers: int, width: int) -> Any:
    rng = np.random.default_rng(0)

    def matrices(m: int, n: int) -> Any:
        return lib.numpy.asarray(rng.normal(0, m**-0.5, (layers, m, n)).astype(np.float32))

    return {
        "up": matrices(width, 4 * width),
        "down": matrices(4 * width, width),
        "scale": lib.numpy.asarray(np.ones((layers, width), np.float32)),
    }


def deep_batch(lib: Library, size: int, width: int) -> Any:
    return lib.numpy.asarray(np.random.default_rng(1).normal(size=(size, width)).astype(np.float32))


def deep_loss(lib: Library, checkpointed: bool = True) -> Any:
    """What a deep network makes of a batch: a `scan` over its layers, each with `checkpoint`."""
    jnp = lib.numpy

    def loss(params: Any, x: Any) -> Any:
        def layer(x: Any, params: Any) -> Any:
            centred = x - jnp.mean(x, axis=-1, keepdims=True)
            variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
            normal = centred / jnp.sqrt(variance + 1e-5) * params["scale"]
            return x + jnp.tanh(normal @ params["up"]) @ params["down"], None

        step = lib.core.checkpoint(layer) if checkpointed else layer
        x, _ = lib.core.lax.scan(step, x, params)
        return jnp.mean(x * x)

    return loss
