"""gpjax: Gaussian process regression, its hyperparameters fitted, and a sparse posterior."""

import gpjax as gpx
import jax
import jax.numpy as jnp
import optax as ox

TOLERANCE = 1e-3  # Cholesky factors of nearly singular matrices, after steps of training


def main():
    jax.config.update("jax_enable_x64", True)
    x = jnp.sort(jax.random.uniform(jax.random.key(0), (25, 1), minval=-3.0, maxval=3.0), 0)
    y = jnp.sin(2 * x) + 0.1 * jax.random.normal(jax.random.key(1), (25, 1))
    data = gpx.Dataset(X=x, y=y)
    prior = gpx.gps.Prior(
        mean_function=gpx.mean_functions.Zero(), kernel=gpx.kernels.Matern52() + gpx.kernels.RBF()
    )
    posterior = prior * gpx.likelihoods.Gaussian(num_datapoints=data.n)
    negative = lambda p, d: -gpx.objectives.conjugate_mll(p, d)  # noqa: E731
    fitted, history = gpx.fit(
        model=posterior, objective=negative, train_data=data, optim=ox.adam(0.05), num_iters=15,
        key=jax.random.key(2), verbose=False,
    )  # fmt: skip
    query = jnp.linspace(-3.5, 3.5, 9)[:, None]
    predicted = fitted.likelihood(fitted.predict(query, train_data=data))
    sparse = gpx.variational_families.CollapsedVariationalGaussian(
        posterior=posterior, inducing_inputs=jnp.linspace(-3.0, 3.0, 6)[:, None]
    )
    return {
        "history": history,
        "mean": predicted.mean,
        "variance": predicted.variance,
        "bound": gpx.objectives.collapsed_elbo(sparse, data),
        "draws": fitted.predict(query, train_data=data).sample(jax.random.key(3), (2,)),
    }
