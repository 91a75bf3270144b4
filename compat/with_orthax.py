"""orthax: series of orthogonal polynomials, their quadrature, roots and derivatives."""

import jax
import jax.numpy as jnp
from orthax import chebyshev, hermite_e, laguerre, legendre


def main():
    x = jnp.linspace(-0.9, 0.9, 11)
    series = jnp.array([0.5, -1.0, 0.25, 0.75])
    nodes, weights = legendre.leggauss(8)
    return {
        "values": chebyshev.chebval(x, series),
        "slope": jax.vmap(jax.grad(legendre.legval), (0, None))(x, series),
        "of coefficients": jax.jacobian(lambda c: legendre.legval(x[:3], c))(series),
        "product": jax.jit(chebyshev.chebmul)(series, series),
        "derivative": laguerre.lagder(series, 2),
        "integral": hermite_e.hermeint(series),
        "roots": jnp.sort(jnp.real(chebyshev.chebroots(series))),
        "quadrature": (weights * jnp.exp(nodes)).sum(),
        "nodes": nodes,
        "fit": legendre.legfit(x, jnp.cos(2 * x), 4),
        "grid": legendre.leggrid2d(x[:4], x[:3], jnp.outer(series, series)),
        "vandermonde": hermite_e.hermevander(x[:4], 3),
    }
