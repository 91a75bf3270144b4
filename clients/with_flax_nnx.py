"""flax.nnx: modules that are objects, with state that jit and grad see."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

DISTRIBUTION = "flax"


class Network(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(4, 16, rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))[:, 0]


def main():
    network = Network(nnx.Rngs(0))
    optimizer = nnx.Optimizer(network, optax.adam(0.01), wrt=nnx.Param)
    x = jax.random.normal(jax.random.key(1), (32, 4))
    y = jnp.cos(x).sum(1)

    @nnx.jit
    def step(network, optimizer):
        loss, grads = nnx.value_and_grad(lambda network: jnp.mean((network(x) - y) ** 2))(network)
        optimizer.update(network, grads)
        return loss

    losses = [step(network, optimizer) for _ in range(15)]
    network.eval()
    graph, state = nnx.split(network)
    merged = nnx.merge(graph, state)
    return {"losses": losses, "out": merged(x)}
