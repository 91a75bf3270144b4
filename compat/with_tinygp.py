"""tinygp: Gaussian processes of several kernels, conditioned, and their gradients."""

import jax
import jax.numpy as jnp
from tinygp import GaussianProcess, kernels, transforms

TOLERANCE = 1e-4  # Cholesky factors of nearly singular matrices


def main():
    x = jnp.sort(jax.random.uniform(jax.random.key(0), (20,), minval=0.0, maxval=10.0))
    y = jnp.sin(x) + 0.1 * jax.random.normal(jax.random.key(1), (20,))
    query = jnp.linspace(0.0, 10.0, 7)

    def process(params):
        smooth = jnp.exp(params["log amplitude"]) * kernels.ExpSquared(jnp.exp(params["log scale"]))
        periodic = kernels.ExpSineSquared(scale=3.0, gamma=0.5) * kernels.Matern32(4.0)
        return GaussianProcess(smooth + periodic, x, diag=0.05)

    def loss(params):
        return -process(params).log_probability(y)

    params = {"log amplitude": jnp.float32(0.1), "log scale": jnp.float32(0.3)}
    value, gradient = jax.jit(jax.value_and_grad(loss))(params)
    _, conditioned = process(params).condition(y, query)

    plane = jax.random.normal(jax.random.key(2), (8, 2))
    kernel = transforms.Linear(jnp.array([0.5, 2.0]), kernels.Matern52())
    in_plane = GaussianProcess(kernel, plane, diag=0.1)

    quick = kernels.quasisep.SHO(sigma=1.0, omega=2.0, quality=3.0)  # in linear time
    state_space = GaussianProcess(quick, x, diag=0.05)
    return {
        "loss": value,
        "gradient": gradient,
        "mean": conditioned.loc,
        "variance": conditioned.variance,
        "draws": in_plane.sample(jax.random.key(3), (2,)),
        "state space": state_space.log_probability(y),
        "its gradient": jax.grad(lambda y: state_space.log_probability(y))(y),
    }
