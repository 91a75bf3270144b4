"""A primitive of one's own: a name, and a rule for each interpreter that is to know it."""

import re

import numpy as np
import pytest

from glassjax_stage2 import (
    Primitive,
    astype,
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
vmap_rules[tanh_p] = lambda axis, values, dims: ([tanh(*values)], dims)


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


def with_jvp(primitive_rule):
    """A function of a fresh primitive, the double of its operand, with this jvp rule."""
    twice_p = Primitive("twice")
    impl_rules[twice_p] = lambda x: [x + x]
    primitive_rule(twice_p)
    return lambda x: bind(twice_p, x)[0]


def by_rule(tangent_of):
    def define(primitive):
        def rule(primals, tangents):
            return bind(primitive, *primals), [tangent_of(tangents[0])]

        jvp_rules[primitive] = rule

    return define


def by_formula(tangent_of):
    return lambda primitive: defjvp(primitive, lambda t, out, x: tangent_of(t))


@pytest.mark.parametrize("define", [by_rule, by_formula])
@pytest.mark.parametrize(
    ("tangent_of", "found"),
    [
        (lambda t: reduce_sum(t, 0), r"f64\[2\]"),
        (lambda t: reduce_sum(t, 0) * np.ones((1, 2)), r"f64\[1,2\]"),  # it would broadcast
        (lambda t: astype(t, np.float32), r"f32\[3,2\]"),
        (lambda t: t > 0, r"bool\[3,2\]"),
    ],
)
def test_a_jvp_rule_that_returns_a_tangent_of_another_type_is_an_error(define, tangent_of, found):
    f = with_jvp(define(tangent_of))
    x = np.ones((3, 2))
    with pytest.raises(TypeError) as caught:
        jvp(f, (x,), (x,))
    expected = rf"the jvp rule of `twice` returned a tangent of type {found} for a result of type "
    assert re.search(expected + r"f64\[3,2\]: it must have type f64\[3,2\]", str(caught.value))
    assert "jvp_rules[twice_p]" in str(caught.value)


def test_one_term_of_several_must_not_hide_behind_the_others():
    both_p = Primitive("both")
    impl_rules[both_p] = lambda x, y: [x + y]
    defjvp(both_p, lambda t, out, x, y: t, lambda t, out, x, y: reduce_sum(t, 0))
    x = np.ones((3, 2))
    with pytest.raises(TypeError, match=r"`both` returned a tangent of type f64\[2\]"):
        jvp(lambda x: bind(both_p, x, x)[0], (x,), (x,))


def test_an_integer_result_has_no_tangent_of_numbers():
    sign_p = Primitive("sign")
    impl_rules[sign_p] = lambda x: [np.sign(x).astype(np.int64)]
    defjvp(sign_p, lambda t, out, x: t)
    with pytest.raises(TypeError, match=r"result of type i64\[2\]: it must have type float0\[2\]"):
        jvp(lambda x: bind(sign_p, x)[0], (np.ones(2),), (np.ones(2),))
