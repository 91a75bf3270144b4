"""chex: dataclasses, assertions, and what they say."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class Point:
    x: chex.Array
    y: chex.Array


def main():
    point = Point(x=jnp.ones(3), y=jnp.arange(3.0))
    moved = jax.jit(lambda p: jax.tree.map(lambda v: v + 1, p))(point)
    chex.assert_shape([moved.x, moved.y], (3,))
    chex.assert_trees_all_close(moved, Point(x=2 * jnp.ones(3), y=jnp.arange(1.0, 4.0)))
    chex.assert_type(moved.x, jnp.float32)
    chex.assert_tree_all_finite(moved)
    failed = []
    for check in (
        lambda: chex.assert_rank(moved.x, 2),
        lambda: chex.assert_equal_shape([moved.x, jnp.ones(2)]),
        lambda: chex.assert_trees_all_equal(point, moved),
    ):
        try:
            check()
        except AssertionError:
            failed.append(1)

    @chex.assert_max_traces(n=2)
    def traced(x):
        return x * 2

    jitted = jax.jit(traced)
    jitted(1.0)
    jitted(jnp.ones(2))

    @chex.chexify
    @jax.jit
    def positive(x):
        chex.assert_trees_all_close(x, jnp.abs(x))
        return x

    positive(jnp.ones(2))
    chex.block_until_chexify_assertions_complete()
    return {"moved": moved.y, "failed": failed, "traced": jitted(2.0), "point": point.x}
