"""Forward-mode differentiation: the pair of a value and how fast it changes."""

import pytest

from glassjax_stage1 import (
    DualNumber,
    JVPInterpreter,
    UnexpectedTracerError,
    add,
    derivative,
    jvp,
    mul,
    nth_order_derivative,
    set_interpreter,
)


def foo(x):
    return mul(x, add(x, 3.0))


def cube(x):
    return mul(x, mul(x, x))


@pytest.mark.parametrize(
    ("f", "x", "x_dot", "expected"),
    [
        (foo, 2.0, 1.0, (10.0, 7.0)),
        (foo, 2.0, 0.0, (10.0, 0.0)),
        (foo, 2.0, -3.0, (10.0, -21.0)),
        (cube, -2.0, 1.0, (-8.0, 12.0)),
        (lambda x: x, 5.0, 2.0, (5.0, 2.0)),
        (lambda x: 4.0, 5.0, 2.0, (4.0, 0.0)),
        (lambda x: add(1.0, 3.0), 5.0, 2.0, (4.0, 0.0)),
        (lambda x: add(3.0, x), 5.0, 2.0, (8.0, 2.0)),
        (lambda x: mul(3.0, x), 5.0, 2.0, (15.0, 6.0)),
        (foo, 2, 1, (10.0, 7.0)),
        (cube, 3, 1, (27, 27)),
    ],
)
def test_primal_and_tangent(f, x, x_dot, expected):
    assert jvp(f, x, x_dot) == expected


def test_the_primal_is_what_evaluation_gives():
    for x in (2, 2.5, -0.1):
        primal, _ = jvp(foo, x, 1.0)
        assert primal == foo(x)
        assert type(primal) is type(foo(x))


def test_a_program_branches_on_python_values_but_not_on_duals():
    def power(n):
        return lambda x: 1.0 if n == 0 else mul(x, power(n - 1)(x))

    assert [derivative(power(n), 2.0) for n in range(5)] == [0.0, 1.0, 4.0, 12.0, 32.0]


@pytest.mark.parametrize(
    ("n", "expected"), [(0, 16.0), (1, 32.0), (2, 48.0), (3, 48.0), (4, 24.0), (5, 0.0)]
)
def test_orders_of_a_fourth_power(n, expected):
    assert nth_order_derivative(n, lambda x: mul(mul(x, x), mul(x, x)), 2.0) == expected


def test_a_dual_number_shows_both_its_parts():
    seen = []
    jvp(lambda x: seen.append(repr(foo(x))) or x, 2.0, 1.0)
    assert seen == ["DualNumber(primal=10.0, tangent=7.0)"]


# Nesting: whose dual number is it?


def test_a_function_constant_in_its_argument_has_derivative_zero_though_it_returns_a_dual():
    assert derivative(lambda x: mul(x, derivative(lambda y: x, 0.0)), 0.0) == 0.0


def test_no_confusion_of_perturbations():
    # d/dx [x * d/dy (x + y) at y = 1] = d/dx x = 1. One shared epsilon would answer 2.
    assert derivative(lambda x: mul(x, derivative(lambda y: add(x, y), 1.0)), 1.0) == 1.0


@pytest.mark.parametrize("x", [-1.5, 0.0, 2.0])
@pytest.mark.parametrize("y", [-2.0, 0.5])
def test_mixed_derivatives_agree_in_both_orders(x, y):
    def f(x, y):  # x^2 y^3
        return mul(mul(x, x), mul(y, mul(y, y)))

    def d_dx_d_dy(x, y):
        return derivative(lambda x: derivative(lambda y: f(x, y), y), x)

    def d_dy_d_dx(x, y):
        return derivative(lambda y: derivative(lambda x: f(x, y), x), y)

    assert d_dx_d_dy(x, y) == d_dy_d_dx(x, y) == 6 * x * y * y


def test_an_inner_interpreter_sees_an_outer_dual_as_constant():
    def outer(x):
        def inner(y):
            z = mul(x, y)
            assert isinstance(z.primal, DualNumber)
            assert z.interpreter is not x.interpreter
            assert z.interpreter.parent is x.interpreter
            return z

        primal, tangent = jvp(inner, 3.0, 1.0)
        assert primal.interpreter is x.interpreter
        assert (tangent.primal, tangent.tangent) == (2.0, 1.0)
        return primal

    assert jvp(outer, 2.0, 1.0) == (6.0, 3.0)


def test_a_tangent_may_be_a_dual_of_an_outer_interpreter():
    # jvp(foo, 2, v) = (10, 7 v): linear in v, with derivative 7.
    assert derivative(lambda v: jvp(foo, 2.0, v)[1], 5.0) == 7.0


def test_a_dual_number_knows_the_line_where_it_was_made():
    made = []

    def f(x):
        y = add(x, 1.0)
        made.append(str(y.source))
        return y

    jvp(f, 1.0, 1.0)
    line = f.__code__.co_firstlineno + 1
    assert made == [f"{__file__}:{line} (in f)"]


def test_the_interpreter_can_be_driven_by_hand():
    interpreter = JVPInterpreter()
    with set_interpreter(interpreter):
        y = foo(DualNumber(interpreter, 2.0, 1.0))
    assert (y.primal, y.tangent) == (10.0, 7.0)
    with interpreter.run():
        pass
    with interpreter.run(), pytest.raises(UnexpectedTracerError, match="has ended"):
        add(y, 1.0)
