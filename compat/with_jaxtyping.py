"""jaxtyping: shapes and dtypes in annotations, checked as functions are called."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jaxtyping import Array, Float, Int, PyTree, jaxtyped


@jaxtyped(typechecker=beartype)
def product(
    x: Float[Array, "rows inner"], y: Float[Array, "inner columns"]
) -> Float[Array, "rows columns"]:
    return x @ y


def main():
    good = jax.jit(product)(jnp.ones((2, 3)), jnp.ones((3, 4)))
    refused = []
    for x, y in ((jnp.ones((2, 3)), jnp.ones((2, 4))), (jnp.ones((2, 3), int), jnp.ones((3, 4)))):
        try:
            product(x, y)
        except Exception:
            refused.append(1)
    tree = {"a": jnp.ones(2), "b": [jnp.zeros(2)]}
    return {
        "good": good,
        "refused": refused,
        "instances": [
            isinstance(jnp.ones((2, 3)), Float[Array, "2 3"]),
            isinstance(jnp.ones((2, 3)), Int[Array, "2 3"]),
            isinstance(tree, PyTree[Float[Array, "2"]]),
        ],
    }
