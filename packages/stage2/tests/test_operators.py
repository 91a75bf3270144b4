"""Operators: whatever meets a tracer computes what numpy computes, on either side of it."""

import operator

import numpy as np
import pytest

from glassjax_stage2 import (
    Tracer,
    bind1,
    deriv,
    div,
    jvp,
    power,
    reduce_sum,
    reshape,
    sub,
    transpose,
    vmap,
)
from glassjax_stage2 import abs as absolute
from glassjax_stage2.primitives import div_p

BINARY = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "pow", "lt", "le", "gt", "ge", "eq", "ne")
}
X = np.array([0.5, 1.0, 2.5])
OTHERS = {
    "int": 2,
    "float": 1.5,
    "bool": True,
    "float64": np.float64(1.5),
    "float32": np.float32(1.5),
    "int32": np.int32(2),
    "array": np.array([2.0, 1.0, 0.5]),
    "row": np.array([[2.0], [1.0]]),
    "ints": np.array([1, 2, 3]),
    "0d": np.array(2.0),
}
binary = pytest.mark.parametrize("op", BINARY.values(), ids=BINARY)
others = pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)


def under_jvp(f, x):
    """What `f` computes on a tracer; it must be a tracer that comes out, or a constant."""
    return jvp(f, (x,), (np.ones_like(x),))[0]


def under_vmap(f, x):
    return vmap(f)(np.stack([x, 2 * x]))


@binary
@others
def test_an_operator_computes_what_numpy_computes(op, other):
    for f in (lambda x: op(x, other), lambda x: op(other, x)):
        np.testing.assert_allclose(under_jvp(f, X), f(X), rtol=1e-12)
        np.testing.assert_allclose(under_vmap(f, X), np.stack([f(X), f(2 * X)]), rtol=1e-12)


@binary
def test_two_tracers_of_one_or_of_two_transformations(op):
    y = np.array([2.0, 0.5, 1.0])
    np.testing.assert_allclose(vmap(op)(X, y), op(X, y))
    np.testing.assert_allclose(jvp(op, (X, y), (X, y))[0], op(X, y))
    both = jvp(lambda x: vmap(lambda y: op(x, y))(y), (X,), (X,))[0]
    np.testing.assert_allclose(both, op(X[None, :], y[:, None]))


@binary
def test_an_array_on_the_left_hands_over_as_a_whole(op):
    def f(x):
        out = op(X, x)
        assert isinstance(out, Tracer) or out.dtype == bool  # and no array of objects
        return out

    under_jvp(f, X)
    assert isinstance(vmap(lambda x: [op(X, x)])(X)[0], np.ndarray)


def test_an_array_is_not_updated_in_place_with_a_tracer_but_replaced():
    kept = np.zeros(3)

    def f(x):
        total = kept
        total += x
        return total

    np.testing.assert_array_equal(under_jvp(f, X), X)
    np.testing.assert_array_equal(under_vmap(f, X), [X, 2 * X])
    np.testing.assert_array_equal(kept, np.zeros(3))


@others
def test_numpys_numbers_and_arrays_hand_over_to_the_reflected_operator(other):
    """It is the operator of the tracer that computes, for numpy's own functions cannot."""

    def f(x):
        outs = [other * x, other + x, other - x, other / x, other**x]
        assert all(isinstance(out, Tracer) for out in outs)
        return outs[0]

    np.testing.assert_allclose(under_jvp(f, X), other * X)
    np.testing.assert_allclose(under_vmap(f, X), [other * X, other * (2 * X)])


SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((3,), (6, 5, 3, 4)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 4)),
]


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_matrix_products_of_all_ranks(a, b):
    rng = np.random.default_rng(0)
    x, y, x_dot, y_dot = (rng.normal(size=shape) for shape in (a, b, a, b))
    out, tangent = jvp(operator.matmul, (x, y), (x_dot, y_dot))
    np.testing.assert_allclose(out, x @ y, atol=1e-12)
    np.testing.assert_allclose(tangent, x_dot @ y + x @ y_dot, atol=1e-12)
    np.testing.assert_allclose(jvp(lambda y: x @ y, (y,), (y_dot,))[1], x @ y_dot, atol=1e-12)
    np.testing.assert_allclose(jvp(lambda x: x @ y, (x,), (x_dot,))[1], x_dot @ y, atol=1e-12)
    xs, ys = np.stack([x, x_dot]), np.stack([y, y_dot])
    np.testing.assert_allclose(
        vmap(operator.matmul)(xs, ys), np.stack([x @ y, x_dot @ y_dot]), atol=1e-12
    )


WHOLE = [0, 1, 2, 3, 7, -1, -3, 2.0, -2.0, np.int64(3), np.float64(2.0), np.float32(3.0)]


@pytest.mark.parametrize("exponent", WHOLE, ids=repr)
@pytest.mark.parametrize("x", [-1.5, 0.5, 2.0])
def test_powers_by_a_whole_number(x, exponent):
    n = float(exponent)
    out, tangent = jvp(lambda x: x**exponent, (x,), (1.0,))
    assert out == pytest.approx(x**n)
    assert tangent == pytest.approx(n * x ** (n - 1))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 2.0, 5.0])
def test_powers_by_a_whole_number_are_smooth_at_zero(exponent):
    out, tangent = jvp(lambda x: x**exponent, (0.0,), (1.0,))
    assert out == 0.0**exponent
    assert tangent == (1.0 if exponent == 1 else 0.0)


@pytest.mark.parametrize("exponent", [0.5, -0.5, 2.5, np.float64(0.5), np.array([0.5, 2.0, 3.0])])
def test_powers_by_any_number_of_a_positive_base(exponent):
    out, tangent = jvp(lambda x: x**exponent, (X,), (np.ones(3),))
    np.testing.assert_allclose(out, X**exponent)
    np.testing.assert_allclose(tangent, exponent * X ** (exponent - 1))


def test_powers_by_a_tracer():
    out, tangent = jvp(lambda y: 2.0**y, (3.0,), (1.0,))
    assert (out, tangent) == (pytest.approx(8.0), pytest.approx(8.0 * np.log(2.0)))
    out, tangent = jvp(lambda x: x**x, (2.0,), (1.0,))
    assert (out, tangent) == (pytest.approx(4.0), pytest.approx(4.0 * (np.log(2.0) + 1)))


def test_integer_powers_of_integers_are_integers():
    out = vmap(lambda n: n**3)(np.arange(-2, 3))
    assert out.dtype == np.int64
    np.testing.assert_array_equal(out, [-8, -1, 0, 1, 8])


def test_powers_by_an_array_of_whole_numbers_take_any_base():
    exponents = np.array([0.0, 1.0, 2.0, 3.0, -1.0])
    out, tangent = jvp(lambda x: x**exponents, (-2.0,), (1.0,))
    np.testing.assert_allclose(out, (-2.0) ** exponents)
    np.testing.assert_allclose(tangent, exponents * (-2.0) ** (exponents - 1))
    np.testing.assert_array_equal(power(np.array([2, -3]), np.array([3, 3])), [8, -27])


@pytest.mark.parametrize(
    ("x", "y"), [(1e308, 1.7e308), (1e-320, 2e-320), (np.inf, 2.0), (1.0, 0.0)]
)
def test_quotients_are_exact_at_the_ends_of_the_range(x, y):
    with np.errstate(divide="ignore"):
        assert div(x, y) == np.float64(x) / y
    np.testing.assert_array_equal(vmap(div)(np.array([x]), np.array([y])), [div(x, y)])


def test_the_primitive_of_division_rounds_quotients_of_integers_towards_zero():
    x, y = np.array([7, -7, 7, -7, 6, 5]), np.array([2, 2, -2, -2, 3, 0])
    np.testing.assert_array_equal(bind1(div_p, x, y), [3, -3, -3, 3, 2, -1])


def test_booleans_are_not_subtracted_nor_raised_to_powers():
    with pytest.raises(TypeError, match=r"where they differ use `x != y`"):
        sub(np.array([True]), np.array([False]))
    with pytest.raises(TypeError, match="power: found two boolean arrays"):
        power(np.array([True]), np.array([False]))


def test_the_absolute_value_has_slope_one_at_zero():
    assert [deriv(absolute)(x) for x in (-2.0, 0.0, 3.0)] == [-1.0, 1.0, 1.0]
    assert deriv(absolute)(-np.inf) == -1.0
    assert [jvp(abs, (x,), (1.0,))[0] for x in (-2.0, -0.0, 3.0)] == [2.0, 0.0, 3.0]
    assert np.isnan(jvp(abs, (np.nan,), (1.0,))[0])
    np.testing.assert_array_equal(vmap(abs)(np.array([-2, 0, 3])), [2, 0, 3])


def test_unary_operators_and_attributes():
    def f(x):
        assert (x.shape, x.ndim, x.size, x.dtype, len(x)) == ((2, 3), 2, 6, np.float64, 2)
        assert x.T.shape == (3, 2)
        return -x, x.T

    x = np.arange(6.0).reshape(2, 3)
    for out in (jvp(f, (x,), (x,))[0], [z[0] for z in vmap(f)(x[None])]):
        for found, expected in zip(out, (-x, x.T), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_functions_of_shape_agree_with_numpy():
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(reduce_sum(x), x.sum())
    np.testing.assert_array_equal(reduce_sum(x, -1), x.sum(-1))
    np.testing.assert_array_equal(reduce_sum(x, (0, -1)), x.sum((0, 2)))
    np.testing.assert_array_equal(reduce_sum(x, axis=()), x)
    np.testing.assert_array_equal(transpose(x), x.T)
    np.testing.assert_array_equal(transpose(x, (-1, 0, 1)), x.transpose(2, 0, 1))
    np.testing.assert_array_equal(reshape(x, (4, -1)), x.reshape(4, 6))
    np.testing.assert_array_equal(reshape(x, -1), x.reshape(-1))
    assert reshape(np.zeros((0, 3)), (3, -1)).shape == (3, 0)
    assert reduce_sum(np.array([True, True])) == 2


def test_comparisons_are_values_without_derivative():
    out, tangent = jvp(lambda x: x < 1.0, (X,), (np.ones(3),))
    np.testing.assert_array_equal(out, X < 1.0)
    assert tangent.dtype == [("float0", np.void, 0)]


def test_what_is_no_array_is_left_to_python():
    def f(x):
        for other in ("a", None, object()):
            assert (x == other) is False
            with pytest.raises(TypeError, match="unsupported operand"):
                x + other
        for other in ([1.0], (1.0,)):
            with pytest.raises(TypeError, match="makes it an array"):
                x == other  # noqa: B015
        return x

    jvp(f, (1.0,), (1.0,))
