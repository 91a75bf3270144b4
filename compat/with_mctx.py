"""mctx: a search in a small tree of actions."""

import jax
import jax.numpy as jnp
import mctx


def main():
    rewards = jnp.array([0.0, 0.3, 1.0, 0.1])

    def recurrent(params, key, action, embedding):
        reward = rewards[action] * 0.9**embedding
        out = mctx.RecurrentFnOutput(
            reward=reward, discount=jnp.full_like(reward, 0.9),
            prior_logits=jnp.tile(jnp.arange(4.0) / 10, (action.shape[0], 1)),
            value=reward * 0.5,
        )  # fmt: skip
        return out, embedding + 1

    root = mctx.RootFnOutput(
        prior_logits=jnp.zeros((2, 4)), value=jnp.zeros(2), embedding=jnp.zeros(2, jnp.int32)
    )
    results = {}
    for name, policy in (
        ("muzero", mctx.muzero_policy),
        ("gumbel", mctx.gumbel_muzero_policy),
    ):
        found = jax.jit(
            lambda key, policy=policy: policy(
                params=(), rng_key=key, root=root, recurrent_fn=recurrent, num_simulations=20
            )
        )(jax.random.key(0))
        results[name] = [found.action, found.action_weights]
    return results
