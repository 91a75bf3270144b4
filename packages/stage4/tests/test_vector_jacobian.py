"""Vector-Jacobian products by hand, and primitives of one's own with the same rules.

The network is f(x) = |arctan(W x + b) - y|^2. Its derivative is written three times: as a chain
of functions on row vectors in numpy, as rules of one's own primitives, on both roads to reverse
mode, and by `grad` of the same network in the primitives that are built in.
"""

import numpy as np
import pytest

from glassjax_stage2 import Primitive, ShapedArray, bind1, defjvp, impl_rules, jvp, reduce_sum, vmap
from glassjax_stage3 import abstract_eval_rules, make_jaxpr
from glassjax_stage4 import (
    deftranspose,
    grad,
    hessian,
    jacrev,
    linear_transpose,
    tape,
    transpose_rules,
    vjp,
)

rng = np.random.default_rng(0)
W, bias, y = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=4)
x = rng.normal(size=3)


# By hand: each takes the point and a row vector, the covector of the result, and returns the
# covector of the input.


def Jt_subtract_const(x, gt):
    return gt


def Jt_square(x, gt):
    return gt * (2 * x)[None]


def Jt_arctan(x, gt):
    return gt / (1 + x**2)[None]


def Jt_sum(x, gt):
    return gt * np.ones((1, x.size))


def Jt_matmul(x, gt):
    return gt @ W


def by_hand(x):
    b = W @ x + bias
    d = np.arctan(b) - y
    gt = Jt_sum(d**2, np.ones((1, 1)))
    gt = Jt_square(d, gt)
    gt = Jt_subtract_const(np.arctan(b), gt)
    gt = Jt_arctan(b, gt)
    gt = Jt_subtract_const(W @ x, gt)  # to add a constant is the same
    return Jt_matmul(x, gt)


# Primitives of your own.

arctan_p = Primitive("arctan")
impl_rules[arctan_p] = lambda x: [np.arctan(x)]
abstract_eval_rules[arctan_p] = lambda x: [x]
defjvp(arctan_p, lambda t, out, x: t / (1.0 + x * x))
tape.defvjp(arctan_p, lambda ct, out, x: ct / (1.0 + x * x))

squared_norm_p = Primitive("squared_norm")
impl_rules[squared_norm_p] = lambda x: [np.sum(x * x)]
abstract_eval_rules[squared_norm_p] = lambda x: [ShapedArray((), x.dtype)]
defjvp(squared_norm_p, lambda t, out, x: reduce_sum(2.0 * x * t))
tape.defvjp(squared_norm_p, lambda ct, out, x: ct * 2.0 * x)

subtract_const_p = Primitive("subtract_const")
impl_rules[subtract_const_p] = lambda x, *, const: [x - const]
abstract_eval_rules[subtract_const_p] = lambda x, *, const: [x]
defjvp(subtract_const_p, lambda t, out, x, *, const: t)
tape.defvjp(subtract_const_p, lambda ct, out, x, *, const: ct)

# The matrix product is linear, so it needs a transpose: that is another primitive, whose
# transpose is the matrix product again.
matvec_p, vecmat_p = Primitive("matvec"), Primitive("vecmat")
impl_rules[matvec_p] = lambda w, x: [w @ x]
impl_rules[vecmat_p] = lambda g, w: [g @ w]
abstract_eval_rules[matvec_p] = lambda w, x: [ShapedArray(w.shape[:1], x.dtype)]
abstract_eval_rules[vecmat_p] = lambda g, w: [ShapedArray(w.shape[1:], g.dtype)]
defjvp(matvec_p, None, lambda t, out, w, x: bind1(matvec_p, w, t))
defjvp(vecmat_p, lambda t, out, g, w: bind1(vecmat_p, t, w), None)
deftranspose(matvec_p, None, lambda ct, w, x: bind1(vecmat_p, ct, w))
deftranspose(vecmat_p, lambda ct, g, w: bind1(matvec_p, w, ct), None)
tape.defvjp(matvec_p, None, lambda ct, out, w, x: bind1(vecmat_p, ct, w))


def network_of_own_primitives(x):
    b = bind1(subtract_const_p, bind1(matvec_p, W, x), const=-bias)
    return bind1(squared_norm_p, bind1(subtract_const_p, bind1(arctan_p, b), const=y))


def arctan(x):
    """Of primitives that are built in: its series, after the angle is halved twice."""
    series = [(-1) ** k / (2 * k + 1) for k in range(12)]
    half = x / (1.0 + (1.0 + x * x) ** 0.5)
    quarter = half / (1.0 + (1.0 + half * half) ** 0.5)
    square = quarter * quarter
    total = 0.0
    for coefficient in reversed(series):
        total = total * square + coefficient
    return 4.0 * quarter * total


def network(x):
    return reduce_sum((arctan(W @ x + bias) - y) ** 2)


def test_the_same_network_three_times():
    expected = np.sum((np.arctan(W @ x + bias) - y) ** 2)
    assert network_of_own_primitives(x) == pytest.approx(expected)
    assert network(x) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("reverse", [grad, tape.grad], ids=["linearize and transpose", "tape"])
def test_its_gradient_is_the_chain_of_products_by_hand(reverse):
    expected = by_hand(x)
    assert expected.shape == (1, 3)  # a row: what it takes is a change of x
    np.testing.assert_allclose(reverse(network_of_own_primitives)(x), expected[0])
    np.testing.assert_allclose(reverse(network)(x), expected[0], rtol=1e-6)


def test_a_covector_turns_a_change_of_x_into_a_change_of_f():
    direction, h = rng.normal(size=3), 1e-6
    change = (network_of_own_primitives(x + h * direction) - network_of_own_primitives(x)) / h
    np.testing.assert_allclose(by_hand(x) @ direction, change, rtol=1e-4)
    _, tangent = jvp(network_of_own_primitives, (x,), (direction,))
    np.testing.assert_allclose(by_hand(x) @ direction, tangent)


@pytest.mark.parametrize(
    ("f", "Jt", "at"),
    [
        (lambda x: bind1(arctan_p, x), Jt_arctan, y),
        (lambda x: bind1(subtract_const_p, x, const=bias), Jt_subtract_const, y),
        (lambda x: x * x, Jt_square, y),
        (lambda x: bind1(matvec_p, W, x), Jt_matmul, x),
        (reduce_sum, Jt_sum, y),
    ],
    ids=["arctan", "subtract_const", "square", "matmul", "sum"],
)
def test_each_rule_is_a_row_vector_times_the_jacobian(f, Jt, at):
    out, f_vjp = vjp(f, at)
    gt = rng.normal(size=np.shape(out))
    row = np.reshape(gt, (1, -1))
    jacobian = np.reshape(np.asarray([vjp(f, at)[1](g)[0] for g in basis(out)]), (row.size, -1))
    np.testing.assert_allclose(row @ jacobian, Jt(at, row))
    np.testing.assert_allclose(f_vjp(gt)[0], Jt(at, row)[0])
    np.testing.assert_allclose(tape.vjp(f, at)[1](gt)[0], Jt(at, row)[0])


def basis(out):
    return np.eye(np.size(out)).reshape(-1, *np.shape(out))


def test_a_row_of_the_jacobian_is_the_product_with_a_unit_covector():
    def hidden(x):
        return bind1(arctan_p, bind1(matvec_p, W, x))

    expected = W / (1 + (W @ x) ** 2)[:, None]
    rows = [vjp(hidden, x)[1](gt)[0] for gt in np.eye(4)]
    np.testing.assert_allclose(rows, expected)


def test_the_rule_is_the_transpose_and_no_inverse():
    """It does not turn a change of the result into the change of the input that made it."""
    matvec = linear_transpose(lambda x: bind1(matvec_p, W, x), x)
    (back,) = matvec(W @ x)
    np.testing.assert_allclose(back, W.T @ (W @ x))
    assert not np.allclose(back, x)
    _, f_vjp = vjp(lambda x: 3.0 * x, 1.0)
    assert f_vjp(3.0) == (9.0,)  # where the inverse has 1


def test_the_gradient_is_the_transposed_derivative_applied_to_1():
    _, f_vjp = vjp(network_of_own_primitives, x)
    np.testing.assert_array_equal(f_vjp(1.0)[0], grad(network_of_own_primitives)(x))


def test_of_all_changes_of_one_length_the_gradient_as_a_vector_climbs_most():
    gradient = by_hand(x)[0]
    steepest = gradient / np.linalg.norm(gradient)
    others = rng.normal(size=(100, 3))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert np.all(others @ gradient <= steepest @ gradient)


def test_rules_that_are_written_once_serve_every_transformation():
    """Second derivatives, programs, batches: nothing more was said of the primitives."""
    h = hessian_by_differences(x)
    np.testing.assert_allclose(jacobian_of_grad(grad)(x), h, rtol=1e-5, atol=1e-6)
    names = {eqn.primitive.name for eqn in make_jaxpr(grad(network_of_own_primitives))(x).eqns}
    assert {"matvec", "vecmat", "arctan"} <= names
    assert arctan_p not in transpose_rules  # its derivative is linear, itself it is not


def jacobian_of_grad(reverse):
    """Row by row, as these primitives have no rule for vmap."""

    def rows(x):
        _, pull = vjp(reverse(network_of_own_primitives), x)
        return np.stack([pull(row)[0] for row in np.eye(3)])

    return rows


def hessian_by_differences(x, h=1e-6):
    return np.stack([(by_hand(x + s) - by_hand(x - s))[0] / (2 * h) for s in h * np.eye(3)])


def test_with_built_in_primitives_the_hessian_comes_for_nothing():
    np.testing.assert_allclose(hessian(network)(x), hessian_by_differences(x), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        jacrev(lambda x: arctan(W @ x))(x), W / (1 + (W @ x) ** 2)[:, None], rtol=1e-5
    )
    batch = rng.normal(size=(5, 3))
    found = vmap(grad(network))(batch)
    np.testing.assert_allclose(found, np.concatenate([by_hand(x) for x in batch]), rtol=1e-5)
