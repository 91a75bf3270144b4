"""folx: Laplacians by one forward pass, which interprets programs."""

import jax
import jax.numpy as jnp
from folx import forward_laplacian
from jax import lax


def network(weights):
    def apply(x):
        for w in weights:
            x = jnp.tanh(x @ w)
        return jnp.sum(x**2)

    return apply


def attention(x):
    rows = x.reshape(3, 4)
    scores = jax.nn.softmax(rows @ rows.T / 2.0, axis=-1)
    return jnp.sum(jnp.sin(scores @ rows))


def distances(x):
    points = x.reshape(4, 3)
    between = points[:, None] - points[None]
    squares = jnp.sum(between**2, axis=-1) + jnp.eye(4)
    return jnp.sum(jnp.exp(-squares)) + jnp.log(jnp.linalg.det(points[:3] + 3 * jnp.eye(3)) ** 2)


def scanned(x):
    return lax.scan(lambda c, a: (jnp.cos(c) * a, c), 1.0, x)[0]


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    x = jax.random.uniform(keys[0], (12,))
    weights = [
        jax.random.normal(key, shape) / 3
        for key, shape in zip(keys[1:], [(12, 8), (8, 8), (8, 4)], strict=True)
    ]
    functions = {
        "network": network(weights),
        "attention": attention,
        "distances": distances,
        "branched": lambda x: jnp.sum(jnp.where(x > 0.5, x**3, jnp.exp(x))),
    }
    found = {}
    for name, f in functions.items():
        for threshold in (0, 0.6):
            out = jax.jit(forward_laplacian(f, sparsity_threshold=threshold))(x)
            found[f"{name}, sparsity {threshold}"] = [
                out.x, out.jacobian.dense_array, out.laplacian
            ]  # fmt: skip
    return found
