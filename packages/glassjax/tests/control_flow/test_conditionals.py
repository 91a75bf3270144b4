"""`cond` runs only the chosen branch."""

import numpy as np

from glassjax import Array, grad, jit, lax, vmap


def test_cond_runs_one_branch_under_every_transformation():
    def f(x):
        return lax.cond(x > 0, lambda x: x * x, lambda x: -x, x)

    assert f(3.0) == 9.0
    assert isinstance(f(3.0), Array)
    assert grad(f)(3.0) == jit(grad(f))(3.0) == 6.0
    np.testing.assert_array_equal(vmap(grad(f))(np.array([3.0, -3.0])), [6.0, -1.0])
