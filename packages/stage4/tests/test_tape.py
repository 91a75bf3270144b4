"""The tape, by the programs and the numbers of the microjax document, and by its slips."""

import numpy as np
import pytest

from glassjax_stage2 import (
    MissingRuleError,
    Primitive,
    UnexpectedTracerError,
    add,
    bind1,
    cos,
    deriv,
    display_tree,
    exp,
    impl_rules,
    jvp,
    mul,
    neg,
    reciprocal,
    reduce_sum,
    sin,
    tree_flatten,
    vmap,
)
from glassjax_stage3 import jit, make_jaxpr
from glassjax_stage4 import grad, tape

x3 = np.array([0.5, 1.0, 2.0])


def sigmoid(x):
    return 1 / (1 + exp(-x))


def tanh(x):
    return 2 * sigmoid(2 * x) - 1


def polynomial(x):
    return 3 * x * x * x + 2 * x * x + 2 * x


def linear(state, inputs):
    total = 0
    for w, x in zip(state["weights"], inputs, strict=True):
        total = total + w * x
    return total + state["bias"]


state = {"weights": [1, 2, 3], "bias": 1}
inputs = [0.3, 0.5, 0.7]


# The document.


def test_its_first_program():
    assert sin(3.14) * exp(3.14) + tanh(3.14) == pytest.approx(1.033056645880499, rel=1e-12)


def test_its_forward_mode():
    y, y_dot = jvp(lambda x: sin(x) + exp(x), (3.14,), (1.0,))
    assert (y, y_dot) == pytest.approx((23.10545951163867, 22.103868126994644), rel=1e-14)
    assert deriv(sin)(3.14) == pytest.approx(-0.9999987317275395, rel=1e-12)
    assert deriv(deriv(sin))(3.14) == pytest.approx(-0.0015926529164865067, rel=1e-12)


@pytest.mark.parametrize("reverse", [tape.grad, grad])
def test_gradients_of_a_polynomial(reverse):
    assert reverse(polynomial)(2.0) == 46
    assert reverse(reverse(polynomial))(2.0) == 40
    assert reverse(reverse(reverse(polynomial)))(2.0) == 18


def test_an_int_counts_as_a_float():
    """There the derivative of an int was an int; microjax mixed the two."""
    assert (tape.grad(polynomial)(2), tape.grad(tape.grad(polynomial))(2)) == (46.0, 40.0)
    assert type(tape.grad(polynomial)(2)) is float
    assert tape.grad(lambda x, y: x * y, argnums=-1)(2.0, 3) == 2.0


def test_forward_on_backward_and_backward_on_forward():
    def func(x):
        return sin(x) + tanh(x) * exp(x)

    assert deriv(tape.grad(func))(2) == pytest.approx(6.251514736700764, rel=1e-15, abs=0)
    assert tape.grad(deriv(func))(2) == pytest.approx(6.251514736700765, rel=1e-15, abs=0)
    assert deriv(grad(func))(2.0) == pytest.approx(6.251514736700764, rel=1e-15, abs=0)
    assert grad(deriv(func))(2.0) == pytest.approx(6.251514736700765, rel=1e-15, abs=0)


def test_a_dictionary_of_parameters():
    gradient = {"bias": 1.0, "weights": [0.3, 0.5, 0.7]}
    assert tape.grad(linear)(state, inputs) == gradient
    assert linear(state, inputs) == 4.3999999999999995
    assert str(tape.grad(linear)(state, inputs)) == "{'bias': 1.0, 'weights': [0.3, 0.5, 0.7]}"


def test_forward_mode_with_trees_of_results():
    def func(x, y):
        k = tanh(x) * 2.0 + y * y
        z = -y + k
        return {" lets": z, "f*in": y * k, "go!": [x, y]}

    found = deriv(lambda x: func(x, 2.71))(3.14)
    assert found["go!"] == [1.0, 0.0]
    assert found[" lets"] == pytest.approx(0.01493120808257803, rel=1e-12)
    assert found["f*in"] == pytest.approx(0.040463573903786465, rel=1e-12)


def test_printing_a_tree():
    nested = [1, (2, {"a": 3, "b": 4}, 5), [6, 7]]
    assert tree_flatten(nested)[0] == [1, 2, 3, 4, 5, 6, 7]
    assert "dict" in display_tree(nested)


@pytest.mark.parametrize("reverse", [tape.grad, grad], ids=["tape", "staged"])
def test_derivatives_up_to_the_fourth_as_in_its_plots(reverse):
    def f(x):
        return x * sin(x)

    xs = np.arange(-50, 50) / 10
    s, c = np.sin(xs), np.cos(xs)
    expected = [xs * s, s + xs * c, 2 * c - xs * s, -3 * s - xs * c, -4 * c + xs * s]
    for order in range(5):
        np.testing.assert_allclose(vmap(f)(xs), expected[order], rtol=1e-9, atol=1e-12)
        f = reverse(f)
    t = tanh(xs)
    by_hand = [t, 1 - t**2, -2 * t * (1 - t**2), (1 - t**2) * (6 * t**2 - 2)]
    f = tanh
    for order in range(4):
        np.testing.assert_allclose(vmap(f)(xs), by_hand[order], rtol=1e-9, atol=1e-10)
        f = reverse(f)


# Its slips.


def test_an_argument_that_is_not_used_has_gradient_zero_not_none():
    assert tape.grad(lambda x, y: x * x, (0, 1))(3.0, 5.0) == (6.0, 0.0)
    assert tape.grad(lambda x: 7.0)(3.0) == 0.0
    unused = tape.grad(lambda x, y: x, 1)(3.0, {"a": x3, "b": [1]})
    np.testing.assert_array_equal(unused["a"], np.zeros(3))
    assert unused["b"] == [0.0]


def test_a_long_chain_needs_no_recursion():
    """There the graph was sorted recursively: a chain of 1,000 was too long."""

    def chain(x):
        for _ in range(20_000):
            x = x * 1.00005
        return x

    assert tape.grad(chain)(1.0) == pytest.approx(np.exp(1.0), rel=1e-4)


def test_a_value_that_is_used_twice_is_visited_once():
    """Of 60 doublings there are 2 ** 60 paths."""

    def doublings(x):
        for _ in range(60):
            x = x + x
        return x

    assert tape.grad(doublings)(1.0) == 2.0**60


# As a transformation among others.


def f(x):
    return sin(x) * exp(x) / (1 + x * x)


FIRST = vmap(deriv(f))(x3)
SECOND = vmap(deriv(deriv(f)))(x3)


def test_tape_of_tape_and_of_other_modes():
    for second in (
        tape.grad(tape.grad(f)),
        tape.grad(deriv(f)),
        deriv(tape.grad(f)),
        grad(tape.grad(f)),
        tape.grad(grad(f)),
    ):
        np.testing.assert_allclose([second(x) for x in x3], SECOND, rtol=1e-12)
        np.testing.assert_allclose(vmap(second)(x3), SECOND, rtol=1e-12)


def test_under_vmap_and_jit_and_over_vmap():
    np.testing.assert_allclose(vmap(tape.grad(f))(x3), FIRST)
    np.testing.assert_allclose(jit(vmap(tape.grad(f)))(x3), FIRST)
    np.testing.assert_allclose(tape.grad(lambda x: reduce_sum(vmap(f)(x)))(x3), FIRST)


def test_the_tape_staged_is_the_program_that_grad_makes():
    """Both roads do the same arithmetic; the tape leaves no program of its own."""

    def g(x):
        return sin(x) * x

    roads = [make_jaxpr(road(g))(1.0) for road in (grad, tape.grad)]
    counts = [sorted(eqn.primitive.name for eqn in jaxpr.eqns) for jaxpr in roads]
    assert set(counts[0]) == set(counts[1]) == {"sin", "cos", "mul", "add"}


def test_perturbations_are_not_confused():
    assert tape.grad(lambda x: x * tape.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert tape.grad(lambda x: tape.grad(lambda y: x * y * y)(3.0) * x)(2.0) == 24.0


def test_what_does_not_depend_on_the_arguments_is_not_noted():
    trace = tape.TapeTrace()
    with trace.run():
        x = trace.box(2.0)
        length = len(trace.tape)
        y = mul(3.0, cos(1.0))
        assert not trace.owns(y)
        assert len(trace.tape) == length
        assert trace.owns(add(x, y))


def test_python_control_flow_on_values():
    def power(x):
        result = 1.0
        while result < 10:
            result = result * x
        return result

    assert tape.grad(power)(2.0) == 4 * 2.0**3


def test_a_value_that_leaves_its_function_is_an_error():
    kept = []
    tape.grad(lambda x: kept.append(x * x) or x)(2.0)
    with pytest.raises(UnexpectedTracerError, match="vjp on a tape of `<lambda>`, which has ended"):
        neg(kept[0])


def test_vjp_can_be_used_again_and_with_trees():
    out, f_vjp = tape.vjp(lambda p, x: {"y": p["a"] * x, "z": [x, 3.0]}, {"a": 2.0}, 5.0)
    assert out == {"y": 10.0, "z": [5.0, 3.0]}
    for _ in range(2):
        assert f_vjp({"y": 1.0, "z": [10.0, 100.0]}) == ({"a": 5.0}, 12.0)


def test_a_primitive_of_ones_own_in_one_line():
    tanh_p = Primitive("tanh")
    impl_rules[tanh_p] = lambda x: [np.tanh(x)]
    with pytest.raises(MissingRuleError, match=r"`tanh` has no rule for the tape.*vjp_rules\["):
        tape.grad(lambda x: bind1(tanh_p, x))(1.0)
    tape.defvjp(tanh_p, lambda ct, out, x: ct * (1.0 - out * out))
    assert tape.grad(lambda x: bind1(tanh_p, x))(1.0) == pytest.approx(1 - np.tanh(1.0) ** 2)
    assert tape.grad(lambda x: bind1(tanh_p, reciprocal(x)))(1.0) < 0


def test_it_stands_on_stage_2_so_it_knows_no_programs():
    with pytest.raises(MissingRuleError, match="`jit` has no rule for the tape"):
        tape.grad(jit(lambda x: (x * x, x)))(1.0)
