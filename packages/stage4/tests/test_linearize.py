"""`linearize`: the derivative at a point, as a function that does not evaluate again."""

import numpy as np
import pytest

from glassjax_stage2 import cos, exp, float0, jvp, reduce_sum, sin, vmap, where
from glassjax_stage3 import jit, make_jaxpr
from glassjax_stage4 import cond, linearize

x = np.array([0.5, 1.0, 2.0])
t = np.array([1.0, -2.0, 3.0])


def model(params, x):
    hidden = sin(params["w"] @ x + params["b"])
    return {"out": reduce_sum(hidden * hidden), "hidden": [hidden]}


params = {"w": np.arange(6.0).reshape(2, 3) / 5, "b": np.array([0.1, -0.2])}
directions = {"w": np.ones((2, 3)), "b": np.array([1.0, 2.0])}


def assert_same(found, expected):
    np.testing.assert_allclose(found["out"], expected["out"], rtol=1e-12)
    np.testing.assert_allclose(found["hidden"][0], expected["hidden"][0], rtol=1e-12)


def test_it_is_jvp_in_two_steps_and_in_trees():
    out, f_jvp = linearize(model, params, x)
    expected, expected_dot = jvp(model, (params, x), (directions, t))
    assert_same(out, expected)
    assert_same(f_jvp(directions, t), expected_dot)


def test_the_function_runs_once_whatever_is_asked_of_its_derivative():
    calls = []

    def f(x):
        calls.append(x)
        return sin(x)

    _, f_jvp = linearize(f, 2.0)
    assert [f_jvp(t) for t in (0.0, 1.0, 2.0)] == [0.0, cos(2.0), 2 * cos(2.0)]
    assert len(calls) == 1


def test_the_derivative_is_linear():
    _, f_jvp = linearize(model, params, x)
    doubled = {"w": 2 * directions["w"], "b": 2 * directions["b"]}
    np.testing.assert_allclose(f_jvp(doubled, 2 * t)["out"], 2 * f_jvp(directions, t)["out"])


def test_only_products_with_the_tangent_are_left_to_compute():
    jaxpr = make_jaxpr(linearize(lambda x: exp(sin(x)), 3.0)[1])(1.0)
    assert {eqn.primitive.name for eqn in jaxpr.eqns} == {"mul"}


def test_derivatives_that_are_zero_or_the_identity():
    out, f_jvp = linearize(lambda x, y: (x, 5.0, y, x), 1.0, 2.0)
    assert out == (1.0, 5.0, 2.0, 1.0)
    assert f_jvp(3.0, 4.0) == (3.0, 0.0, 4.0, 3.0)


def test_integers_have_tangents_of_dtype_float0():
    out, f_jvp = linearize(lambda x, n: (x * n, n), 2.0, 3)
    of_x, of_n = f_jvp(1.0, np.zeros((), float0))
    assert (out, of_x) == ((6.0, 3), 3.0)
    assert of_n.dtype == float0


def test_it_nests_with_every_other_transformation():
    def f(x):
        return where(x > 1.0, sin(x), x * x * x)

    def along(x, t):
        return linearize(f, x)[1](t)

    expected = jvp(f, (x,), (t,))[1]
    np.testing.assert_allclose(vmap(along)(x, t), expected)
    np.testing.assert_allclose(jit(vmap(along))(x, t), expected)
    np.testing.assert_allclose(
        vmap(linearize(f, x)[1])(np.stack([t, 2 * t])), np.stack([expected, 2 * expected])
    )
    second = jvp(lambda x: along(x, t), (x,), (t,))[1]
    np.testing.assert_allclose(linearize(lambda x: along(x, t), x)[1](t), second)
    np.testing.assert_allclose(second, np.where(x > 1, -np.sin(x), 6 * x) * t * t)


def test_a_jitted_function_and_a_branch_are_linearized_inside():
    f = jit(lambda x: cond(reduce_sum(x) > 0.0, lambda x: sin(x) * x, lambda x: x, x))
    out, f_jvp = linearize(f, x)
    np.testing.assert_allclose(out, np.sin(x) * x)
    np.testing.assert_allclose(f_jvp(t), (np.cos(x) * x + np.sin(x)) * t)


def test_python_numbers_stay_python_numbers():
    out, f_jvp = linearize(lambda x: x * x, 3.0)
    assert (type(out), type(f_jvp(1.0))) == (float, float)


def test_closed_over_values_are_constants():
    def f(x):
        return linearize(lambda y: x * y * y, 3.0)[1](1.0)

    assert jvp(f, (2.0,), (1.0,)) == (12.0, 6.0)


@pytest.mark.parametrize(
    ("tangents", "message"),
    [
        ((1.0,), "trees differ in structure at linearized `model`: tangents: expected tuple of 2"),
        (
            ({"w": np.ones((2, 3)), "c": 1.0}, t),
            "expected dict of 2 with aux data ('b', 'w'), found",
        ),
        (
            ({"w": np.ones((2, 2)), "b": np.ones(2)}, t),
            "linearized `model`: tangents[0]['w'] must have type f64[2,3]; found f64[2,2]",
        ),
    ],
)
def test_tangents_that_do_not_fit(tangents, message):
    _, f_jvp = linearize(model, params, x)
    with pytest.raises(TypeError) as info:
        f_jvp(*tangents)
    assert message in str(info.value)
