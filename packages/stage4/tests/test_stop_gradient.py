"""`stop_gradient` is the identity, but for derivatives, to which it is a constant."""

import numpy as np

from glassjax_stage2 import Zero, jvp, sin, vmap
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage3 import jit, make_jaxpr
from glassjax_stage4 import grad, jacrev, linearize, stop_gradient

x3 = np.array([0.5, 1.0, 2.0])


def test_it_is_the_identity():
    for f in (stop_gradient, jit(stop_gradient), vmap(stop_gradient), vmap(stop_gradient, 0, 0)):
        np.testing.assert_array_equal(f(x3), x3)
    assert make_jaxpr(stop_gradient)(x3).out_avals == make_jaxpr(sin)(x3).out_avals


def test_its_tangent_is_zero_and_symbolically_so():
    (out,), (tangent,) = jvp_flat(lambda x: [stop_gradient(x)], [2.0], [1.0], None)
    assert out == 2.0
    assert isinstance(tangent, Zero)
    assert jvp(lambda x: x * stop_gradient(x), (3.0,), (1.0,)) == (9.0, 3.0)


def test_reverse_mode_and_what_is_beside_it():
    def f(x):
        return x * stop_gradient(x * x)

    assert grad(f)(3.0) == 9.0
    assert grad(grad(f))(3.0) == 0.0
    assert jit(grad(f))(3.0) == 9.0
    assert linearize(f, 3.0)[1](2.0) == 18.0
    np.testing.assert_array_equal(vmap(grad(f))(x3), x3 * x3)
    np.testing.assert_array_equal(jacrev(f)(x3), np.diag(x3 * x3))
