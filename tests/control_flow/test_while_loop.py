"""Loop-invariant values of `while_loop` are neither batched nor saved as residuals."""

import jax
import numpy as np
from libraries import LIBRARIES, assert_same

import glassjax
import glassjax.numpy


def leaves(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


LOOPS = {
    "cond": lambda lib, x: lib.lax.cond(
        x[1] % 2 == 0, lambda x: (x[0], x[1], x[2] + 1), lambda x: x, x
    ),
    "switch": lambda lib, x: lib.lax.switch(
        x[1] % 3,
        [lambda x: (x[0], x[1], x[2] + 1), lambda x: x, lambda x: (x[0], x[1] * 2, x[2])],
        x,
    ),
    "while": lambda lib, x: lib.lax.while_loop(
        lambda x: x[2] < x[1], lambda x: (x[0], x[1], x[2] + 1), x
    ),
    "scan": lambda lib, x: lib.lax.scan(
        lambda x, _: ((x[0], x[1], x[2] * x[1]), x[0]), x, None, length=3
    )[0],
}


def test_what_is_passed_on_is_the_same_for_all_examples():
    """So `out_axes` may be None for it, whatever the others do."""

    def outs(lib, jnp, wrap):
        x = jnp.asarray(5.0), jnp.arange(8), jnp.zeros(8)
        functions = [
            lib.vmap(lambda x, loop=loop: loop(lib, x), ((None, 0, 0),), (None, 0, 0))
            for loop in LOOPS.values()
        ]
        return leaves(lib, wrap(lambda x: [f(x) for f in functions])(x))

    theirs = outs(*LIBRARIES[1], jax.jit)
    assert_same(outs(*LIBRARIES[0], glassjax.jit), theirs, 0)
    assert_same(outs(*LIBRARIES[0], lambda f: f), theirs, 0)


def test_what_is_passed_on_is_in_no_stack_of_residuals():
    w = np.ones((50, 50))

    def loss(w, x):
        jnp = glassjax.numpy

        def step(carry, _):
            w, h = carry
            return (w, jnp.sin(w) @ h), None

        return jnp.sum(glassjax.lax.scan(step, (w, x), None, 100)[0][1])

    step = glassjax.jit(glassjax.grad(loss)).lower(w, np.ones(50)).compile()
    assert step.memory_analysis().temp_size_in_bytes < 100 * w.nbytes / 4
