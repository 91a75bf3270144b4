"""optax: three optimizers with schedules, clipping and masks fit a line."""

import jax
import jax.numpy as jnp
import optax


def main():
    x = jax.random.normal(jax.random.key(0), (64, 3))
    y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.1

    def loss(params):
        return jnp.mean(optax.losses.squared_error(x @ params["w"] + params["b"], y))

    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 40)
    optimizers = {
        "adamw": optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.adamw(schedule, weight_decay=1e-3, mask={"w": True, "b": False}),
        ),
        "lion": optax.lion(0.02),
        "adafactor": optax.adafactor(0.05),
        "lookahead of sgd": optax.multi_transform(
            {"fast": optax.sgd(0.1, momentum=0.9, nesterov=True), "slow": optax.sgd(0.01)},
            {"w": "fast", "b": "slow"},
        ),
    }
    results = {}
    for name, optimizer in optimizers.items():

        @jax.jit
        def step(params, state, optimizer=optimizer):
            value, grads = jax.value_and_grad(loss)(params)
            updates, state = optimizer.update(grads, state, params)
            return optax.apply_updates(params, updates), state, value

        params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
        state = optimizer.init(params)
        for _ in range(40):
            params, state, value = step(params, state)
        results[name] = [value, params["w"], params["b"]]
    labels = jnp.array([0, 2, 1])
    logits = jnp.arange(9.0).reshape(3, 3)
    results["cross entropy"] = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return results
