"""Part 4 of the blog that retells autodidax: its programs, its results, and where it slips.

The programs of microjax are in test_tape.py, those on vector-Jacobian products in
test_vector_jacobian.py.
"""

import numpy as np
import pytest

from glassjax_stage2 import (
    ShapedArray,
    broadcast_in_dim,
    cos,
    float0,
    gt,
    jvp,
    log,
    reduce_sum,
    sin,
    transpose,
    typeof,
    vmap,
    where,
)
from glassjax_stage3 import jit, make_jaxpr, typecheck_jaxpr
from glassjax_stage4 import (
    PartialVal,
    UndefPrimal,
    grad,
    linear_transpose,
    linearize,
    partial_eval,
    partial_eval_jaxpr,
    transpose_rules,
    typecheck_partial_eval,
    vjp,
)

x3 = np.array([0.5, 1.0, 2.0])


def f(x):
    y = sin(x) * 2.0
    z = -y + x
    return z


# Its programs.


def test_linearize_sin():
    y, sin_lin = linearize(sin, 3.0)
    assert y == sin(3.0)
    assert sin_lin(1.0) == cos(3.0)


def test_linearize_a_jitted_function():
    y, f_lin = linearize(jit(f), 3.0)
    np.testing.assert_allclose([y, f_lin(1.0)], [3 - 2 * np.sin(3.0), 1 - 2 * np.cos(3.0)])


def test_vjp_and_grad_of_its_example():
    y, f_vjp = vjp(f, 3.0)
    slope = 1 - 2 * np.cos(3.0)
    assert y == pytest.approx(3 - 2 * np.sin(3.0))
    assert f_vjp(1.0) == (pytest.approx(slope),)
    for g in (grad(f), jit(grad(f)), grad(jit(f))):
        assert g(3.0) == pytest.approx(slope)
        assert g(3.0) == pytest.approx(2.979984993200891)


def test_grad_of_grad():
    assert grad(grad(f))(3.0) == pytest.approx(2 * np.sin(3.0))
    assert grad(grad(grad(grad(sin))))(3.0) == pytest.approx(np.sin(3.0))
    assert grad(lambda x: grad(lambda y: x * y * y)(4.0))(3.0) == 8.0


def test_partial_values():
    known, unknown = PartialVal.known(3.0), PartialVal.unknown(ShapedArray((), np.float64))
    assert (known.is_known, known.const, known.aval) == (True, 3.0, typeof(3.0))
    assert (unknown.is_known, unknown.const) == (False, None)


def test_linearize_is_the_jvp_partially_evaluated():
    """Tangents unknown, primals known: what comes out is known, but for its tangent."""

    def f_jvp(x, x_dot):
        return list(jvp(f, (x,), (x_dot,)))

    scalar = ShapedArray((), np.float64)
    jaxpr, (y, y_dot), _ = partial_eval(f_jvp, [PartialVal.known(3.0), PartialVal.unknown(scalar)])
    typecheck_jaxpr(jaxpr)
    assert y.const == f(3.0)
    assert not y_dot.is_known
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul", "mul", "neg", "add"]


# Where it slips.


def test_a_result_that_is_no_scalar_says_so():
    """There: `raise TypeError`, without a word."""
    with pytest.raises(TypeError, match="must be one real number, found f64"):
        grad(lambda x: x)(x3)


def test_a_known_value_may_be_zero_or_false_or_an_array():
    """To ask for the truth of a constant in place of its presence fails on these."""
    for value in (0.0, False, np.zeros(2), np.zeros(0)):
        assert PartialVal.known(value).is_known
    assert linearize(lambda x: x * 0.0, 0.0)[1](1.0) == 0.0


def test_gradients_of_arguments_after_the_first():
    """There `grad` returned the gradient of the first argument only."""
    assert grad(lambda x, y: x * y * y, (0, 1))(2.0, 3.0) == (9.0, 12.0)


def test_both_operands_of_a_product_may_depend_on_the_argument():
    """There the transpose of a product wanted exactly one operand; each linear program has one."""
    assert grad(lambda x: x * x)(3.0) == 6.0
    assert grad(lambda x: (x * x) * (x + x))(1.0) == 6.0


def test_a_residual_may_be_a_literal():
    """There residuals had to be variables."""
    jaxpr, _, consts = partial_eval(
        lambda x: [2.0 * x], [PartialVal.unknown(ShapedArray((), np.float64))]
    )
    assert consts == []
    typecheck_jaxpr(jaxpr)


def test_the_order_of_residuals_is_that_of_the_program():
    """There they came out of a set, so that no two runs made the same program."""

    def program():
        scalar = ShapedArray((), np.float64)
        jaxpr, _, _ = partial_eval(
            lambda x, y: [sin(x) * y * cos(x) * log(x)],
            [PartialVal.known(x3), PartialVal.unknown(scalar)],
        )
        return str(jaxpr)

    assert len({program() for _ in range(3)}) == 1


def test_the_transpose_of_a_sum_over_several_axes():
    x = np.arange(24.0).reshape(2, 3, 4)
    (x_bar,) = linear_transpose(lambda x: reduce_sum(x, (0, 2)), x)(x3)
    np.testing.assert_array_equal(x_bar, np.broadcast_to(x3[None, :, None], x.shape))


def test_the_primitives_whose_rules_had_holes():
    """greater without vmap; transpose without jvp; broadcast without jvp and vmap."""

    def g(x):
        rows = broadcast_in_dim(x, (2, 3), (1,))
        return reduce_sum(where(gt(rows, 0.7), rows * rows, rows) @ transpose(rows))

    h = 1e-6
    expected = [(g(x3 + d) - g(x3 - d)) / (2 * h) for d in h * np.eye(3)]
    np.testing.assert_allclose(grad(g)(x3), expected, rtol=1e-6)
    batch = np.stack([x3, -x3])
    np.testing.assert_allclose(vmap(grad(g))(batch), [grad(g)(x) for x in batch])


def test_the_transposes_it_left_out():
    assert {"transpose", "broadcast_in_dim", "neg", "add", "mul", "reduce_sum"} <= {
        primitive.name for primitive in transpose_rules
    }


def test_integer_arguments():
    """There: TODO."""
    _, f_vjp = vjp(lambda x, n: x * n, 2.0, 3)
    x_bar, n_bar = f_vjp(1.0)
    assert (x_bar, n_bar.dtype) == (3.0, float0)


def test_the_type_check_of_both_halves_of_a_jitted_call():
    jaxpr = make_jaxpr(lambda x, y: jit(lambda x, y: (sin(x) * y, cos(x)))(x, y))(1.0, 2.0)
    for unknown_ins in ([True, False], [False, True], [True, True], [False, False]):
        parts = partial_eval_jaxpr(jaxpr, unknown_ins)
        typecheck_partial_eval(jaxpr, unknown_ins, parts)


def test_a_placeholder_shows_its_type():
    assert repr(UndefPrimal(typeof(x3))) == "UndefPrimal(f64[3])"
