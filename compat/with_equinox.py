"""equinox: modules that are pytrees are trained, saved and loaded."""

import io

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    model = eqx.nn.MLP(3, 1, 16, 2, activation=jax.nn.tanh, key=keys[0])
    x = jax.random.normal(keys[1], (32, 3))
    y = jnp.sin(x).sum(1, keepdims=True)
    optimizer = optax.adam(0.01)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, state):
        @eqx.filter_value_and_grad
        def loss(model):
            return jnp.mean((jax.vmap(model)(x) - y) ** 2)

        value, grads = loss(model)
        updates, state = optimizer.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, value

    losses = []
    for _ in range(20):
        model, state, value = step(model, state)
        losses.append(value)
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, model)
    file.seek(0)
    loaded = eqx.tree_deserialise_leaves(file, model)
    conv = eqx.nn.Conv2d(1, 2, 3, key=keys[2])
    attention = eqx.nn.MultiheadAttention(2, 8, key=keys[3])
    z = jax.random.normal(keys[1], (5, 8))
    frozen = eqx.tree_at(lambda m: m.layers[0].weight, loaded, replace_fn=lambda w: w * 2)
    checked = eqx.error_if(x.sum(), jnp.array(False), "never")
    return {
        "losses": losses,
        "out": jax.vmap(loaded)(x),
        "conv": conv(jnp.ones((1, 6, 6))),
        "attention": attention(z, z, z),
        "changed": jax.vmap(frozen)(x),
        "checked": checked,
    }
