"""Claims of the tutorials that glassjax builds on, where they need more than one stage.

Each number stands in the document named by the class. The stages' own tests have the rest.
"""

import math

import numpy as np
import pytest

import glassjax_stage1 as s1
from glassjax_stage2 import (
    Primitive,
    bind1,
    cos,
    defjvp,
    deriv,
    exp,
    impl_rules,
    jvp,
    mul,
    neg,
    reciprocal,
    reduce_sum,
    sin,
    vmap,
    vmap_rules,
)
from glassjax_stage2.vmap_rules import elementwise
from glassjax_stage3 import abstract_eval_rules, jit, lowering_rules, make_jaxpr
from glassjax_stage3.abstract_eval import unary as unary_type
from glassjax_stage3.lowering import mlir_type
from glassjax_stage4 import grad, jacrev, linearize, tape, vjp

ROADS = [grad, tape.grad]
both_roads = pytest.mark.parametrize("grad", ROADS, ids=["transposition", "tape"])


def sigmoid(x):
    return 1 / (1 + exp(-x))


def tanh(x):
    return 2 * sigmoid(2 * x) - 1


class TestAutodidax2:
    """Stage 1's program runs, unchanged, under every interpreter that came later."""

    @staticmethod
    def foo(x):
        return s1.mul(x, s1.add(x, 3.0))

    def test_every_transformation_takes_it(self):
        foo = self.foo
        assert foo(2.0) == 10.0
        assert s1.jvp(foo, 2.0, 1.0) == (10.0, 7.0)
        assert jvp(foo, (2.0,), (1.0,)) == (10.0, 7.0)
        assert [f(2.0) for f in (deriv(foo), grad(foo), tape.grad(foo))] == [7.0] * 3
        assert deriv(grad(foo))(2.0) == grad(deriv(foo))(2.0) == 2.0
        assert jit(foo)(2.0) == 10.0
        assert linearize(foo, 2.0)[1](1.0) == 7.0
        np.testing.assert_array_equal(vmap(foo)(np.arange(3.0)), [0.0, 4.0, 10.0])
        assert [str(eqn.primitive) for eqn in make_jaxpr(foo)(2.0).eqns] == ["add", "mul"]

    @both_roads
    def test_derivatives_of_every_order(self, grad):
        def nth(n):
            f = self.foo
            for _ in range(n):
                f = grad(f)
            return f(2.0)

        assert [nth(n) for n in range(5)] == [10.0, 7.0, 2.0, 0.0, 0.0]

    @pytest.mark.parametrize("inner", [deriv, grad, tape.grad])
    @pytest.mark.parametrize("outer", [deriv, grad, tape.grad])
    def test_perturbations_are_not_confused(self, outer, inner):
        """The inner derivative is that of a constant, though the outer one varies with x."""

        assert outer(lambda x: s1.mul(x, inner(lambda y: x)(0.0)))(0.0) == 0.0
        assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0


class TestMicroJax:
    @both_roads
    def test_gradients_of_a_polynomial(self, grad):
        def f(x):
            return 3 * x * x * x + 2 * x * x + 2 * x

        assert grad(f)(2.0) == 46.0
        assert grad(grad(f))(2.0) == 40.0

    @pytest.mark.parametrize("backward", [grad, tape.grad, jacrev])
    def test_forward_on_backward_is_backward_on_forward(self, backward):
        def f(x):
            return sin(x) + tanh(x) * exp(x)

        assert deriv(backward(f))(2.0) == pytest.approx(6.251514736700764, rel=1e-14)
        assert backward(deriv(f))(2.0) == pytest.approx(6.251514736700765, rel=1e-14)
        assert jit(deriv(backward(f)))(2.0) == pytest.approx(6.251514736700765, rel=1e-13)

    @both_roads
    def test_four_derivatives_of_x_sin_x_in_reverse_mode(self, grad):
        x = np.arange(-50, 50) / 10
        s, c = np.sin(x), np.cos(x)
        f = lambda x: x * sin(x)  # noqa: E731
        for expected in (s + x * c, 2 * c - x * s, -3 * s - x * c, -4 * c + x * s):
            f = grad(f)
            np.testing.assert_allclose(vmap(f)(x), expected, atol=1e-12)
            np.testing.assert_allclose(jit(vmap(f))(x), expected, atol=1e-12)

    @both_roads
    def test_four_derivatives_of_tanh_in_reverse_mode(self, grad):
        x = np.arange(-100, 100) / 25
        t = np.tanh(x)
        d = 1 - t * t
        f = tanh
        for expected in (d, -2 * t * d, (6 * t**2 - 2) * d, (16 * t - 24 * t**3) * d):
            f = grad(f)
            np.testing.assert_allclose(vmap(f)(x), expected, atol=1e-11)

    @both_roads
    def test_results_in_nested_containers(self, grad):
        def f(x, y):
            k = tanh(x) * 2.0 + y * y
            return {" lets": -y + k, "f*in": y * k, "go!": [x, y]}

        expected = {" lets": 0.01493120808257803, "f*in": 0.040463573903786465}
        slopes = deriv(lambda x: f(x, 2.71))(3.14)
        assert slopes["go!"] == [1.0, 0.0]
        for key, slope in expected.items():
            assert slopes[key] == pytest.approx(slope, rel=1e-12)
            assert grad(lambda x, key=key: f(x, 2.71)[key])(3.14) == pytest.approx(slope, rel=1e-12)

    @both_roads
    def test_the_linear_model(self, grad):
        def linear(state, inputs):
            products = [w * x for w, x in zip(state["weights"], inputs, strict=True)]
            return sum(products) + state["bias"]

        state, inputs = {"weights": [1.0, 2.0, 3.0], "bias": 1.0}, [0.3, 0.5, 0.7]
        assert linear(state, inputs) == 4.3999999999999995
        gradient = grad(linear)(state, inputs)
        assert gradient == {"bias": 1.0, "weights": [0.3, 0.5, 0.7]}
        assert grad(linear, argnums=(0, 1))(state, inputs) == (gradient, [1.0, 2.0, 3.0])


class TestAJaxReTold:
    """ "JAX: why is everyone so excited": the programs of its parts 3 and 4."""

    def test_jit_of_a_function_that_prints_only_when_it_is_traced(self):
        seen = []

        @jit
        def f(x, y):
            seen.append("tracing")
            return sin(x) * cos(y)

        for x, y in ((3.0, 4.0), (4.0, 5.0)):
            assert f(x, y) == pytest.approx(math.sin(x) * math.cos(y), rel=1e-12)
        assert seen == ["tracing"]

    def test_jit_under_forward_and_reverse_mode_and_vmap(self):
        @jit
        def f(x):
            return neg(sin(x) * 2.0) + x

        slope = 1 - 2 * math.cos(3.0)
        assert deriv(f)(3.0) == pytest.approx(slope, rel=1e-12)
        assert grad(f)(3.0) == pytest.approx(slope, rel=1e-12)
        assert grad(deriv(f))(3.0) == pytest.approx(2 * math.sin(3.0), rel=1e-12)
        xs = np.arange(3.0)
        np.testing.assert_allclose(vmap(grad(f))(xs), 1 - 2 * np.cos(xs), rtol=1e-12)

    def test_linearize_evaluates_once(self):
        y, f_jvp = linearize(sin, 3.0)
        assert (y, f_jvp(1.0)) == (math.sin(3.0), math.cos(3.0))

    def test_gradients_through_python_control_flow(self):
        def f(x):
            y = sin(x) * 2.0
            z = neg(y) + x if x > 0.0 else y * y
            return z

        assert grad(f)(3.0) == pytest.approx(1 - 2 * math.cos(3.0))
        assert grad(f)(-3.0) == pytest.approx(8 * math.sin(-3.0) * math.cos(-3.0))


class TestVectorJacobianProducts:
    """A row covector, sent back through each operation by its own rule, is the gradient."""

    W, bias, y, x = map(np.random.default_rng(0).normal, [0] * 4, [1] * 4, [(4, 3), 4, 4, 3])

    def test_a_network_by_hand_is_grad(self):
        """The rules of the document: a covector is a row, and rules multiply from the left."""
        W, x = self.W, self.x
        a = W @ x
        b = a + self.bias
        c = np.arctan(b)
        d = c - self.y
        row = np.ones((1, 4))  # of the sum
        row = row * (2 * d).reshape(1, -1)  # of the square
        row = row * (1 / (1 + b**2)).reshape(1, -1)  # of arctan; constants change nothing
        row = row @ W  # of the matrix product
        gradient = row.T[:, 0]

        arctan = primitive_of_ones_own()

        def network(x):
            d = arctan(W @ x + self.bias) - self.y
            return reduce_sum(d * d)

        for f in (grad(network), jit(grad(network)), grad(jit(network)), jacrev(network)):
            np.testing.assert_allclose(f(x), gradient, rtol=1e-12)
        np.testing.assert_allclose(
            deriv(lambda t: network(x + t * gradient))(0.0), gradient @ gradient, rtol=1e-12
        )

    def test_each_rule_is_covector_times_jacobian(self):
        arctan = primitive_of_ones_own()
        for f in (lambda x: x - self.x, lambda x: x * x, arctan, lambda x: self.W @ x):
            jacobian = jacrev(f)(self.x)
            out, f_vjp = vjp(f, self.x)
            covector = np.cos(np.arange(out.size))
            np.testing.assert_allclose(f_vjp(covector)[0], covector @ jacobian, rtol=1e-12)

    def test_a_transpose_is_no_inverse(self):
        """The document corrects itself: sending a vector there and back is not the identity."""
        f = lambda x: self.W @ x  # noqa: E731
        _, f_vjp = vjp(f, self.x)
        there_and_back = f_vjp(f(self.x))[0]
        np.testing.assert_allclose(there_and_back, self.W.T @ self.W @ self.x, rtol=1e-12)
        assert not np.allclose(there_and_back, self.x)

    def test_a_primitive_of_ones_own_under_every_transformation(self):
        arctan = primitive_of_ones_own()
        xs = np.linspace(-2.0, 2.0, 5)
        slopes = 1 / (1 + xs**2)
        np.testing.assert_allclose(jit(arctan)(xs), np.arctan(xs), rtol=1e-12)
        for f in (vmap(grad(arctan)), jit(vmap(grad(arctan))), vmap(jit(grad(arctan)))):
            np.testing.assert_allclose(f(xs), slopes, rtol=1e-12)
        np.testing.assert_allclose(vmap(grad(grad(arctan)))(xs), -2 * xs * slopes**2, atol=1e-12)


def primitive_of_ones_own():
    """`arctan` with a rule in each column: a line or two for each."""
    arctan_p = Primitive("arctan")

    def arctan(x):
        return bind1(arctan_p, x)

    def lower(b, out_avals, x):
        type_ = mlir_type(x.aval)
        (one,) = b.emit(f"stablehlo.constant dense<1.0> : {type_}", x.aval)
        return b.emit(f"stablehlo.atan2 {x.name}, {one.name} : {type_}", *out_avals)

    impl_rules[arctan_p] = lambda x: [np.arctan(x)]
    defjvp(arctan_p, lambda t, out, x: mul(t, reciprocal(1.0 + x * x)))
    vmap_rules[arctan_p] = elementwise(arctan_p)
    abstract_eval_rules[arctan_p] = unary_type(arctan_p)
    lowering_rules[arctan_p] = lower
    return arctan
