"""jax2onnx: programs converted to ONNX, and run by onnxruntime."""

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
from jax2onnx import to_onnx

TOLERANCE = 1e-5
RANDOM = np.random.default_rng(0)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def perceptron():
    w1, b1, w2, b2 = normal(8, 16), normal(16), normal(16, 4), normal(4)

    def apply(x):
        hidden = jax.nn.relu(x @ w1 + b1)
        return jax.nn.softmax(hidden @ w2 + b2, axis=-1)

    return apply, normal(3, 8)


def normalised(x):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / jnp.sqrt(variance + 1e-5)


def transformer_block():
    """Causal attention with two heads and an MLP, both with a residual, after normalisation."""
    length, size, heads = 5, 8, 2
    wq, wk, wv, wo = (normal(size, size) / 3 for _ in range(4))
    w1, w2 = normal(size, 4 * size) / 3, normal(4 * size, size) / 3

    def apply(x):
        rows = normalised(x)
        q, k, v = (
            (rows @ w).reshape(length, heads, size // heads).transpose(1, 0, 2)
            for w in (wq, wk, wv)
        )
        scores = q @ k.transpose(0, 2, 1) / 2.0
        causal = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)
        x = x + (weights @ v).transpose(1, 0, 2).reshape(length, size) @ wo
        return x + jax.nn.gelu(normalised(x) @ w1) @ w2

    return apply, normal(length, size)


def main():
    found = {}
    for model in (perceptron, transformer_block):
        apply, x = model()
        expected = np.asarray(apply(x))
        session = onnxruntime.InferenceSession(to_onnx(apply, [x.shape]).SerializeToString())
        (name,) = [given.name for given in session.get_inputs()]
        (result,) = session.run(None, {name: x})
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
        found[model.__name__] = result
    return found
