"""flax.nnx: modules that are objects, with state that jit and grad see."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

DISTRIBUTION = "flax"


class Network(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(4, 16, use_bias=False, rngs=rngs)  # the norm subtracts the mean
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))[:, 0]


class Stack(nnx.Module):
    """Layers of one shape, whose parameters are stacked, one after the other."""

    def __init__(self, rngs):
        @nnx.split_rngs(splits=3)
        @nnx.vmap(in_axes=0, out_axes=0)
        def layers(rngs):
            return nnx.Linear(4, 4, rngs=rngs)

        self.layers = layers(rngs)

    def __call__(self, x):
        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        def apply(x, layer):
            return jnp.tanh(layer(x))

        return apply(x, self.layers)


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
    stack = Stack(nnx.Rngs(2))
    of_stack = nnx.grad(lambda stack: stack(x).sum())(stack)
    return {
        "losses": losses,
        "out": merged(x),
        "stack": stack(x),
        "gradient": nnx.to_pure_dict(of_stack)["layers"],
    }
