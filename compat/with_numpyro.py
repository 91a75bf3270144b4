"""numpyro: NUTS and variational inference for a regression."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide

TOLERANCE = 1e-3  # chains multiply what rounding leaves


def model(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(slope * x + offset, noise), obs=y)


def main():
    x = jnp.linspace(-1.0, 1.0, 30)
    y = 0.7 * x - 0.2 + 0.1 * jax.random.normal(jax.random.key(0), x.shape)
    mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
    mcmc.run(jax.random.key(1), x, y)
    samples = mcmc.get_samples()
    guide = autoguide.AutoNormal(model)
    svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    fitted = svi.run(jax.random.key(2), 100, x, y, progress_bar=False)
    predicted = Predictive(model, samples)(jax.random.key(3), x)["y"]
    return {
        "means": {name: values.mean() for name, values in samples.items()},
        "deviations": {name: values.std() for name, values in samples.items()},
        "losses": fitted.losses[-5:],
        "params": fitted.params,
        "predicted": predicted.mean(0),
    }
