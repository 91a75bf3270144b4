"""Options of `checkpoint`."""

from rows import for_each

import glassjax.numpy as jnp
from glassjax import checkpoint, grad, jit


@for_each("static_argnames", ["scale", ("scale", "other")])
def test_arguments_of_a_checkpoint_are_static_by_name(static_argnames):
    def scaled(x, scale=None):
        return x * len(scale) if isinstance(scale, list) else 2 * x

    kept = checkpoint(scaled, static_argnames=static_argnames)
    assert grad(kept)(5.0, scale=[1, 2, 3]) == 3
    assert grad(kept)(5.0) == 2
    assert jit(lambda x: kept(x, scale=[]))(5.0) == 0


def test_a_checkpoint_keeps_xla_from_merging_if_any_argument_asks_for_it():
    def program(prevent_cse):
        f = checkpoint(lambda x, y: jnp.sin(jnp.sin(x)) * y, prevent_cse=prevent_cse)
        return jit(grad(f)).lower(1.0, 2.0).as_text()

    assert program((True, False)) == program(True)
    assert program((False, False)) == program(False) != program(True)
