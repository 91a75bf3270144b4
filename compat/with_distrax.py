"""distrax: distributions, transformed ones, and a hidden Markov model."""

import distrax
import jax
import jax.numpy as jnp


def main():
    normal = distrax.Normal(jnp.array([0.0, 1.0]), jnp.array([1.0, 2.0]))
    sample, log_prob = normal.sample_and_log_prob(seed=jax.random.key(0), sample_shape=(3,))
    squashed = distrax.Transformed(normal, distrax.Tanh())
    chained = distrax.Chain([distrax.ScalarAffine(1.0, 2.0), distrax.Sigmoid()])
    mixture = distrax.MixtureSameFamily(
        distrax.Categorical(logits=jnp.zeros(2)), distrax.Normal(jnp.array([-1.0, 1.0]), 0.5)
    )
    hmm = distrax.HMM(
        init_dist=distrax.Categorical(probs=jnp.array([0.6, 0.4])),
        trans_dist=distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.2, 0.8]])),
        obs_dist=distrax.Normal(jnp.array([-1.0, 1.0]), jnp.ones(2)),
    )
    observed = jnp.array([-1.0, -0.5, 1.0, 1.2])
    _, _, marginals, log_likelihood = hmm.forward_backward(observed)
    other = distrax.Normal(jnp.zeros(2), jnp.ones(2))
    return {
        "sample": sample,
        "log_prob": log_prob,
        "squashed": squashed.log_prob(jnp.array([0.1, -0.3])),
        "chained": chained.forward_and_log_det(jnp.array(0.3)),
        "mixture": mixture.log_prob(jnp.array([0.0, 1.0])),
        "divergence": normal.kl_divergence(other),
        "marginals": marginals,
        "log likelihood": log_likelihood,
        "gradient": jax.grad(lambda m: distrax.Normal(m, 1.0).log_prob(0.5))(0.0),
    }
