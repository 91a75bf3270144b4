"""penzai: a transformer of named axes, its parts selected and replaced, and its gradient."""

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models import simple_mlp

TOLERANCE = 1e-4


def main():
    mlp = simple_mlp.MLP.from_config(jax.random.key(0), [4, 8, 8, 2])
    x = pz.nx.wrap(jax.random.normal(jax.random.key(1), (6, 4))).tag("batch", "features")
    shown = mlp(x)
    silent = (
        pz.select(mlp)
        .at_instances_of(pz.nn.Elementwise)
        .apply(lambda layer: pz.nn.Elementwise(jnp.tanh))
    )
    frozen, parameters = pz.unbind_params(mlp)

    def loss(parameters):
        out = pz.bind_variables(frozen, parameters)(x)
        return (out.untag("batch", "features").unwrap() ** 2).mean()

    values = tuple(parameter.freeze() for parameter in parameters)
    gradients = jax.jit(jax.grad(loss))(values)
    scores = pz.nx.wrap(jax.random.normal(jax.random.key(2), (3, 5))).tag("query", "key")
    weights = pz.nx.nmap(jax.nn.softmax)(scores.untag("key")).tag("key")
    both = weights + pz.nx.wrap(jnp.arange(3.0)).tag("query")
    return {
        "out": shown.unwrap("batch", "features"),
        "tanh": silent(x).unwrap("batch", "features"),
        "gradient": [leaf.value.data_array for leaf in gradients],
        "weights": weights.unwrap("query", "key"),
        "both": both.unwrap("key", "query"),
        "where": pz.nx.nmap(jnp.where)(scores > 0, scores, 0.0).unwrap("query", "key"),
    }
