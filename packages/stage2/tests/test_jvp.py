"""Forward mode: what holds for the derivative of every function."""

import math
from collections import namedtuple
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassjax_stage2 import (
    Primitive,
    Zero,
    bind1,
    cos,
    defjvp,
    deriv,
    exp,
    float0,
    impl_rules,
    jvp,
    jvp_rules,
    log,
    reciprocal,
    reduce_sum,
    register_pytree_node,
    sin,
    typeof,
    where,
)
from glassjax_stage2.primitives import mul_p, sin_p

settings.register_profile("stage2", deadline=None, max_examples=50)
settings.load_profile("stage2")

# Smooth functions that stay in a moderate range, so that any chain of them does.
STEPS = {
    "sin": sin,
    "cos": cos,
    "square": lambda x: x * x / 4.0,
    "shift": lambda x: x + 0.5,
    "bell": lambda x: exp(-(x * x)),
    "log": lambda x: log(1.5 + x * x),
    "inverse": lambda x: reciprocal(1.0 + x * x),
    "split": lambda x: where(x > 0.3, sin(x), 2.0 * x),
}
chains = st.lists(st.sampled_from(sorted(STEPS)), max_size=5)
numbers = st.floats(-2, 2)


def compose(chain):
    def f(x):
        for name in chain:
            x = STEPS[name](x)
        return x

    return f


def test_a_rule_maps_primals_and_tangents_to_results_and_theirs():
    """Called by itself, without a trace that would call it."""
    (out,), (tangent,) = jvp_rules[sin_p]((0.5,), (2.0,))
    assert (out, tangent) == (math.sin(0.5), 2.0 * math.cos(0.5))
    (out,), (tangent,) = jvp_rules[mul_p]((3.0, 4.0), (1.0, 10.0))
    assert (out, tangent) == (12.0, 34.0)


@given(chains, chains, numbers, numbers)
def test_the_chain_rule(first, second, x, x_dot):
    f, g = compose(first), compose(second)
    whole = jvp(lambda x: g(f(x)), (x,), (x_dot,))
    assert whole == pytest.approx(jvp(g, *((z,) for z in jvp(f, (x,), (x_dot,)))), nan_ok=True)


@given(chains, chains, numbers, numbers)
def test_sum_and_product_rule(first, second, x, x_dot):
    f, g = compose(first), compose(second)
    (a, a_dot), (b, b_dot) = (jvp(h, (x,), (x_dot,)) for h in (f, g))
    assert jvp(lambda x: f(x) + g(x), (x,), (x_dot,))[1] == pytest.approx(a_dot + b_dot)
    product = jvp(lambda x: f(x) * g(x), (x,), (x_dot,))[1]
    assert product == pytest.approx(a_dot * b + a * b_dot)


@given(st.lists(st.sampled_from([s for s in sorted(STEPS) if s != "split"]), max_size=4), numbers)
def test_first_and_second_derivatives_are_limits_of_differences(chain, x):
    f, h = compose(chain), 1e-5
    assert deriv(f)(x) == pytest.approx((f(x + h) - f(x - h)) / (2 * h), abs=1e-5, rel=1e-5)
    d = deriv(f)
    assert deriv(d)(x) == pytest.approx((d(x + h) - d(x - h)) / (2 * h), abs=1e-5, rel=1e-5)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6), st.integers(-3, 3))
def test_all_derivatives_of_polynomials_are_exact(coefficients, x):
    def polynomial(x):
        total = 0.0
        for c in reversed(coefficients):
            total = total * x + c
        return total

    f, c = polynomial, list(coefficients)
    for _ in range(len(coefficients) + 1):
        assert f(float(x)) == sum(a * x**i for i, a in enumerate(c))
        f, c = deriv(f), [i * a for i, a in enumerate(c)][1:]


@given(numbers, numbers, numbers)
def test_mixed_derivatives_commute(x, y, shift):
    def f(x, y):
        return sin(x * y + shift) * exp(-x) + y * y * x

    xy = deriv(lambda y: deriv(lambda x: f(x, y))(x))(y)
    yx = deriv(lambda x: deriv(lambda y: f(x, y))(y))(x)
    assert xy == pytest.approx(yx, abs=1e-9)


Point = namedtuple("Point", "x y")


@dataclass
class Layer:
    weight: object
    bias: object


register_pytree_node(Layer, lambda x: ((x.weight, x.bias), None), lambda _, xs: Layer(*xs))


def test_trees_in_and_out():
    def f(point, layers, nothing):
        assert nothing is None
        out = layers[0].weight @ point.x + layers[0].bias
        return {"z": out, "nested": ({"y": point.y}, [None, 2.0 * layers[0].bias])}

    w, x = np.arange(6.0).reshape(2, 3), np.array([1.0, 0.0, 2.0])
    primals = (Point(x, 3.0), [Layer(w, np.ones(2))], None)
    tangents = (Point(np.ones(3), 4.0), [Layer(np.zeros((2, 3)), np.array([5.0, 6.0]))], None)
    out, tangent = jvp(f, primals, tangents)
    assert type(out) is type(tangent) is dict
    np.testing.assert_array_equal(out["z"], w @ x + 1.0)
    np.testing.assert_array_equal(tangent["z"], w @ np.ones(3) + [5.0, 6.0])
    assert (out["nested"][0], tangent["nested"][0]) == ({"y": 3.0}, {"y": 4.0})
    assert out["nested"][1][0] is tangent["nested"][1][0] is None
    np.testing.assert_array_equal(tangent["nested"][1][1], [10.0, 12.0])


@pytest.mark.parametrize("result", [(), None, {}, []])
def test_a_function_without_results_has_none(result):
    assert jvp(lambda x: result, (1.0,), (1.0,)) == (result, result)


def test_the_tangent_of_a_constant_is_zero_of_its_type():
    constant = np.ones((2, 3), np.float32)
    outs, tangents = jvp(lambda x: (constant, 3.0, 4, True, np.arange(2)), (1.0,), (1.0,))
    assert outs[0] is constant
    assert tangents[0].dtype == np.float32
    np.testing.assert_array_equal(tangents[0], np.zeros((2, 3)))
    assert type(tangents[1]) is float
    assert [np.asarray(t).dtype for t in tangents[2:]] == [float0] * 3
    assert [np.shape(t) for t in tangents[2:]] == [(), (), (2,)]


def test_zero_tangents_stay_symbolic():
    """A formula is asked only where there is a change, and nothing is computed for the others."""
    product_p = Primitive("product")
    impl_rules[product_p] = lambda x, y: [x * y]

    def never(*_):
        raise AssertionError("asked for a tangent of zero")

    defjvp(product_p, lambda t, out, x, y: t * y, never)

    def f(x, y):
        z = 2.0 * y + sin(y)  # depends on a constant only, so it is no tracer
        assert not hasattr(z, "tangent")
        return bind1(product_p, x, z)

    y = np.float64(3.0)
    out, tangent = jvp(f, (2.0, y), (1.0, Zero.like(y)))
    assert tangent == 6.0 + np.sin(3.0)
    assert out == 2.0 * tangent


def test_integers_and_booleans_pass_through():
    def f(x, n, flags):
        for _ in range(n):
            x = x * 2.0
        return where(flags, x, 0.0), n + 1

    flags = np.array([True, False])
    zeros = (np.zeros((), float0), np.zeros(2, float0))
    (out, n), (tangent, n_dot) = jvp(f, (1.0, 3, flags), (1.0, *zeros))
    np.testing.assert_array_equal(out, [8.0, 0.0])
    np.testing.assert_array_equal(tangent, [8.0, 0.0])
    assert (n, n_dot.dtype) == (4, float0)


def test_python_control_flow_follows_the_value():
    def collatz_like(x):
        steps = 0
        while x < 100.0:
            x = 3.0 * x if x > 10.0 else x * x
            steps += 1
        return x if not (x < 0.0 or steps == 0) else -x

    # 3 -> 9 -> 81 -> 243, which is 3 x^4
    assert jvp(collatz_like, (3.0,), (1.0,)) == (243.0, 324.0)
    assert deriv(lambda x: max(x, 1.0))(3.0) == 1.0
    assert deriv(lambda x: max(x, 1.0))(0.5) == 0.0
    assert deriv(lambda x: sorted([x, 2.0, -x])[0])(3.0) == -1.0


def test_narrow_dtypes_stay_narrow():
    def f(x):
        return sin(2 * x) + x**2 / 3.0 - abs(x) * 0.5 + exp(-x) * log(x) @ np.float16([1, 1])

    x = np.array([0.5, 1.5], np.float16)
    out, tangent = jvp(f, (x,), (np.ones_like(x),))
    assert out.dtype == tangent.dtype == np.float16


def test_complex_functions_have_complex_derivatives():
    z = 0.5 + 0.25j
    assert deriv(lambda z: sin(z) * z**2)(z) == pytest.approx(np.cos(z) * z**2 + 2 * z * np.sin(z))


def test_the_tangent_has_the_type_of_the_result():
    """Also where a scalar is spread over an array, or an array meets constants of more axes."""
    rows = np.ones((2, 3))
    for f in (
        lambda x: x + rows,
        lambda x: rows * x,
        lambda x: where(rows > 0, x, rows),
        lambda x: where(True, rows, x),
        lambda x: reduce_sum(x) - rows,
    ):
        for x in (2.0, np.float64(2.0), np.arange(3.0)):
            out, tangent = jvp(f, (x,), (x * 0.0,))
            assert typeof(out) == typeof(tangent)
            assert out.shape == (2, 3)


def test_a_python_tangent_takes_the_dtype_of_its_primal():
    _, tangent = jvp(sin, (np.float32(0.0),), (1.0,))
    assert typeof(tangent) == typeof(np.float32(1.0))
    assert jvp(sin, (0.0,), (1,)) == (0.0, 1.0)


def test_any_callable_can_be_differentiated():
    class Scale:
        def __call__(self, x):
            return 3.0 * x

    assert deriv(Scale())(1.0) == 3.0
    assert deriv(partial(lambda k, x: k * x, 4.0))(1.0) == 4.0
    assert deriv(sin)(0.0) == 1.0


def test_deriv_lets_all_elements_grow():
    slope = deriv(lambda x: x * x)(np.array([1.0, 2.0], np.float32))
    assert slope.dtype == np.float32
    assert slope.tolist() == [2.0, 4.0]


def test_deriv_of_python_integers_is_that_of_floats():
    assert deriv(lambda x: x * x * x)(2) == 12.0
    assert type(deriv(lambda x: x + 1)(2)) is float


def test_special_values_flow_without_warnings():
    assert jvp(reciprocal, (0.0,), (1.0,)) == (math.inf, -math.inf)
    out, tangent = jvp(log, (0.0,), (1.0,))
    assert (out, tangent) == (-math.inf, math.inf)
    assert math.isnan(jvp(log, (-1.0,), (1.0,))[0])
    assert jvp(exp, (1000.0,), (1.0,)) == (math.inf, math.inf)


def test_a_dtype_that_is_equal_to_numpys_own_but_another_object():
    """Such a dtype says that it is not built in; the first array of a type was once believed."""
    odd = np.dtype("f8").newbyteorder("<")
    x = np.ones((5, 1, 7), odd)
    assert jvp(lambda x: x * x, (x,), (x,))[1].dtype == np.float64
    assert jvp(lambda x: x * x, (np.ones((5, 1, 7)),), (x,))[1].dtype == np.float64
