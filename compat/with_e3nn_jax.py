"""e3nn-jax: equivariant features, tensor products and spherical harmonics, and their laws."""

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp

DISTRIBUTION = "e3nn-jax"


def main():
    irreps = e3nn.Irreps("4x0e + 2x1o + 1x2e")
    x = e3nn.normal(irreps, jax.random.key(0), (3,))
    vectors = e3nn.normal("1o", jax.random.key(1), (3,))
    harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", vectors, normalize=True)

    @jax.jit
    def layer(x, harmonics):
        out = e3nn.tensor_product(x, harmonics, filter_ir_out=["0e", "1o"])
        return e3nn.norm_activation(out, [jax.nn.gelu] * len(out.irreps))

    def energy(vectors):
        return (layer(x, e3nn.spherical_harmonics("0e + 1o + 2e", vectors, True)).array ** 2).sum()

    out = layer(x, harmonics)
    rotation = e3nn.rand_matrix(jax.random.key(2))
    turned = layer(
        x.transform_by_matrix(rotation),
        e3nn.spherical_harmonics(
            "0e + 1o + 2e", vectors.transform_by_matrix(rotation), normalize=True
        ),
    )
    away = jnp.abs(turned.array - out.transform_by_matrix(rotation).array).max()
    linear = e3nn.FunctionalLinear(irreps, e3nn.Irreps("3x0e + 1x1o"))
    weights = [
        jax.random.normal(jax.random.key(i), w.path_shape)
        for i, w in enumerate(linear.instructions)
    ]
    gate = e3nn.gate(e3nn.normal("4x0e + 2x1o", jax.random.key(3), (2,)))
    return {
        "out": out.array,
        "equivariant": away < 1e-4,
        "linear": jax.vmap(lambda x: linear(weights, x).array)(x),
        "gate": gate.array,
        "scattered": e3nn.scatter_sum(out, dst=jnp.array([0, 1, 0]), output_size=2).array,
        "gradient": jax.grad(energy)(vectors).array,
        "wigner": e3nn.clebsch_gordan(1, 1, 2),
        "radial": e3nn.bessel(jnp.linspace(0.1, 0.9, 4), 3),
    }
