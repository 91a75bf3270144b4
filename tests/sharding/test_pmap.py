"""`pmap` on one device, beside JAX."""

import jax
import numpy as np

import glassjax

X = np.arange(6.0, dtype="float32").reshape(2, 3)


def test_pmap():
    def results(lib):
        f = lib.pmap(lambda x: x - lib.lax.pmean(x, "i") / 2, "i")
        return f(X[:1])

    np.testing.assert_allclose(results(glassjax), results(jax))
