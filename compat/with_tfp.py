"""tfp: HMC and NUTS with adapted steps, tempered chains, and a Bayesian regression."""

import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp

DISTRIBUTION = "tfp-nightly"
TOLERANCE = 1e-3  # chains multiply what rounding leaves


def main():
    tfd, mcmc = tfp.distributions, tfp.mcmc
    x = jax.random.normal(jax.random.key(0), (20, 2))
    y = x @ jnp.array([1.0, -2.0]) + 0.3
    joint = tfd.JointDistributionSequentialAutoBatched(
        [
            tfd.Normal(jnp.zeros(2), 1.0),
            tfd.Normal(0.0, 1.0),
            lambda bias, slopes: tfd.Normal(x @ slopes + bias, 0.5),
        ]
    )

    def log_density(slopes, bias):
        return joint.log_prob([slopes, bias, y])

    hmc = mcmc.DualAveragingStepSizeAdaptation(
        mcmc.HamiltonianMonteCarlo(log_density, step_size=0.1, num_leapfrog_steps=4), 10
    )
    start = [jnp.zeros(2), jnp.zeros(())]
    chain, accepted = mcmc.sample_chain(
        20, start, kernel=hmc, num_burnin_steps=10, seed=jax.random.key(1),
        trace_fn=lambda _, results: results.inner_results.is_accepted,
    )  # fmt: skip
    nuts = mcmc.NoUTurnSampler(log_density, step_size=0.1, max_tree_depth=4)
    turned = mcmc.sample_chain(
        8, start, kernel=nuts, seed=jax.random.key(2), trace_fn=None, num_burnin_steps=0
    )
    mixture = tfd.MixtureSameFamily(
        tfd.Categorical(probs=jnp.array([0.3, 0.7])), tfd.Normal(jnp.array([-1.0, 1.0]), 0.5)
    )
    return {
        "hmc": chain,
        "accepted": accepted,
        "nuts": turned,
        "mixture": mixture.sample(4, seed=jax.random.key(3)),
        "density": mixture.log_prob(jnp.linspace(-2.0, 2.0, 5)),
        "divergence": tfd.kl_divergence(tfd.Gamma(2.0, 1.0), tfd.Gamma(3.0, 2.0)),
        "flow": tfp.bijectors.Softplus()(tfp.bijectors.Shift(1.0)).forward(jnp.arange(3.0)),
    }
