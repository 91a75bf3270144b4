"""blackjax: HMC with an adapted window, and sequential Monte Carlo steps by hand."""

import blackjax
import jax
import jax.numpy as jnp

TOLERANCE = 1e-3  # chains multiply what rounding leaves


def main():
    def log_density(position):
        x, y = position["x"], position["y"]
        return -0.5 * (x**2 + (y - x) ** 2 / 0.25).sum()

    start = {"x": jnp.ones(2), "y": jnp.zeros(2)}
    adapt = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = adapt.run(jax.random.key(0), start, num_steps=60)
    kernel = jax.jit(blackjax.nuts(log_density, **parameters).step)

    def step(state, key):
        state, _ = kernel(key, state)
        return state, state.position

    _, positions = jax.lax.scan(step, state, jax.random.split(jax.random.key(1), 80))
    hmc = blackjax.hmc(
        log_density, step_size=0.2, inverse_mass_matrix=jnp.ones(4), num_integration_steps=8
    )
    state = hmc.init(start)
    for key in jax.random.split(jax.random.key(2), 5):
        state, info = hmc.step(key, state)
    return {
        "step size": parameters["step_size"],
        "means": jax.tree.map(lambda x: x.mean(0), positions),
        "hmc": state.position,
        "acceptance": info.acceptance_rate,
    }
