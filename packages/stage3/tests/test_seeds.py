"""Parts 2 and 3 of "JAX: why is everyone so excited": jaxprs and jit.

Its programs, and as many tests as its code has slips.
"""

import gc
import weakref

import numpy as np
import pytest

from glassjax_stage2 import (
    ShapedArray,
    broadcast_in_dim,
    cos,
    deriv,
    gt,
    jvp,
    lt,
    neg,
    reduce_sum,
    sin,
    transpose,
    typeof,
    vmap,
)
from glassjax_stage2.primitives import ARITHMETIC, COMPARISONS
from glassjax_stage3 import (
    Array,
    Jaxpr,
    JaxprTypeError,
    Literal,
    Var,
    abstract_eval_rules,
    array,
    eval_jaxpr,
    jaxpr_as_fun,
    jit,
    make_jaxpr,
    typecheck_jaxpr,
)
from glassjax_stage3 import jit_rules as rules

X = np.arange(3.0)


def f(x):
    y = sin(x) * 2.0
    z = -y + x
    return z


class TestPart2:
    def test_make_jaxpr(self):
        assert (
            str(make_jaxpr(f)(3.0))
            == """\
{ lambda ; a:f64[]. let
    b:f64[] = sin a
    c:f64[] = mul b 2.0:f64[]
    d:f64[] = neg c
    e:f64[] = add d a
  in (e,) }"""
        )

    def test_a_jaxpr_has_a_type(self):
        scalar = ShapedArray((), np.float64, weak_type=True)
        assert typecheck_jaxpr(make_jaxpr(f)(3.0)) == ([scalar], [scalar])

    def test_a_jaxpr_is_a_function(self):
        g = jaxpr_as_fun(make_jaxpr(f)(3.0))
        assert g(3.0) == [f(3.0)]
        assert jvp(lambda x: g(x)[0], (3.0,), (1.0,)) == jvp(f, (3.0,), (1.0,))

    def test_literals_are_inlined_and_arrays_are_not(self):
        closed = make_jaxpr(lambda x: x * 2.0 + X)(1.0)
        assert [type(atom) for eqn in closed.eqns for atom in eqn.invars] == [
            *(Var, Literal),
            *(Var, Var),
        ]
        assert closed.consts[0] is X

    def test_omnistaging(self):
        """Its first version computed at once whatever did not depend on an argument."""
        assert len(make_jaxpr(lambda: sin(1.0) * 2.0)().eqns) == 2

    def test_nested_results(self):
        closed = make_jaxpr(lambda x: {"a": [sin(x), x], "b": (cos(x),)})(1.0)
        assert len(closed.out_avals) == 3


class TestPart3:
    def test_jit(self):
        assert jit(f)(3.0).item() == pytest.approx(f(3.0))
        np.testing.assert_allclose(jit(f)(X), f(X))

    def test_jvp_of_jit(self):
        out, tangent = jvp(jit(f), (3.0,), (1.0,))
        expected = jvp(f, (3.0,), (1.0,))
        assert (out.item(), tangent.item()) == pytest.approx(expected)

    def test_vmap_of_jit(self):
        np.testing.assert_allclose(vmap(jit(f))(X), f(X))
        np.testing.assert_allclose(vmap(deriv(jit(f)))(X), 1 - 2 * np.cos(X))

    def test_jit_of_jit(self):
        np.testing.assert_allclose(jit(lambda x: jit(f)(jit(f)(x)))(X), f(f(X)))

    def test_a_call_is_a_function_in_the_module(self):
        g = jit(f)
        text = jit(lambda x: g(x) + g(2.0 * x)).lower(X).as_text()
        assert text.count("func.func private @f_") == 1
        assert text.count("func.call @f_") == 2

    def test_arrays_stay_on_the_device(self):
        x = array(X)
        for out in (jit(f)(x), neg(x), x + x, 2.0 * x, x > 1.0, x < x):
            assert isinstance(out, Array)
        assert repr(neg(x)) == "Array([-0., -1., -2.], dtype=float64)"
        assert np.asarray(x).tolist() == [0.0, 1.0, 2.0]


class TestItsSlips:
    def test_all_equations_are_checked(self):
        """It returned from inside the loop over the equations."""
        good = make_jaxpr(f)(X)
        *eqns, last = good.eqns
        last.outvars[0] = wrong = Var(ShapedArray((4,), np.float64))
        with pytest.raises(JaxprTypeError):
            typecheck_jaxpr(Jaxpr([], good.invars, [*eqns, last], [wrong]))

    def test_programs_without_equations_have_a_type(self):
        """There the loop returned nothing at all."""
        assert typecheck_jaxpr(make_jaxpr(lambda x: x)(X)) == ([typeof(X)], [typeof(X)])

    def test_comparisons_check_dtypes_too(self):
        """It compared shapes only."""
        with pytest.raises(TypeError, match="one dtype"):
            abstract_eval_rules[COMPARISONS[0]](typeof(X), typeof(X.astype(np.float32)))

    def test_evaluation_is_not_lazy(self):
        """It wrote its environment with `map`, which in Python 3 does nothing until asked."""
        closed = make_jaxpr(lambda x, y: (y, x * y))(2.0, 3.0)
        assert eval_jaxpr(closed, [], 2.0, 3.0) == [3.0, 6.0]

    def test_transpose_is_staged(self):
        """`transpose` had no rule for abstract evaluation, nor for jvp."""
        x = np.ones((2, 3))
        g = jit(lambda x: transpose(x, (1, 0)))
        assert g(x).shape == (3, 2)
        assert jvp(g, (x,), (2 * x,))[1].tolist() == [[2.0, 2.0]] * 3

    def test_broadcast_is_transformed(self):
        """`broadcast` had no rules for jvp and vmap."""
        g = jit(lambda x: broadcast_in_dim(x, (2, 3), (1,)))
        np.testing.assert_array_equal(jvp(g, (X,), (2 * X,))[1], [2 * X, 2 * X])
        np.testing.assert_array_equal(vmap(g)(np.stack([X, -X])), [[X, X], [-X, -X]])

    def test_greater_and_less_are_mapped(self):
        """`greater` had no rule for vmap."""
        for compare in (gt, lt):
            g = jit(lambda x, compare=compare: compare(x, 1.0))
            np.testing.assert_array_equal(vmap(g)(X), compare(X, 1.0))

    def test_results_that_do_not_vary_keep_their_place(self):
        """Its vmap rule said of every result that it is batched along axis 0."""
        g = jit(lambda x, y: (x, y, x * y))
        outs = vmap(g, in_axes=(1, None), out_axes=(1, None, 0))(np.ones((2, 3)), 2.0)
        assert [out.shape for out in outs] == [(2, 3), (), (3, 2)]

    def test_equal_programs_are_not_traced_for_each_call(self):
        """It traced and compiled anew whenever a jitted function was called."""
        traces = []
        g = jit(lambda x: traces.append(x) or f(x))
        for x in (1.0, 2.0, 3.0):
            g(x)
        assert len(traces) == 1

    def test_what_was_transformed_is_freed(self):
        """Its caches of transformed programs never forgot."""
        jaxpr = make_jaxpr(f)(X)
        made = weakref.ref(rules.jvp_jaxpr(jaxpr, (True,))[0])
        assert made() is rules.jvp_jaxpr(jaxpr, (True,))[0]
        del jaxpr
        gc.collect()
        assert made() is None

    def test_arrays_have_all_operators(self):
        """Its Array had seven, and no reflected comparison, difference or quotient."""
        x = array(X + 1)
        np.testing.assert_allclose(1.0 - x, -X)
        np.testing.assert_allclose(6.0 / x, [6.0, 3.0, 2.0])
        np.testing.assert_array_equal(x > 2.0, [False, False, True])

    def test_shapes_need_not_be_equal_before_promotion(self):
        g = jit(lambda x, y: reduce_sum(x * y) + 1)
        assert g(X, np.ones((2, 3), np.float32)).item() == 7.0
        assert all(primitive in abstract_eval_rules for primitive in ARITHMETIC)
