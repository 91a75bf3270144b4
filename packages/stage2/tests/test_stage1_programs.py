"""Stage 1's programs of `add` and `mul` run under stage 2's interpreters, and not the reverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import glassjax_stage1 as stage1
from glassjax_stage1 import add, build_jaxpr, eval_jaxpr, mul
from glassjax_stage2 import deriv, jacfwd, jvp, sin, vmap
from glassjax_stage2 import mul as mul2


def foo(x):
    return mul(x, add(x, 3.0))


def deriv1(f):
    return lambda x: stage1.derivative(f, x)


def test_the_programs_of_the_document():
    assert jvp(foo, (2.0,), (1.0,)) == (10.0, 7.0)
    assert deriv(deriv(foo))(2.0) == 2.0
    f = foo
    for expected in (10.0, 7.0, 2.0, 0.0, 0.0):
        assert f(2.0) == expected
        f = deriv(f)
    assert deriv(lambda x: mul(x, deriv(lambda y: x)(0.0)))(0.0) == 0.0


def test_they_map_over_arrays():
    x = np.arange(4.0)
    np.testing.assert_array_equal(vmap(foo)(x), x * (x + 3.0))
    np.testing.assert_array_equal(jvp(vmap(foo), (x,), (np.ones(4),))[1], 2 * x + 3.0)
    np.testing.assert_array_equal(jacfwd(vmap(foo))(x), np.diag(2 * x + 3.0))


def test_their_jaxprs_are_programs_too():
    jaxpr = build_jaxpr(foo, 1)
    x = np.arange(4.0)
    assert jvp(lambda x: eval_jaxpr(jaxpr, (x,)), (2.0,), (1.0,)) == (10.0, 7.0)
    np.testing.assert_array_equal(vmap(lambda x: eval_jaxpr(jaxpr, (x,)))(x), x * (x + 3.0))
    slope = build_jaxpr(lambda x: deriv1(foo)(x), 1)
    np.testing.assert_array_equal(vmap(lambda x: eval_jaxpr(slope, (x,)))(x), 2 * x + 3.0)
    tidy = stage1.eliminate_dead_code(slope)
    assert deriv(lambda x: eval_jaxpr(tidy, (x,)))(5.0) == 2.0


def test_stage_1_differentiates_inside_of_a_map():
    x = np.arange(3.0)
    np.testing.assert_array_equal(vmap(lambda x: deriv1(foo)(x))(x), 2 * x + 3.0)
    np.testing.assert_array_equal(vmap(lambda x: deriv1(lambda y: mul(x, y))(1.0))(x), x)


def test_stage_1_differentiates_inside_of_forward_mode():
    assert deriv(lambda x: deriv1(foo)(x))(2.0) == 2.0
    assert deriv(lambda x: mul(x, deriv1(lambda y: add(x, y))(1.0)))(1.0) == 1.0


@given(st.lists(st.tuples(st.sampled_from([add, mul]), st.integers(-2, 2)), max_size=6))
def test_both_forward_modes_agree(steps):
    def f(x):
        y = x
        for op, c in steps:
            y = op(op(y, x), float(c))
        return y

    for x in (-1.0, 0.0, 3.0):
        assert jvp(f, (x,), (1.0,)) == stage1.jvp(f, x, 1.0)
        assert deriv(deriv(f))(x) == stage1.nth_order_derivative(2, f, x)


@pytest.mark.parametrize("f", [sin, lambda x: mul2(x, 2.0), lambda x: sin(mul(x, x))])
@pytest.mark.parametrize(
    ("run", "name"),
    [
        (lambda f: stage1.jvp(f, 1.0, 1.0), "jvp"),
        (lambda f: build_jaxpr(f, 1), "staging"),
    ],
)
def test_stage_2s_primitives_are_too_much_for_stage_1(run, name, f):
    with pytest.raises(TypeError, match=f"the {name} of .* of stage 1 knows `add` and `mul` on"):
        run(f)


def test_a_primitive_on_constants_is_too_much_as_well():
    with pytest.raises(TypeError, match="the transformation of the same name from stage 2"):
        stage1.jvp(lambda x: mul(x, sin(1.0)), 1.0, 1.0)


def test_stage_1_is_as_it_was():
    """Importing stage 2 changes nothing that stage 1 computes or refuses."""
    assert stage1.jvp(foo, 2.0, 1.0) == (10.0, 7.0)
    with pytest.raises(TypeError, match="Stage 1 knows numbers only"):
        add(np.ones(2), 1.0)
    with pytest.raises(TypeError, match="Stage 1 knows numbers only"):
        deriv1(foo)(np.float32(1.0))
