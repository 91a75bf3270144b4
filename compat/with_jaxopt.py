"""jaxopt: minima, with constraints and without."""

import jax
import jax.numpy as jnp
import jaxopt


def main():
    a = jax.random.normal(jax.random.key(0), (10, 4))
    b = jnp.arange(10.0)
    loss = lambda w, scale=1.0: scale * jnp.mean((a @ w - b) ** 2)  # noqa: E731
    lbfgs = jaxopt.LBFGS(loss, maxiter=30).run(jnp.zeros(4))
    projected = jaxopt.ProjectedGradient(
        loss, jaxopt.projection.projection_non_negative, maxiter=50
    ).run(jnp.zeros(4))
    ridge = lambda l2: (  # noqa: E731
        jaxopt.GradientDescent(
            lambda w, l2: loss(w) + l2 * (w**2).sum(), maxiter=200, implicit_diff=True
        )
        .run(jnp.zeros(4), l2)
        .params
    )
    return {
        "lbfgs": lbfgs.params,
        "projected": projected.params,
        "derivative": jax.jacobian(ridge)(1.0),
    }
