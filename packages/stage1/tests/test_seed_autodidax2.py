"""The programs and the numbers of "Autodidax2, part 1: JAX from scratch, again", on this stage."""

from dataclasses import dataclass

import pytest

from glassjax_stage1 import (
    Interpreter,
    add,
    build_jaxpr,
    current_interpreter,
    derivative,
    eval_jaxpr,
    jvp,
    mul,
    nth_order_derivative,
)


def foo(x):
    return mul(x, add(x, 3.0))


def printed(capsys, value):
    print(value)
    return capsys.readouterr().out


def test_evaluating(capsys):
    assert printed(capsys, foo(2.0)) == "10.0\n"


def test_finite_differences(capsys):
    assert printed(capsys, (foo(2.00001) - foo(2.0)) / 0.00001) == "7.000009999913458\n"
    assert printed(capsys, foo(2.00001)) == "10.0000700001\n"


@dataclass
class DualNumber:
    primal: float
    tangent: float


def add_dual(x, y):
    return DualNumber(x.primal + y.primal, x.tangent + y.tangent)


def mul_dual(x, y):
    return DualNumber(x.primal * y.primal, x.primal * y.tangent + x.tangent * y.primal)


def foo_dual(x):
    return mul_dual(x, add_dual(x, DualNumber(3.0, 0.0)))


def test_dual_numbers_by_hand(capsys):
    by_hand = foo_dual(DualNumber(2.0, 1.0))
    assert printed(capsys, by_hand) == "DualNumber(primal=10.0, tangent=7.0)\n"
    assert jvp(foo, 2.0, 1.0) == (by_hand.primal, by_hand.tangent)


def test_jvp(capsys):
    assert printed(capsys, jvp(foo, 2.0, 1.0)) == "(10.0, 7.0)\n"


@pytest.mark.parametrize(
    ("n", "output"), [(0, "10.0\n"), (1, "7.0\n"), (2, "2.0\n"), (3, "0.0\n"), (4, "0.0\n")]
)
def test_derivatives_of_every_order(capsys, n, output):
    assert printed(capsys, nth_order_derivative(n, foo, 2.0)) == output


def test_perturbation_confusion(capsys):
    def f(x):
        def g(y):
            return x

        should_be_zero = derivative(g, 0.0)
        return mul(x, should_be_zero)

    assert printed(capsys, derivative(f, 0.0)) == "0.0\n"


def test_the_printed_jaxpr(capsys):
    assert printed(capsys, build_jaxpr(foo, 1)) == (
        "v_1 ->\n  v_2 = Op.add(v_1, 3.0)\n  v_3 = Op.mul(v_1, v_2)\nv_3\n"
    )


def test_evaluating_the_jaxpr(capsys):
    assert printed(capsys, eval_jaxpr(build_jaxpr(foo, 1), (2.0,))) == "10.0\n"


def test_the_round_trip(capsys):
    result = jvp(lambda x: eval_jaxpr(build_jaxpr(foo, 1), (x,)), 2.0, 1.0)
    assert printed(capsys, result) == "(10.0, 7.0)\n"


# What does not work in the document, and works here


def test_the_evaluating_interpreter_is_an_interpreter():
    assert isinstance(current_interpreter(), Interpreter)


def test_the_jaxpr_of_a_constant_function_prints(capsys):
    assert printed(capsys, build_jaxpr(lambda x: 4.0, 1)) == "v_1 ->\n4.0\n"


def test_a_jaxpr_built_inside_another_captures_nothing():
    # The document's variables are strings: there this is 9.0 (y for x).
    def f(x):
        return eval_jaxpr(build_jaxpr(lambda y: mul(x, y), 1), (3.0,))

    assert eval_jaxpr(build_jaxpr(f, 1), (10.0,)) == 30.0


def test_ints_are_numbers_too():
    assert foo(2) == 10.0
    assert jvp(foo, 2, 1) == (10.0, 7.0)
