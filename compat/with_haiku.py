"""haiku: functions with parameters and state that are lifted out of them."""

import haiku as hk
import jax
import jax.numpy as jnp

DISTRIBUTION = "dm-haiku"


def main():
    def network(x, train):
        x = hk.nets.MLP([8, 8], activation=jax.nn.silu)(x)
        x = hk.BatchNorm(True, True, 0.9)(x, train)
        x = hk.dropout(hk.next_rng_key(), 0.1, x) if train else x
        return hk.Linear(2)(x)

    def recurrent(xs):
        core = hk.LSTM(4)
        out, _ = hk.dynamic_unroll(core, xs, core.initial_state(xs.shape[1]))
        return out

    x = jax.random.normal(jax.random.key(0), (16, 3))
    transformed = hk.transform_with_state(network)
    params, state = transformed.init(jax.random.key(1), x, True)

    @jax.jit
    def step(params, state, key):
        def loss(params):
            out, changed = transformed.apply(params, state, key, x, True)
            return jnp.mean((out - x[:, :2]) ** 2), changed

        (value, changed), grads = jax.value_and_grad(loss, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), changed, value

    losses = []
    for key in jax.random.split(jax.random.key(2), 10):
        params, state, value = step(params, state, key)
        losses.append(value)
    unrolled = hk.without_apply_rng(hk.transform(recurrent))
    xs = jnp.ones((5, 2, 3))
    weights = unrolled.init(jax.random.key(3), xs)
    return {"losses": losses, "lstm": unrolled.apply(weights, xs), "names": sorted(params)}
