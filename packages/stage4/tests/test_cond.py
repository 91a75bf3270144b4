"""`cond` under every interpreter: the branch that is chosen decides, and only that one runs."""

import itertools

import numpy as np
import pytest

from glassjax_stage2 import (
    ConcretizationTypeError,
    Primitive,
    bind1,
    cos,
    impl_rules,
    jvp,
    log,
    reduce_sum,
    sin,
    vmap,
    vmap_rules,
)
from glassjax_stage3 import abstract_eval_rules, array, jit, make_jaxpr, typecheck_jaxpr
from glassjax_stage4 import cond, cond_p, grad, hessian, jacrev, linear_transpose, linearize, vjp

x3 = np.array([0.5, 1.0, 2.0])
batch = np.array([-1.0, 0.5, 2.0, -3.0])


def f(x, y=2.0):
    return cond(x > 1.0, lambda x: sin(x) * y, lambda x: x * x * x, x)


def by_hand(x):
    return np.sin(x) * 2 if x > 1 else x**3


def first(x):
    return np.cos(x) * 2 if x > 1 else 3 * x**2


def second(x):
    return -np.sin(x) * 2 if x > 1 else 6 * x


noted = []
noting_p = Primitive("noting")
impl_rules[noting_p] = lambda x, *, name: [noted.append(name) or x]
abstract_eval_rules[noting_p] = lambda x, *, name: [x]
vmap_rules[noting_p] = lambda size, values, dims, *, name: ([noting(name)(*values)], dims)


def noting(name):
    return lambda x: bind1(noting_p, x, name=name)


# Evaluation.


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_it_chooses(x):
    assert f(x) == by_hand(x)


@pytest.mark.parametrize(
    ("pred", "expected"),
    [
        (True, 1.0),
        (np.bool_(False), 0.0),
        (3, 1.0),
        (0, 0.0),
        (0.5, 1.0),
        (np.array(0.0), 0.0),
        (np.float32(2), 1.0),
        (array(True), 1.0),
        (array(0), 0.0),
    ],
)
def test_a_number_counts_as_true_unless_it_is_zero(pred, expected):
    assert cond(pred, lambda: 1.0, lambda: 0.0) == expected


@pytest.mark.parametrize("pred", [True, False])
def test_only_the_branch_that_is_chosen_runs(pred):
    noted.clear()
    cond(pred, noting(True), noting(False), 1.0)
    assert noted == [pred]


def test_operands_and_results_are_trees():
    def pick(p, tree, x):
        return cond(
            p,
            lambda t, x: {"out": t["a"] + x, "more": [t["b"][0], 1]},
            lambda t, x: {"out": t["a"] - x, "more": [2.0 * t["b"][0], 0]},
            tree,
            x,
        )

    tree = {"a": x3, "b": (2.0, None)}
    np.testing.assert_array_equal(pick(True, tree, 1.0)["out"], x3 + 1)
    out = pick(False, tree, 1.0)
    np.testing.assert_array_equal(out["out"], x3 - 1)
    assert out["more"] == [4.0, 0]


def test_results_may_be_none_at_all_or_constants_or_operands():
    assert cond(True, lambda: None, lambda: None) is None
    assert cond(True, lambda x: (), lambda x: (), 1.0) == ()
    assert cond(True, lambda x, y: (y, x, y), lambda x, y: (x, x, 3.0), 1.0, 2.0) == (2.0, 1.0, 2.0)
    assert jit(lambda p: cond(p, lambda: None, lambda: None))(True) is None


def test_arrays_closed_over_become_operands():
    a, b = np.arange(3.0), np.ones(3)
    for p in (True, False):
        out = cond(p, lambda x: a * x, lambda x: b + a * x, 2.0)
        np.testing.assert_array_equal(out, a * 2 + (0 if p else b))
    closed = make_jaxpr(lambda p: cond(p, lambda: a, lambda: b))(True)
    typecheck_jaxpr(closed)
    (eqn,) = closed.eqns
    assert len(eqn.invars) == 3
    assert [branch.constvars for branch in eqn.params["branches"]] == [[], []]


# Types.


def test_integer_operands_and_results():
    def g(x, n):
        return cond(n > 2, lambda x, n: (x * n, n), lambda x, n: (x, n + 1), x, n)

    assert g(2.0, 3) == (6.0, 3)
    assert jvp(lambda x: g(x, 3), (2.0,), (1.0,))[1][0] == 3.0
    assert grad(lambda x: g(x, 3)[0])(2.0) == 3.0
    assert grad(lambda x: g(x, 1)[0])(2.0) == 1.0
    np.testing.assert_array_equal(vmap(g)(batch, np.arange(4))[1], [1, 2, 3, 3])
    np.testing.assert_array_equal(
        vmap(grad(lambda x, n: g(x, n)[0]))(batch, np.arange(4)), [1, 1, 1, 3]
    )


# The transformations.


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_jvp(x):
    assert jvp(f, (x,), (3.0,)) == (by_hand(x), pytest.approx(3 * first(x)))


def test_a_tangent_that_one_branch_does_not_have_is_zero_there():
    def g(p, x, y):
        return cond(p, lambda x, y: (x, y, 1.0), lambda x, y: (y, 5.0, 1.0), x, y)

    for p, expected in ((True, (3.0, 0.0, 0.0)), (False, (0.0, 0.0, 0.0))):
        assert jvp(lambda x, p=p: g(p, x, 2.0), (1.0,), (3.0,))[1] == expected
    jaxpr = make_jaxpr(lambda p, x: jvp(lambda x: g(p, x, 2.0), (x,), (1.0,)))(True, 1.0)
    typecheck_jaxpr(jaxpr)
    assert len(jaxpr.eqns[0].outvars) == 4  # three results, and the one tangent that is not zero


def test_vmap_over_the_operands_stays_a_choice():
    def g(p, x, y):
        return cond(p, lambda x, y: (x * y, y), lambda x, y: (x, y), x, y)

    jaxpr = make_jaxpr(lambda p: vmap(lambda x: g(p, x, 2.0))(batch))(True)
    assert cond_p in [eqn.primitive for eqn in jaxpr.eqns]
    for p in (True, False):
        out, y = vmap(g, (None, 0, None))(p, batch, 2.0)
        np.testing.assert_array_equal(out, batch * 2 if p else batch)
        np.testing.assert_array_equal(y, np.full(4, 2.0))
    noted.clear()
    vmap(lambda x: cond(True, noting(1), noting(2), x))(batch)
    assert noted == [1]


def test_vmap_over_the_predicate_computes_both_and_selects():
    np.testing.assert_allclose(vmap(f)(batch), [by_hand(x) for x in batch])
    rows = np.stack([batch, batch + 1], axis=1)

    def g(p, row):
        return cond(p, lambda r: (r, reduce_sum(r)), lambda r: (-r, 0.0), row)

    out, total = vmap(g, (0, 0))(batch > 0, rows)
    np.testing.assert_array_equal(out, np.where((batch > 0)[:, None], rows, -rows))
    np.testing.assert_array_equal(total, np.where(batch > 0, rows.sum(1), 0))
    out, _ = vmap(g, (0, None))(batch > 0, rows[0])
    np.testing.assert_array_equal(out, np.where((batch > 0)[:, None], rows[0], -rows[0]))
    jaxpr = make_jaxpr(vmap(f))(batch)
    assert cond_p not in [eqn.primitive for eqn in jaxpr.eqns]


def test_a_branch_that_is_not_taken_has_no_derivative():
    """The slope of log at 0 is infinite, and 0 times infinity would not be a number."""

    def g(x, w):
        return cond(x > 0.0, lambda x, w: log(w * x), lambda x, w: w * x, x, w)

    xs = np.array([-1.0, 0.0, 2.0])

    def total(xs, w):
        return reduce_sum(vmap(g, (0, None))(xs, w))

    expected = [3.0, 3.0, 0.5], -1.0 + 0.0 + 1.0 / 3.0
    for gradient in (grad(total, (0, 1)), jit(grad(total, (0, 1))), grad(jit(total), (0, 1))):
        for found, by_example in zip(gradient(xs, 3.0), expected, strict=True):
            np.testing.assert_allclose(found, by_example)
    np.testing.assert_allclose(jacrev(vmap(lambda x: g(x, 3.0)))(xs), np.diag(expected[0]))


def test_vmap_of_vmap_with_predicates_of_one_axis_or_both():
    ps = batch > 0
    expected = np.where(ps[:, None], np.sin(x3), x3 * 2)

    def g(p, x):
        return cond(p, sin, lambda x: 2.0 * x, x)

    np.testing.assert_allclose(vmap(vmap(g, (None, 0)), (0, None))(ps, x3), expected)
    np.testing.assert_allclose(vmap(vmap(g, (0, None)), (None, 0), 1)(ps, x3), expected)


def test_lowering_is_one_if_with_a_call_in_each_region():
    jitted = jit(f)
    np.testing.assert_allclose([jitted(0.5), jitted(2.0)], [by_hand(0.5), by_hand(2.0)])
    text = jitted.lower(1.0).as_text()
    assert text.count('"stablehlo.if"') == 1
    assert text.count("func.call @branch") == 2
    assert text.count("func.func private") == 2


def test_linearize_and_transposition():
    for x in (0.5, 2.0):
        out, f_jvp = linearize(f, x)
        assert (out, f_jvp(3.0)) == (by_hand(x), pytest.approx(3 * first(x)))
        assert vjp(f, x)[1](3.0)[0] == pytest.approx(3 * first(x))
        np.testing.assert_allclose(grad(f, (0, 1))(x, 2.0)[1], np.sin(x) if x > 1 else 0.0)

    def linear(p):
        return lambda x, y: cond(p, lambda x, y: 2.0 * x, lambda x, y: x - 3.0 * y, x, y)

    assert linear_transpose(linear(True), 1.0, 1.0)(5.0) == (10.0, 0.0)
    assert linear_transpose(linear(False), 1.0, 1.0)(5.0) == (5.0, -15.0)


def test_the_derivative_chooses_again_and_does_not_run_the_other_branch():
    """Both halves are a cond of the same predicate."""
    jaxpr = make_jaxpr(grad(f))(1.0)
    typecheck_jaxpr(jaxpr)
    conds = [eqn for eqn in jaxpr.eqns if eqn.primitive is cond_p]
    assert len(conds) == 2
    assert conds[0].invars[0] is conds[1].invars[0]


ORDERS = [order for n in (1, 2, 3) for order in itertools.permutations(("jit", "vmap", "grad"), n)]


@pytest.mark.parametrize("order", ORDERS, ids=".".join)
def test_every_order_of_jit_vmap_and_grad(order):
    """The first transformation is applied first; grad of a batch is grad of its sum."""
    composed, is_batched, expected = f, False, by_hand
    for name in order:
        if name == "jit":
            composed = jit(composed)
        elif name == "vmap":
            composed, is_batched = vmap(composed), True
        else:
            expected = first
            composed = grad(summed(composed) if is_batched else composed)
    for x in (0.5, 2.0) if not is_batched else (batch,):
        np.testing.assert_allclose(composed(x), np.vectorize(expected)(x), rtol=1e-12)


def summed(f):
    return lambda x: reduce_sum(f(x))


def test_second_derivatives():
    for g in (grad(grad(f)), grad(jit(grad(f))), hessian(f), hessian(jit(f))):
        for x in (0.5, 2.0):
            np.testing.assert_allclose(g(x), second(x))
    np.testing.assert_allclose(vmap(grad(grad(f)))(batch), [second(x) for x in batch])
    np.testing.assert_allclose(jacrev(vmap(f))(batch), np.diag([first(x) for x in batch]))


# Nesting and closures.


def nested(x):
    return cond(
        x > 0.0,
        lambda x: cond(x > 1.0, lambda x: x * 3.0, lambda x: x * x, x),
        lambda x: jit(lambda x: cond(x > -1.0, sin, lambda x: -x, x))(x),
        x,
    )


def nested_by_hand(x):
    return (x * 3 if x > 1 else x * x) if x > 0 else (np.sin(x) if x > -1 else -x)


def nested_first(x):
    return (3 if x > 1 else 2 * x) if x > 0 else (np.cos(x) if x > -1 else -1)


def test_nested_choices():
    xs = [-2.0, -0.5, 0.5, 2.0]
    expected, slopes = [nested_by_hand(x) for x in xs], [nested_first(x) for x in xs]
    np.testing.assert_allclose(vmap(nested)(np.array(xs)), expected)
    np.testing.assert_allclose(vmap(grad(nested))(np.array(xs)), slopes)
    jitted, gradient = jit(nested), jit(grad(nested))
    np.testing.assert_allclose([jitted(x) for x in xs], expected)
    np.testing.assert_allclose([gradient(x) for x in xs], slopes)
    np.testing.assert_allclose([grad(nested)(x) for x in xs[2:]], slopes[2:])


def test_closures_over_tracers():
    def g(x, y):
        return cond(x > 1.0, lambda: x * y, lambda: y * y)

    assert grad(g, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert grad(g, (0, 1))(0.5, 3.0) == (0.0, 6.0)
    np.testing.assert_allclose(vmap(g, (0, None))(batch, 3.0), [9, 9, 6, 9])
    np.testing.assert_allclose(vmap(grad(g), (0, None))(batch, 3.0), [0, 0, 3, 0])
    assert jit(g)(2.0, 3.0) == 6.0
    assert grad(lambda y: vmap(lambda x: g(x, y))(batch) @ np.ones(4))(3.0) == 6 * 3 + 2.0


def test_the_predicate_is_a_constant_to_derivatives():
    p_bar, x_bar = vjp(lambda p, x: cond(p, sin, cos, x), 1.0, 2.0)[1](1.0)
    assert (p_bar, x_bar) == (0.0, np.cos(2.0))


def test_zero_cotangents_of_some_results():
    def g(x):
        a, _ = cond(x > 0.0, lambda x: (x * x, sin(x)), lambda x: (x, x), x)
        return a

    assert grad(g)(3.0) == 6.0
    assert grad(g)(-3.0) == 1.0


def test_a_weak_residual_of_one_branch_keeps_the_programs_well_typed():
    """The zeros that stood for it in the other branch had another type."""
    jaxpr = make_jaxpr(grad(lambda x: cond(x > 1.0, lambda x: sin(x) * x, lambda x: x, x)))(2.0)
    typecheck_jaxpr(jaxpr)


def test_branching_in_python_names_cond_as_the_way_out():
    with pytest.raises(ConcretizationTypeError, match="cond"):
        jit(lambda x: x if x > 0 else -x)(1.0)


# What does not fit.


def true_branch(x):
    return x, np.ones(3)


def test_the_first_result_whose_types_differ_is_named():
    def false_branch(x):
        return x, np.ones((3, 1))

    with pytest.raises(TypeError) as info:
        cond(True, true_branch, false_branch, np.arange(2))
    assert str(info.value) == (
        "cond: `true_branch` and `false_branch` must return the same types, but result[1] is "
        "f64[3] of the first and f64[3,1] of the second. Convert one of them, by astype or reshape."
    )


def test_a_python_number_and_an_array_of_its_dtype_have_one_type():
    for p in (True, False):
        assert cond(p, lambda x: x, lambda x: 0.0, np.float64(2)) == 2.0 * p
        assert type(cond(p, lambda x: x, lambda x: 2 * x, 1.0)) is float
    assert make_jaxpr(lambda p: cond(p, lambda: 1, lambda: 2))(True).out_avals[0].weak_type
    mixed = make_jaxpr(lambda p, x: cond(p, lambda: x, lambda: 0.0))(True, np.float64(2))
    assert not mixed.out_avals[0].weak_type


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cond(np.ones(2) > 0, sin, cos, 1.0),
            "cond: pred must be a scalar, found bool[2]. To choose element by element use "
            "where(pred, x, y); to choose for each example of a batch use vmap.",
        ),
        (lambda: cond("yes", sin, cos, 1.0), "found 'yes' of type str"),
        (
            lambda: cond(True, true_branch, sin, 1.0),
            "cond: `true_branch` and `sin` must return the same tree",
        ),
        (lambda: cond(True, sin, cos, "x"), "cond of `sin`: argument x: expected an array"),
        (lambda: cond(True, lambda x: "x", cos, 1.0), "result of `<lambda>`: expected an array"),
        (lambda: cond(True, sin, cos), "missing 1 required positional argument"),
        (lambda: cond(True, 1, cos, 1.0), "cond: expected a function, found 1"),
    ],
)
def test_calls_that_do_not_fit(call, message):
    with pytest.raises(TypeError) as info:
        call()
    assert message in str(info.value)
