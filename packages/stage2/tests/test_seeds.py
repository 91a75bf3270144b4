"""The programs and numbers of the documents that this stage retells.

MicroJax (forward mode), "JAX: why is everyone so excited" (part 1), and the network of
"A rigorous (and not-so-rigorous) look at JAX's autograd", forwards.
"""

import math

import numpy as np
import pytest

from glassjax_stage2 import (
    Primitive,
    bind1,
    broadcast_in_dim,
    cos,
    defjvp,
    deriv,
    exp,
    float0,
    impl_rules,
    jacfwd,
    jvp,
    reciprocal,
    reduce_sum,
    sin,
    transpose,
    tree_flatten,
    tree_unflatten,
    vmap,
)


def sigmoid(x):
    return 1 / (1 + exp(-x))


def tanh(x):
    return 2 * sigmoid(2 * x) - 1


def nth(n, f):
    for _ in range(n):
        f = deriv(f)
    return f


class TestMicroJax:
    def test_evaluation(self):
        f = lambda x: sin(x) * exp(x) + tanh(x)  # noqa: E731
        assert f(3.14) == pytest.approx(1.033056645880499, rel=1e-14)

    def test_jvp(self):
        value, slope = jvp(lambda x: sin(x) + exp(x), (3.14,), (1,))
        assert value == pytest.approx(23.10545951163867, rel=1e-14)
        assert slope == pytest.approx(22.103868126994644, rel=1e-14)

    def test_derivatives_of_the_sine(self):
        assert sin(3.14) == pytest.approx(0.0015926529164868282, rel=1e-12)
        assert deriv(sin)(3.14) == pytest.approx(-0.9999987317275395, rel=1e-14)
        assert deriv(deriv(sin))(3.14) == pytest.approx(-0.0015926529164865067, rel=1e-12)

    def test_four_derivatives_of_x_sin_x(self):
        x = np.array([i / 10 for i in range(-50, 50)])
        s, c = np.sin(x), np.cos(x)
        formulas = [x * s, s + x * c, 2 * c - x * s, -3 * s - x * c, -4 * c + x * s]
        for n, expected in enumerate(formulas):
            f = nth(n, lambda x: x * sin(x))
            np.testing.assert_allclose([f(float(a)) for a in x], expected, atol=1e-12)
            np.testing.assert_allclose(vmap(f)(x), expected, atol=1e-12)

    def test_four_derivatives_of_tanh(self):
        x = np.array([i / 25 for i in range(-100, 100)])
        t = np.tanh(x)
        d = 1 - t * t
        formulas = [t, d, -2 * t * d, (6 * t**2 - 2) * d, (16 * t - 24 * t**3) * d]
        for n, expected in enumerate(formulas):
            np.testing.assert_allclose(vmap(nth(n, tanh))(x), expected, atol=1e-11)

    def test_derivatives_of_a_polynomial_at_an_integer(self):
        def f(x):
            return 3 * x * x * x + 2 * x * x + 2 * x

        assert (deriv(f)(2), deriv(deriv(f))(2)) == (46, 40)
        assert type(deriv(f)(2)) is float

    def test_the_second_derivative_that_it_takes_in_mixed_modes(self):
        def f(x):
            return sin(x) + tanh(x) * exp(x)

        assert deriv(deriv(f))(2) == pytest.approx(6.251514736700764, rel=1e-13)

    def test_a_container_as_input(self):
        def f(inputs):
            x, y = inputs
            return tanh(x) + y

        assert jvp(f, ((6.0, 9.0),), ((1.0, 1.0),))[1] == pytest.approx(1 + 1 / math.cosh(6) ** 2)

    def test_a_container_as_output(self):
        def f(x, y):
            k = tanh(x) * 2.0 + y * y
            z0 = -y + k
            z1 = y * k
            return {" lets": z0, "f*in": z1, "go!": [x, y]}

        out = deriv(lambda x: f(x, 2.71))(3.14)
        assert list(out) == [" lets", "f*in", "go!"]
        assert out[" lets"] == pytest.approx(0.01493120808257803, rel=1e-12)
        assert out["f*in"] == pytest.approx(0.040463573903786465, rel=1e-12)
        assert out["go!"] == [1.0, 0.0]

    def test_flattening_and_back(self):
        x = [1, (2, {"a": 3, "b": 4}, 5), [6, 7]]
        leaves, tree = tree_flatten(x)
        assert leaves == [1, 2, 3, 4, 5, 6, 7]
        assert tree_unflatten(tree, leaves) == x

    def test_the_gradient_of_a_linear_function_forwards(self):
        def linear(state, inputs):
            total = 0
            for w, x in zip(state["weights"], inputs, strict=True):
                total = total + w * x
            return total + state["bias"]

        state = {"weights": [1.0, 2.0, 3.0], "bias": 1.0}
        inputs = [0.3, 0.5, 0.7]
        assert linear(state, inputs) == 4.3999999999999995
        assert jacfwd(linear)(state, inputs) == {"bias": 1.0, "weights": [0.3, 0.5, 0.7]}

    def test_its_derivatives_of_integers_were_no_floats(self):
        assert type(deriv(lambda x: x)(3)) is float
        assert type(deriv(lambda x: 5.0)(3)) is float
        assert deriv(lambda x: 5)(3).dtype == float0  # an integer result cannot change


class TestWhyIsEveryoneSoExcited:
    def test_the_derivative_of_the_sine_is_the_cosine(self):
        _, slope = jvp(sin, (3.0,), (1.0,))
        assert slope == cos(3.0) == np.cos(3.0)

    def test_nested_results(self):
        def f(x):
            y = 3.0 * sin(x) * cos(x)
            z = x * x + y * y
            return {"Rick": z, "Astley": [x, y]}

        x, x_dot = 1.0, 1.5
        y, y_dot = jvp(f, (x,), (x_dot,))
        s = 1.5 * math.sin(2 * x)
        s_dot = 3.0 * math.cos(2 * x) * x_dot
        assert y == {"Rick": pytest.approx(x * x + s * s), "Astley": [x, pytest.approx(s)]}
        assert y_dot["Rick"] == pytest.approx(2 * x * x_dot + 2 * s * s_dot)
        assert y_dot["Astley"] == [1.5, pytest.approx(s_dot)]

    def test_adding_to_each_of_420_scalars(self):
        def add_to_a_scalar(scalar):
            assert np.ndim(scalar) == 0
            return 69 + scalar

        np.testing.assert_array_equal(
            vmap(add_to_a_scalar, (0,))(np.arange(420.0)), np.arange(69.0, 489.0)
        )

    def test_greater_and_less_have_their_rule_for_vmap(self):
        x = np.array([1.0, 2.0, 3.0])
        np.testing.assert_array_equal(vmap(lambda x: x > 2.0)(x), x > 2.0)
        np.testing.assert_array_equal(vmap(lambda x: x < 2.0)(x), x < 2.0)

    def test_transpose_has_its_rule_for_jvp(self):
        x = np.arange(6.0).reshape(2, 3)
        out, tangent = jvp(lambda x: transpose(x, (1, 0)), (x,), (2 * x,))
        np.testing.assert_array_equal(out, x.T)
        np.testing.assert_array_equal(tangent, 2 * x.T)

    def test_broadcast_has_its_rules_for_jvp_and_vmap(self):
        def spread(x):
            return broadcast_in_dim(x, (2, 3), (1,))

        x = np.arange(3.0)
        np.testing.assert_array_equal(jvp(spread, (x,), (2 * x,))[1], [2 * x, 2 * x])
        np.testing.assert_array_equal(vmap(spread)(np.stack([x, -x])), [[x, x], [-x, -x]])

    def test_unmapped_arguments_of_any_rank_are_repeated(self):
        """Its `move_axis` asked numpy for `np.dim`, which does not exist."""
        row = np.array([1.0, 0.0])
        x, m = np.arange(3.0), np.arange(6.0).reshape(2, 3)

        def f(x, m):
            return x + row @ m

        np.testing.assert_array_equal(vmap(f, (0, None))(x, m), x[:, None] + m[0])
        np.testing.assert_array_equal(vmap(f, (None, 1))(x, m), x + m[0][:, None])
        np.testing.assert_array_equal(vmap(f, (0, 1))(x, m), x + m[0])


def test_the_network_of_the_rigorous_look_with_a_primitive_of_ones_own():
    """norm(arctan(W x + b) - y)^2, whose derivative the document writes down by hand."""
    arctan_p = Primitive("arctan")
    impl_rules[arctan_p] = lambda x: [np.arctan(x)]
    defjvp(arctan_p, lambda t, out, x: t * reciprocal(1.0 + x * x))

    rng = np.random.default_rng(0)
    w, b, x, y = (rng.normal(size=shape) for shape in ((3, 4), 3, 4, 3))

    def f(x):
        e = bind1(arctan_p, w @ x + b) - y
        return reduce_sum(e * e)

    by_hand = 2 * (np.arctan(w @ x + b) - y) / (1 + (w @ x + b) ** 2) @ w
    np.testing.assert_allclose(forwards(f, x), by_hand)


def forwards(f, x):
    """The gradient, one direction at a time: no rule for vmap is needed."""
    return [jvp(f, (x,), (direction,))[1] for direction in np.eye(len(x))]
