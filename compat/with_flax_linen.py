"""flax.linen: a network with normalization and dropout is trained, saved and loaded."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import serialization
from flax.training import train_state

DISTRIBUTION = "flax"


class Network(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(self.width, (3,))(x[..., None])
        x = nn.relu(nn.LayerNorm()(x)).reshape(x.shape[0], -1)
        x = nn.BatchNorm(use_running_average=not train)(nn.Dense(self.width)(x))
        x = nn.Dropout(0.25, deterministic=not train)(nn.gelu(x))
        return nn.Dense(1)(x)[:, 0]


class State(train_state.TrainState):
    batch_stats: dict


def main():
    network = Network(8)
    x = jax.random.normal(jax.random.key(1), (32, 6))
    y = jnp.sin(x).sum(1)
    variables = network.init(jax.random.key(0), x, train=False)
    state = State.create(
        apply_fn=network.apply,
        params=variables["params"],
        batch_stats=variables["batch_stats"],
        tx=optax.sgd(0.05, momentum=0.9),
    )

    @jax.jit
    def step(state, key):
        def loss(params):
            out, changed = state.apply_fn(
                {"params": params, "batch_stats": state.batch_stats},
                x, train=True, rngs={"dropout": key}, mutable=["batch_stats"],
            )  # fmt: skip
            return jnp.mean((out - y) ** 2), changed["batch_stats"]

        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
        return state.apply_gradients(grads=grads, batch_stats=stats), value

    losses = []
    for key in jax.random.split(jax.random.key(2), 20):
        state, value = step(state, key)
        losses.append(value)
    data = serialization.to_bytes(state.params)
    loaded = serialization.from_bytes(variables["params"], data)
    out = network.apply({"params": loaded, "batch_stats": state.batch_stats}, x, train=False)
    attention = nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8)
    z = jax.random.normal(jax.random.key(3), (2, 5, 8))
    attended, _ = attention.init_with_output(jax.random.key(4), z)
    cell = nn.RNN(nn.LSTMCell(4))
    sequence, _ = cell.init_with_output(jax.random.key(5), z)
    return {"losses": losses, "out": out, "attended": attended, "lstm": sequence}
