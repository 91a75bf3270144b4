"""Broadcasting, reshaping and tiling by `lax`, beside JAX."""

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_close, refused

import glassjax


def assert_same(function, rtol, atol=None):
    """What a function of a library gives, in one program, is the same for both."""
    assert_close(*(lib.jit(lambda lib=lib: function(lib))() for lib in (glassjax, jax)), rtol, atol)


def test_reshape_of_permuted_axes():
    x = np.arange(6.0).reshape(2, 3)
    assert_same(lambda lib: [lib.lax.reshape(x, (6,), d) for d in (None, (1, 0), (0, 1))], 0)


x = np.array([0.5, 1.0, 2.5, -3.0, 9.0], np.float32)


xp = np.array([0.0, 1.0, 1.0, 4.0], np.float32)


m = np.arange(12, dtype=np.int32).reshape(3, 4)


c = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "shapes": [
        lambda n, lib: lib.lax.broadcast_shapes((3, 1), (4,), ()),
        refused(lambda n, lib: lib.lax.broadcast_shapes((3,), (4,))),
        lambda n, lib: n.broadcast_shapes(3, (4, 1)),
        lambda n, lib: lib.lax.broadcast(m, (2, 1)),
        lambda n, lib: lib.lax.broadcast(2.0, [3]),
        lambda n, lib: lib.lax.broadcast(m, ()),
        lambda n, lib: lib.lax.broadcast_like(x, np.zeros((2, 5))),
        lambda n, lib: lib.lax.broadcast_to_rank(x, 3),
        lambda n, lib: lib.lax.collapse(n.asarray(c), 1),
        lambda n, lib: lib.lax.collapse(n.asarray(c), 0, 2),
        lambda n, lib: lib.lax.collapse(n.asarray(c), -2, -1),
        refused(lambda n, lib: lib.lax.collapse(n.asarray(c), 2, 1)),
        lambda n, lib: lib.grad(lambda c: (lib.lax.collapse(c, 0, 2) ** 2).sum())(c),
        lambda n, lib: lib.lax.split(m, (1, 0, 3), 1),
        refused(lambda n, lib: lib.lax.split(m, (1, 1))),
        lambda n, lib: lib.lax.stack([x, x], -1),
        refused(lambda n, lib: lib.lax.stack([x, xp])),
        lambda n, lib: lib.lax.unstack(m, 1),
        lambda n, lib: lib.lax.tile(m, (2, 3)),
        lambda n, lib: lib.lax.tile(x, (0,)),
        refused(lambda n, lib: lib.lax.tile(m, (2,))),
        lambda n, lib: lib.jit(lambda m: lib.lax.tile(m, (2, 2)))(m),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])
