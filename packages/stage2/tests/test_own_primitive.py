"""A primitive of one's own: a name, and a rule for each interpreter that is to know it."""

import numpy as np
import pytest

from minijax_stage2 import (
    Primitive,
    bind,
    bind1,
    defjvp,
    deflinear,
    defzero,
    deriv,
    float0,
    impl_rules,
    jacfwd,
    jvp,
    jvp_rules,
    reduce_sum,
    vmap,
    vmap_rules,
)

tanh_p = Primitive("tanh")
impl_rules[tanh_p] = lambda x: [np.tanh(x)]
defjvp(tanh_p, lambda t, out, x: t * (1.0 - out * out))
vmap_rules[tanh_p] = lambda axis_size, values, dims: ([tanh(*values)], dims)


def tanh(x):
    return bind1(tanh_p, x)


def test_it_computes_and_differentiates_and_maps():
    x = np.linspace(-1.0, 1.0, 5)
    t = np.tanh(x)
    np.testing.assert_allclose(tanh(x), t)
    np.testing.assert_allclose(vmap(tanh)(x), t)
    np.testing.assert_allclose(jvp(tanh, (x,), (np.ones(5),))[1], 1 - t**2)
    np.testing.assert_allclose(vmap(deriv(tanh))(x), 1 - t**2)
    np.testing.assert_allclose(vmap(deriv(deriv(tanh)))(x), -2 * t * (1 - t**2))
    np.testing.assert_allclose(jacfwd(lambda x: reduce_sum(tanh(x)))(x), 1 - t**2)


def test_a_python_number_stays_one():
    assert type(tanh(0.5)) is float


def test_a_primitive_of_several_results_and_with_parameters():
    """Rules of primitives with more than one result are written out."""
    split_p = Primitive("split")
    impl_rules[split_p] = lambda x, *, at: [x[:at], x[at:]]

    def split(x, at):
        return bind(split_p, x, at=at)

    def split_jvp(primals, tangents, *, at):
        (x,), (x_dot,) = primals, tangents
        return split(x, at), split(x_dot, at)

    jvp_rules[split_p] = split_jvp
    x = np.arange(5.0)
    (first, rest), (first_dot, rest_dot) = jvp(lambda x: split(x * x, 2), (x,), (np.ones(5),))
    np.testing.assert_array_equal(np.concatenate([first, rest]), x * x)
    np.testing.assert_array_equal(np.concatenate([first_dot, rest_dot]), 2 * x)


def test_linear_and_stepwise_primitives_are_declared_in_a_word():
    reverse_p, floor_p = Primitive("reverse"), Primitive("floor")
    impl_rules[reverse_p] = lambda x: [x[::-1]]
    impl_rules[floor_p] = lambda x: [np.floor(x).astype(int)]
    deflinear(reverse_p)
    defzero(floor_p)
    x = np.array([0.5, 1.5, 2.5])
    np.testing.assert_array_equal(
        jvp(lambda x: bind1(reverse_p, x), (x,), (x,))[1], [2.5, 1.5, 0.5]
    )
    out, tangent = jvp(lambda x: bind1(floor_p, x), (x,), (x,))
    np.testing.assert_array_equal(out, [0, 1, 2])
    assert tangent.dtype == float0


def test_a_formula_may_say_none_for_an_operand_without_derivative():
    scale_p = Primitive("scale")
    impl_rules[scale_p] = lambda x, n: [x * n]
    defjvp(scale_p, lambda t, out, x, n: bind1(scale_p, t, n), None)
    assert deriv(lambda x: bind1(scale_p, x, x))(3.0) == pytest.approx(3.0)


def test_two_primitives_of_one_name_are_two():
    other_p = Primitive("tanh")
    impl_rules[other_p] = lambda x: [x]
    assert bind1(other_p, 0.5) == 0.5
    assert tanh(0.5) == np.tanh(0.5)
