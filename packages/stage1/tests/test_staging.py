"""Staging writes down what a function does; the writing computes what the function computes."""

from contextlib import contextmanager

import pytest

from glassjax_stage1 import (
    Interpreter,
    StagedValue,
    add,
    build_jaxpr,
    current_interpreter,
    derivative,
    eval_jaxpr,
    jvp,
    mul,
    nth_order_derivative,
    set_interpreter,
)


def foo(x):
    return mul(x, add(x, 3.0))


def staged(f):
    """`f` by way of a jaxpr."""
    return lambda *args: eval_jaxpr(build_jaxpr(f, len(args)), args)


def test_the_jaxpr_of_a_function():
    assert str(build_jaxpr(foo, 1)) == (
        "v_1 ->\n"
        "  v_2 = Op.add(v_1, 3.0)\n"
        "  v_3 = Op.mul(v_1, v_2)\n"
        "v_3"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("f", "num_args", "text"),
    [
        (lambda: 4.0, 0, " ->\n4.0"),
        (lambda x: 4.0, 1, "v_1 ->\n4.0"),
        (lambda x: x, 1, "v_1 ->\nv_1"),
        (lambda x, y: y, 2, "v_1, v_2 ->\nv_2"),
        (lambda *xs: mul(xs[2], xs[0]), 3, "v_1, v_2, v_3 ->\n  v_4 = Op.mul(v_3, v_1)\nv_4"),
    ],
)
def test_the_jaxpr_of_small_functions(f, num_args, text):
    assert str(build_jaxpr(f, num_args)) == text


def test_staging_runs_the_function_once_and_evaluating_runs_it_no_more():
    runs = []

    def f(x):
        runs.append(x)
        return foo(x)

    jaxpr = build_jaxpr(f, 1)
    assert [eval_jaxpr(jaxpr, (float(x),)) for x in range(3)] == [0.0, 4.0, 10.0]
    assert len(runs) == 1
    assert isinstance(runs[0], StagedValue)


def test_python_runs_while_staging_and_leaves_no_trace():
    def power(x):
        result = x
        for _ in range(3):
            result = mul(result, x)
        return result

    assert [str(equation.op) for equation in build_jaxpr(power, 1).equations] == ["Op.mul"] * 3


def test_an_operation_on_constants_alone_is_staged_too():
    # Dispatch is by context, not by what the arguments are.
    assert str(build_jaxpr(lambda x: add(1.0, 2.0), 1)) == "v_1 ->\n  v_2 = Op.add(1.0, 2.0)\nv_2"


def test_a_staged_value_shows_where_it_was_made():
    shown = []

    def f(x):
        y = add(x, 1.0)
        shown.append(repr(y))
        return y

    build_jaxpr(f, 1)
    line = f.__code__.co_firstlineno + 1
    assert shown == [f"StagedValue(made at {__file__}:{line} (in f))"]


# Staging and differentiating, nested every way


def test_jvp_of_a_staged_function():
    assert jvp(staged(foo), 2.0, 1.0) == (10.0, 7.0)
    assert [nth_order_derivative(n, staged(foo), 2.0) for n in range(5)] == [
        10.0,
        7.0,
        2.0,
        0.0,
        0.0,
    ]


def test_staging_of_a_derivative():
    jaxpr = build_jaxpr(lambda x: derivative(foo, x), 1)
    assert eval_jaxpr(jaxpr, (2.0,)) == 7.0
    assert [eval_jaxpr(jaxpr, (x,)) for x in (-1.0, 0.0)] == [1.0, 3.0]


@pytest.mark.parametrize("n", range(5))
def test_staging_at_any_depth_of_differentiation(n):
    def slope(f):
        return lambda x: derivative(f, x)

    f, expected = foo, nth_order_derivative(n, foo, 2.0)
    for _ in range(n):
        f = staged(slope(staged(f)))
    assert f(2.0) == expected


def test_staging_inside_jvp_takes_the_outer_dual_as_constant():
    def f(x):
        jaxpr = build_jaxpr(lambda y: mul(x, y), 1)  # x is a dual number here
        return eval_jaxpr(jaxpr, (x,))

    assert jvp(f, 3.0, 1.0) == (9.0, 6.0)


def test_jvp_inside_staging_takes_the_outer_variable_as_constant():
    def f(x):
        return derivative(lambda y: mul(x, mul(y, y)), 5.0)  # 2 x y = 10 x

    assert staged(f)(3.0) == 30.0
    assert derivative(staged(f), 3.0) == 10.0


def test_jvp_between_two_stagings():
    def f(x):
        return derivative(staged(lambda y: mul(x, mul(y, y))), x)  # 2 x^2

    assert staged(f)(3.0) == 18.0
    assert derivative(staged(f), 3.0) == 12.0


def test_staging_in_staging_in_jvp():
    def f(x):
        def g(y):
            def h(z):
                return mul(mul(x, y), z)

            return add(staged(h)(y), x)  # x y^2 + x

        return staged(g)(x)  # x^3 + x

    assert jvp(f, 2.0, 1.0) == (10.0, 13.0)
    assert staged(f)(2.0) == 10.0
    assert derivative(lambda x: derivative(f, x), 2.0) == 12.0


def test_a_jaxpr_staged_again_is_the_same_program():
    once = build_jaxpr(foo, 1)
    again = build_jaxpr(lambda x: eval_jaxpr(once, (x,)), 1)
    assert str(again) == str(once)
    assert not {again.parameters[0], again.return_val} & {once.parameters[0], once.return_val}


def test_a_function_can_be_staged_twice_at_once():
    def f(x):
        return add(staged(foo)(x), staged(foo)(add(x, 1.0)))

    assert staged(f)(1.0) == foo(1.0) + foo(2.0)


# Variables by identity: nothing is captured


def closes_over_outer_variable(build, evaluate):
    """x -> (y -> x * y)(3), staged inside and out."""

    def f(x):
        return evaluate(build(lambda y: mul(x, y)), 3.0)

    return evaluate(build(f), 10.0)


def test_staging_inside_staging_captures_nothing():
    assert (
        closes_over_outer_variable(
            build=lambda f: build_jaxpr(f, 1), evaluate=lambda jaxpr, x: eval_jaxpr(jaxpr, (x,))
        )
        == 30.0
    )


def test_variables_that_are_strings_would_be_captured():
    # Why variables have identity: each staging numbers its names from one, so that the outer
    # x and the inner y are both "v_1", and the same program computes 3 * 3.
    class StringStaging(Interpreter):
        def __init__(self):
            super().__init__()
            self.lines = []

        def interpret_op(self, op, args):
            name = f"v_{len(self.lines) + 2}"
            self.lines.append((name, op, args))
            return name

    def build(f):
        staging = StringStaging()
        with set_interpreter(staging):
            return staging.lines, f("v_1")

    def evaluate(program, x):
        lines, result = program
        values = {"v_1": x}
        for name, op, args in lines:
            operands = tuple(values.get(arg, arg) for arg in args)
            values[name] = current_interpreter().interpret_op(op, operands)
        return values.get(result, result)

    assert evaluate(build(foo), 2.0) == 10.0
    assert closes_over_outer_variable(build, evaluate) == 9.0


def test_an_outer_variable_stands_in_an_inner_jaxpr_as_a_constant():
    inner = []

    def f(x):
        inner.append(build_jaxpr(lambda y: mul(x, y), 1))
        return eval_jaxpr(inner[0], (3.0,))

    outer = build_jaxpr(f, 1)
    (equation,) = inner[0].equations
    assert isinstance(equation.args[0], StagedValue)
    assert equation.args[0].var is outer.parameters[0]
    assert str(inner[0]).startswith("v_1 ->\n  v_2 = Op.mul(StagedValue(made at ")
    assert str(outer) == "v_1 ->\n  v_2 = Op.mul(v_1, 3.0)\nv_2"


def test_staging_needs_nothing_of_the_interpreter_around_it():
    @contextmanager
    def forbidding():
        class Forbidding(Interpreter):
            def interpret_op(self, op, args):
                raise AssertionError("staging asked its parent to compute")

        with set_interpreter(Forbidding()):
            yield

    with forbidding():
        jaxpr = build_jaxpr(foo, 1)
    assert eval_jaxpr(jaxpr, (2.0,)) == 10.0
