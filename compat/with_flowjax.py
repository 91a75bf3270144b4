"""flowjax: a normalizing flow trained on samples, and distributions with their bijections."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from flowjax import bijections, distributions, flows
from flowjax.train import fit_to_data

TOLERANCE = 1e-3  # of parameters that are trained


def main():
    noise = jax.random.normal(jax.random.key(0), (64, 2))
    data = noise @ jnp.array([[1.0, 0.6], [0.0, 0.5]]) + jnp.array([1.0, -1.0])
    flow = flows.masked_autoregressive_flow(
        jax.random.key(1),
        base_dist=distributions.Normal(jnp.zeros(2)),
        flow_layers=2,
        nn_width=8,
        transformer=bijections.RationalQuadraticSpline(knots=4, interval=4),
    )
    trained, losses = fit_to_data(
        jax.random.key(2), flow, data, optimizer=optax.adam(5e-3), max_epochs=4, batch_size=16,
        show_progress=False,
    )  # fmt: skip
    coupling = flows.coupling_flow(
        jax.random.key(3), base_dist=distributions.Normal(jnp.zeros(3)), cond_dim=1, flow_layers=2
    )
    x, condition = jax.random.normal(jax.random.key(4), (5, 3)), jnp.arange(5.0)[:, None]
    mixed = distributions.Transformed(
        distributions.StudentT(jnp.array([3.0, 5.0])), bijections.Affine(jnp.ones(2), 2.0)
    )
    gradients = eqx.filter_grad(lambda flow: flow.log_prob(x, condition).sum())(coupling)
    return {
        "losses": losses,
        "log density": trained.log_prob(data[:5]),
        "draws": trained.sample(jax.random.key(5), (3,)),
        "conditional": coupling.log_prob(x, condition),
        "gradient": [jnp.abs(leaf).sum() for leaf in jax.tree.leaves(gradients)],
        "student": mixed.log_prob(x[:, :2]),
        "exponential": distributions.Exponential(2.0).sample(jax.random.key(6), (3,)),
    }
