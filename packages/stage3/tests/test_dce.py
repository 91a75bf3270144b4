"""Dead-code elimination: what the results do not need goes, the results stay as they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassjax_stage2 import jvp, mul, sin
from glassjax_stage2.primitives import sin_p
from glassjax_stage3 import dce_jaxpr, eval_jaxpr, jit, make_jaxpr, typecheck_jaxpr
from glassjax_stage3.dce import dce_rules

X = np.arange(3.0)


def test_what_nothing_needs_goes_and_what_is_needed_stays():
    def f(x, y):
        mul(sin(x), y)
        return sin(y)

    smaller, used = dce_jaxpr(make_jaxpr(f)(X, X))
    assert used == [False, True]
    assert str(smaller) == "{ lambda ; a:f64[3]. let b:f64[3] = sin a in (b,) }"


def test_one_of_several_results_is_kept():
    def f(x):
        y = sin(x)
        return y, y * x, x + 1.0

    jaxpr = make_jaxpr(f)(1.0)
    for chosen, lines in [((1, 0, 0), 1), ((0, 1, 0), 2), ((0, 0, 1), 1), ((0, 0, 0), 0)]:
        smaller, _ = dce_jaxpr(jaxpr, [bool(c) for c in chosen])
        assert len(smaller.eqns) == lines
        assert len(smaller.outvars) == sum(chosen)


def test_without_dead_code_it_is_the_very_same_jaxpr():
    """So what was compiled for it serves again."""

    @jit
    def inner(x):
        return sin(x)

    jaxpr = make_jaxpr(lambda x: inner(x) * inner(x))(X)
    smaller, used = dce_jaxpr(jaxpr)
    assert smaller is jaxpr
    assert used == [True]


def test_the_primal_that_a_derivative_does_not_need_goes():
    derivative = make_jaxpr(lambda x: jvp(lambda x: x * x * x, (x,), (1.0,))[1])(2.0)
    smaller, _ = dce_jaxpr(derivative)
    assert len(smaller.eqns) < len(derivative.eqns)
    assert eval_jaxpr(smaller, derivative.consts, 2.0) == [12.0]


class TestInsideJit:
    def test_what_a_call_computes_in_vain_goes(self):
        @jit
        def f(x, y):
            return sin(x), sin(y)

        jaxpr = make_jaxpr(lambda x, y: f(x, y)[0])(X, X)
        smaller, used = dce_jaxpr(jaxpr)
        assert used == [True, False]
        typecheck_jaxpr(smaller)
        (eqn,) = smaller.eqns
        assert len(eqn.params["jaxpr"].eqns) == len(eqn.invars) == len(eqn.outvars) == 1

    def test_also_where_all_its_results_are_needed(self):
        @jit
        def f(x):
            sin(x)
            return x * 2.0

        smaller, _ = dce_jaxpr(make_jaxpr(f)(X))
        (eqn,) = smaller.eqns
        assert len(eqn.params["jaxpr"].eqns) == 1

    def test_a_call_of_which_nothing_is_needed_goes_whole(self):
        f = jit(lambda x: (sin(x), x))
        smaller, used = dce_jaxpr(make_jaxpr(lambda x: (f(x), x)[1])(X))
        assert smaller.eqns == []
        assert used == [True]

    def test_calls_of_one_program_stay_calls_of_one_program(self):
        f = jit(lambda x: (sin(x), x * 2.0))
        jaxpr = make_jaxpr(lambda x: f(f(x)[0])[0])(X)
        smaller, _ = dce_jaxpr(jaxpr)
        again, _ = dce_jaxpr(jaxpr)
        assert len({eqn.params["jaxpr"] for eqn in (*smaller.eqns, *again.eqns)}) == 1

    def test_in_calls_within_calls(self):
        inner = jit(lambda x, y: (sin(x), sin(y)))
        outer = jit(lambda x, y: inner(x, y)[0])
        smaller, used = dce_jaxpr(make_jaxpr(outer)(X, X))
        assert used == [True, False]
        assert str(smaller).count("sin") == 1
        assert eval_jaxpr(smaller, [], X)[0].tolist() == pytest.approx(np.sin(X))


@settings(max_examples=50, deadline=None, database=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=10),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_the_kept_results_are_the_same_and_nothing_dead_remains(steps, kept):
    def f(x, y):
        values = [x, y]
        for i, j in steps:
            values.append(values[i % len(values)] + values[j % len(values)])
        return values[-1], values[0], values[len(values) // 2]

    closed = make_jaxpr(f)(1.0, 2.0)
    smaller, used = dce_jaxpr(closed, kept)
    typecheck_jaxpr(smaller)
    args = [x for x, u in zip((1.0, 2.0), used, strict=True) if u]
    expected = [out for out, k in zip(f(1.0, 2.0), kept, strict=True) if k]
    assert eval_jaxpr(smaller, [], *args) == expected
    again, still_used = dce_jaxpr(smaller)
    assert again is smaller
    assert all(still_used)


def test_a_long_program_without_recursion():
    def f(x):
        for _ in range(20_000):
            x = x + 1.0
        return x, x * 2.0

    smaller, _ = dce_jaxpr(make_jaxpr(f)(1.0), [True, False])
    assert len(smaller.eqns) == 20_000


def test_what_does_something_stays_whoever_needs_its_results(monkeypatch):
    monkeypatch.setitem(dce_rules, sin_p, lambda used_outs, eqn: ([True], eqn))

    def f(x):
        jit(lambda x: sin(x) * x)(x)
        jit(lambda x: x * x)(x)
        return mul(x, x)

    smaller, used = dce_jaxpr(make_jaxpr(f)(X))
    assert used == [True]
    inner, product = smaller.eqns
    assert [eqn.primitive for eqn in inner.params["jaxpr"].eqns] == [sin_p]
    assert product.primitive.name == "mul"
