"""Transposition of programs: `linear_transpose`, `backward_pass`, and what is not linear."""

import numpy as np
import pytest

from glassjax_stage2 import (
    Primitive,
    ShapedArray,
    Zero,
    astype,
    bind1,
    cos,
    defjvp,
    dot_general,
    impl_rules,
    jvp,
    matmul,
    neg,
    reduce_sum,
    reshape,
    sin,
    tree_leaves,
    vmap,
    where,
)
from glassjax_stage3 import abstract_eval_rules, jit, make_jaxpr
from glassjax_stage4 import (
    NonlinearError,
    UndefPrimal,
    backward_pass,
    cond,
    deftranspose,
    grad,
    linear_transpose,
)

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 4))
v = rng.normal(size=4)
ct = rng.normal(size=3)
mask = np.array([True, False, True, True])

LINEAR_PROGRAMS = [
    lambda x: A @ x,
    lambda x: (A @ x) @ A,
    lambda x: where(mask, 2.0 * x, -x),
    lambda x: reduce_sum(x * v),
    lambda x: reshape(x + x, (2, 2)) @ np.ones((2, 3)),
    lambda x: {"a": [x, reduce_sum(x)], "b": -x},
    lambda x: astype(astype(x, np.float32), np.float64),
    lambda x: jit(lambda x: A @ x)(x * 3.0),
    lambda x: cond(mask[0], lambda x: x @ A.T, lambda x: ct * reduce_sum(x), x),
    lambda x: vmap(lambda row: dot_general(row, x, (((0,), (0,)), ((), ()))))(A),
    lambda x: jvp(lambda y: sin(y) * v, (v,), (x,))[1],
    lambda x: jvp(jit(lambda y: sin(y) * v), (v,), (x,))[1],
    lambda x: linear_transpose(lambda y: y @ A, ct)(x)[0],
]


def inner(tree, other):
    pairs = zip(tree_leaves(tree), tree_leaves(other), strict=True)
    return sum(np.sum(np.asarray(a) * np.asarray(b)) for a, b in pairs)


def random_like(tree):
    if isinstance(tree, dict):
        return {key: random_like(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [random_like(value) for value in tree]
    return rng.normal(size=np.shape(tree))


@pytest.mark.parametrize("f", LINEAR_PROGRAMS)
def test_the_definition_and_that_twice_is_once(f):
    y = f(v)
    y_bar = random_like(y)
    fT = linear_transpose(f, v)
    (x_bar,) = fT(y_bar)
    narrow = 1e-6 if f is LINEAR_PROGRAMS[6] else 1e-12
    np.testing.assert_allclose(inner(y_bar, y), inner(x_bar, v), rtol=narrow)
    fTT = linear_transpose(lambda y_bar: fT(y_bar)[0], y_bar)
    for found, expected in zip(tree_leaves(fTT(v)), tree_leaves(y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=narrow)


def test_the_transpose_of_a_matrix_is_the_transposed_matrix():
    rows = vmap(linear_transpose(lambda x: A @ x, v))(np.eye(3))[0]
    np.testing.assert_allclose(rows, A)


def test_the_transpose_of_a_composition_is_the_composition_in_reverse_order():
    B = rng.normal(size=(2, 3))
    (x_bar,) = linear_transpose(lambda x: B @ (A @ x), v)(np.ones(2))
    (mid,) = linear_transpose(lambda y: B @ y, ct)(np.ones(2))
    np.testing.assert_allclose(x_bar, linear_transpose(lambda x: A @ x, v)(mid)[0])
    np.testing.assert_allclose(x_bar, np.ones(2) @ B @ A)


def test_a_transpose_is_no_inverse():
    """Unless the matrix is orthogonal, going back is not coming home."""
    (back,) = linear_transpose(lambda x: A @ x, v)(A @ v)
    np.testing.assert_allclose(back, A.T @ A @ v)
    assert not np.allclose(back, v)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    (home,) = linear_transpose(lambda x: turn @ x, v[:2])(turn @ v[:2])
    np.testing.assert_allclose(home, v[:2])


def test_arguments_of_several_structures():
    def f(p, x):
        return p["w"] + matmul(A, x), 2.0 * p["s"]

    p = {"w": np.zeros(3), "s": np.float32(0)}
    p_bar, x_bar = linear_transpose(f, p, np.zeros(4))((ct, np.float32(5)))
    np.testing.assert_allclose(p_bar["w"], ct)
    assert (p_bar["s"], p_bar["s"].dtype) == (10.0, np.float32)
    np.testing.assert_allclose(x_bar, ct @ A)


def test_an_argument_that_is_not_used_has_the_zero_cotangent():
    x_bar, y_bar = linear_transpose(lambda x, y: neg(x), v, ct)(v)
    np.testing.assert_array_equal(x_bar, -v)
    np.testing.assert_array_equal(y_bar, np.zeros(3))


def test_arguments_that_are_known_may_be_used_in_any_way():
    """A program is transposed in some of its arguments, and may be nonlinear in the others."""
    closed = make_jaxpr(lambda a, x: sin(a) * x + jit(lambda a, x: cos(a) * a * x)(a, x))(2.0, 1.0)
    cts = backward_pass(closed, [2.0, UndefPrimal(closed.in_avals[1])], [1.0])
    assert cts[0] is None
    np.testing.assert_allclose(cts[1], np.sin(2.0) + np.cos(2.0) * 2.0)


def test_zeros_are_not_computed_with():
    """Nothing runs for a result whose cotangent is zero, not even the rule."""
    closed = make_jaxpr(lambda x: (2.0 * x, sin(x)))(1.0)
    (x_bar,) = backward_pass(
        closed, [UndefPrimal(closed.in_avals[0])], [1.0, Zero(closed.out_avals[1])]
    )
    assert x_bar == 2.0
    (x_bar,) = backward_pass(
        closed, [UndefPrimal(closed.in_avals[0])], list(map(Zero, closed.out_avals))
    )
    assert isinstance(x_bar, Zero)


def test_it_nests_with_every_other_transformation():
    def pull(ct, a):
        return linear_transpose(lambda x: a * x, 1.0)(ct)[0]

    assert pull(2.0, 3.0) == 6.0
    assert grad(pull, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert jvp(pull, (2.0, 3.0), (1.0, 1.0)) == (6.0, 5.0)
    np.testing.assert_array_equal(vmap(pull)(v, v), v * v)
    np.testing.assert_array_equal(jit(pull)(2.0, 3.0), 6.0)


NONLINEAR = [
    (lambda x: sin(x), "the primitive `sin` has no rule for transposition, so it is taken not to"),
    (
        lambda x: x * x,
        "through `mul`, which is not linear in operand 0 and operand 1. To differentiate",
    ),
    (lambda x: x @ x, "through `dot_general`, which is not linear in operand 0 and operand 1"),
    (lambda x: 1.0 / x, "through `div`, which is not linear in operand 1"),
    (lambda x: where(x > 0.0, 1.0, 0.0), "through `select_n`, which is not linear in operand 0"),
    (lambda x: jit(lambda x: x * x)(x), "`mul`, which is not linear in operand 0 and operand 1"),
    (
        lambda x: cond(True, lambda x: x * x, lambda x: x, x),
        "`mul`, which is not linear in operand 0 and operand 1",
    ),
]


@pytest.mark.parametrize(("f", "message"), NONLINEAR)
def test_a_function_that_is_not_linear_is_an_error(f, message):
    x = np.ones(3)
    fT = linear_transpose(f, x)
    with pytest.raises(NonlinearError) as info:
        fT(np.ones(np.shape(f(x))))
    assert message in str(info.value)


def test_a_predicate_that_depends_on_the_linear_arguments_is_an_error():
    fT = linear_transpose(lambda x: cond(x > 0.0, lambda x: x, lambda x: 2.0 * x, x), 1.0)
    with pytest.raises(NonlinearError, match="`cond`, which is not linear in operand 0"):
        fT(1.0)


def test_the_error_for_a_primitive_products_own_says_how_to_go_on():
    reverse_p = Primitive("reverse")
    impl_rules[reverse_p] = lambda x: [np.asarray(x)[::-1]]
    abstract_eval_rules[reverse_p] = lambda x: [x]
    defjvp(reverse_p, lambda t, out, x: bind1(reverse_p, t))

    def f(x):
        return reduce_sum(bind1(reverse_p, x) * v)

    with pytest.raises(NonlinearError, match=r"deftranspose\(reverse_p, formula\)"):
        grad(f)(v)
    deftranspose(reverse_p, lambda ct, x: bind1(reverse_p, ct))
    np.testing.assert_array_equal(grad(f)(v), v[::-1])


def test_a_formula_left_out_means_not_linear_in_that_operand():
    scale_p = Primitive("scale")
    impl_rules[scale_p] = lambda n, x: [n * n * x]
    abstract_eval_rules[scale_p] = lambda n, x: [x]
    deftranspose(scale_p, None, lambda ct, n, x: bind1(scale_p, n, ct))
    assert linear_transpose(lambda x: bind1(scale_p, 3.0, x), 1.0)(2.0) == (18.0,)
    with pytest.raises(NonlinearError, match="`scale`, which is not linear in operand 0"):
        linear_transpose(lambda n: bind1(scale_p, n, 2.0), 3.0)(1.0)


@pytest.mark.parametrize(
    ("ct", "message"),
    [
        ((1.0,), "trees differ in structure at transpose of `f`: cotangent: expected dict of 1"),
        (
            {"a": np.ones(4)},
            "transpose of `f`: cotangent['a'] must have type f64[3]; found "
            "f64[4]. Tangents and cotangents have the shape and dtype of their value",
        ),
        ({"a": np.ones(3, np.float32)}, "must have type f64[3]; found f32[3]"),
    ],
)
def test_cotangents_that_do_not_fit(ct, message):
    def f(x):
        return {"a": A @ x}

    with pytest.raises(TypeError) as info:
        linear_transpose(f, v)(ct)
    assert message in str(info.value)


class TestNoEquationIsWasted:
    """Equations that a program does not need cost time at every step of its way to XLA."""

    BATCHED = ShapedArray((5, 3, 4), np.dtype(float))
    MATRIX = ShapedArray((4, 2), np.dtype(float))

    def names(self, f, *avals):
        return [eqn.primitive.name for eqn in make_jaxpr(f)(*avals).eqns]

    def test_a_matrix_is_not_repeated_for_each_of_a_batch(self):
        assert self.names(matmul, self.BATCHED, self.MATRIX) == ["dot_general"]

    @pytest.mark.parametrize("argnum", [0, 1])
    def test_the_cotangent_of_a_product_is_one_product(self, argnum):
        def cotangent(x, y, ct):
            given = [x, y]

            def product(z):
                given[argnum] = z
                return matmul(*given)

            return linear_transpose(product, (x, y)[argnum])(ct)

        out = ShapedArray((5, 3, 2), np.dtype(float))
        names = self.names(cotangent, self.BATCHED, self.MATRIX, out)
        assert [name for name in names if name != "transpose"] == ["dot_general"]
        assert names.count("transpose") <= 1
