"""optimistix: roots, fixed points, least squares and minima, differentiated implicitly."""

import jax
import jax.numpy as jnp
import optimistix as optx


def main():
    def root(a):
        residual = lambda y, a: jnp.tanh(y) + y - a  # noqa: E731
        return optx.root_find(residual, optx.Newton(1e-6, 1e-6), jnp.array(0.0), a).value

    t = jnp.linspace(0.0, 1.0, 20)
    data = 2.0 * jnp.exp(-1.5 * t)
    fit = optx.least_squares(
        lambda y, args: y[0] * jnp.exp(-y[1] * t) - data,
        optx.LevenbergMarquardt(1e-6, 1e-6),
        jnp.array([1.0, 1.0]),
    )
    rosenbrock = lambda y, args: (1 - y[0]) ** 2 + 100 * (y[1] - y[0] ** 2) ** 2  # noqa: E731
    least = optx.minimise(rosenbrock, optx.BFGS(1e-5, 1e-5), jnp.array([-1.0, 1.0]), max_steps=200)
    fixed = optx.fixed_point(
        lambda y, args: jnp.cos(y), optx.FixedPointIteration(1e-6, 1e-6), jnp.array(0.5)
    )
    return {
        "root": root(1.0),
        "its derivative": jax.grad(root)(1.0),
        "mapped": jax.vmap(root)(jnp.array([0.5, 1.5])),
        "fit": fit.value,
        "least": least.value,
        "fixed": fixed.value,
    }
