"""`grad`, `value_and_grad`, `vjp`: forms of arguments, and every composition."""

import functools
import itertools

import numpy as np
import pytest

from glassjax_stage2 import (
    ShapedArray,
    abs,
    astype,
    cos,
    deriv,
    exp,
    float0,
    jvp,
    log,
    reduce_sum,
    sin,
    tree_map,
    typeof,
    vmap,
    where,
)
from glassjax_stage3 import Array, array, jit, make_jaxpr
from glassjax_stage4 import grad, value_and_grad, vjp

bfloat16 = pytest.importorskip("ml_dtypes").bfloat16  # jaxlib brings it
x3 = np.array([0.5, 1.0, 2.0])


def f(x, y, z=2.0):
    return x * sin(y) * z


# Which arguments.


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, np.sin(2.0) * 5),
        (1, 3 * np.cos(2.0) * 5),
        (2, 3 * np.sin(2.0)),
        (-1, 3 * np.sin(2.0)),
        (-3, np.sin(2.0) * 5),
        ((0,), (np.sin(2.0) * 5,)),
        ((2, 0), (3 * np.sin(2.0), np.sin(2.0) * 5)),
        ([0, -1], (np.sin(2.0) * 5, 3 * np.sin(2.0))),
        ((), ()),
    ],
)
def test_argnums(argnums, expected):
    gradient = grad(f, argnums)(3.0, 2.0, 5.0)
    assert type(gradient) is type(expected) or isinstance(expected, float)
    np.testing.assert_allclose(gradient, expected)
    value, gradient = value_and_grad(f, argnums)(3.0, 2.0, 5.0)
    assert value == f(3.0, 2.0, 5.0)
    np.testing.assert_allclose(gradient, expected)


def test_arguments_by_keyword_are_constants():
    np.testing.assert_allclose(grad(f)(3.0, 2.0, z=7.0), np.sin(2.0) * 7)
    np.testing.assert_allclose(grad(f)(3.0, y=2.0, z=np.float64(7)), np.sin(2.0) * 7)
    assert grad(lambda x, *, power: x**power)(3.0, power=2) == 6.0


def test_other_arguments_may_be_anything():
    def loss(x, mode, n):
        return x * n if mode == "linear" else x * x

    assert grad(loss)(3.0, "linear", 4) == 4.0
    assert grad(loss)(3.0, None, 4) == 6.0


def test_trees_of_arguments():
    def loss(params, batch):
        (x, y), w = batch, params["layers"][0]
        return reduce_sum((w @ x + params["bias"] - y) ** 2)

    w, b, y = np.ones((2, 3)), np.array([0.5, -0.5]), np.array([1.0, 2.0])
    params = {"layers": [w], "bias": b, "nothing": None, "empty": []}
    error = w @ x3 + b - y
    gradient, (x_bar, y_bar) = grad(loss, (0, 1))(params, (x3, y))
    assert gradient["nothing"] is None
    assert gradient["empty"] == []
    np.testing.assert_allclose(gradient["layers"][0], 2 * np.outer(error, x3))
    np.testing.assert_allclose(gradient["bias"], 2 * error)
    np.testing.assert_allclose(x_bar, 2 * error @ w)
    np.testing.assert_allclose(y_bar, -2 * error)


def test_an_argument_that_is_not_used_has_gradient_zero():
    x_bar, y_bar = grad(lambda x, y: sin(y["b"]), (0, 1))(x3, {"a": np.float32(1), "b": 0.0})
    np.testing.assert_array_equal(x_bar, np.zeros(3))
    assert y_bar == {"a": 0.0, "b": 1.0}
    assert y_bar["a"].dtype == np.float32
    assert grad(lambda x: 5.0)(1.0) == 0.0


def test_a_staged_program_makes_its_zeros_and_keeps_none():
    gradient = grad(lambda x, y: sin(y), (0, 1))
    closed = make_jaxpr(gradient)(x3, 1.0)
    assert closed.consts == []
    assert closed.out_avals == [typeof(x3), typeof(1.0)]
    np.testing.assert_array_equal(jit(gradient)(x3, 1.0)[0], np.zeros(3))


def test_an_argument_that_is_used_twice_sums():
    assert grad(lambda x: x + x * x + x)(3.0) == 8.0
    assert grad(lambda x, y: x * y, (0, 1))(*[3.0] * 2) == (3.0, 3.0)


def test_functions_keep_their_names():
    assert (grad(f).__name__, value_and_grad(f).__name__) == ("f", "f")
    assert grad(functools.partial(f, 3.0))(2.0) == 3 * np.cos(2.0) * 2


# Types.


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, bfloat16])
def test_a_gradient_has_the_type_of_its_argument(dtype):
    x = np.asarray(x3, dtype)

    def loss(x, s):
        return reduce_sum(exp(sin(x) * s) / (2 + x * x)) + s

    x_bar, s_bar = grad(loss, (0, 1))(x, x[0])
    assert (typeof(x_bar), typeof(s_bar)) == (typeof(x), ShapedArray((), dtype))
    s = float(x[0])
    expected = np.exp(np.sin(x3) * s) * (np.cos(x3) * s / (2 + x3**2) - 2 * x3 / (2 + x3**2) ** 2)
    tolerance = 8 * float(np.finfo(dtype).eps if dtype is not bfloat16 else 2.0**-7)
    np.testing.assert_allclose(np.asarray(x_bar, float), expected, rtol=tolerance, atol=tolerance)


def test_several_dtypes_in_one_function():
    def loss(a, b, c):
        return reduce_sum(a * b + astype(c, np.float64))

    args = x3.astype(np.float32), x3, x3.astype(np.float16)
    cts = grad(loss, (0, 1, 2))(*args)
    for x, x_bar in zip(args, cts, strict=True):
        assert typeof(x_bar) == typeof(x)
    np.testing.assert_allclose(cts[0], x3)


def test_python_numbers_and_device_arrays():
    assert type(grad(sin)(1.0)) is float
    gradient = grad(lambda x: reduce_sum(x * x))(array(x3))
    assert isinstance(gradient, Array)
    np.testing.assert_array_equal(gradient, 2 * x3)


def test_vjp_of_complex_numbers_pairs_without_conjugation():
    z = np.array([1 + 2j, 3 - 1j])
    _, f_vjp = vjp(lambda z: z * z, z)
    np.testing.assert_allclose(f_vjp(np.ones(2, complex))[0], 2 * z)


def test_vjp_gives_integers_a_cotangent_of_dtype_float0():
    _, f_vjp = vjp(lambda x, n: x * n, 3.0, np.arange(2))
    x_bar, n_bar = f_vjp(np.ones(2))
    assert (x_bar, n_bar.dtype, n_bar.shape) == (1.0, float0, (2,))
    _, f_vjp = vjp(lambda x: (x, 3), 1.0)
    assert f_vjp((2.0, np.zeros((), float0))) == (2.0,)


# Control flow and points where care is needed.


def test_python_control_flow_on_values():
    def power(x, n):
        result = 1.0
        for _ in range(n):
            result = result * x
        return result if x > 0 else -result

    assert grad(power)(2.0, 3) == 12.0
    assert grad(power)(-2.0, 3) == -12.0
    assert grad(grad(power))(2.0, 3) == 12.0


def test_piecewise_functions():
    assert [grad(abs)(x) for x in (-2.0, 0.0, 3.0)] == [-1.0, 1.0, 1.0]
    assert grad(lambda x: where(x > 1.0, x * x, 3.0 * x))(0.5) == 3.0
    safe = grad(lambda x: where(x > 0.0, log(where(x > 0.0, x, 1.0)), 0.0))
    assert (safe(2.0), safe(0.0)) == (0.5, 0.0)


# Every composition.


def test_grad_of_grad_of_grad():
    third = grad(grad(grad(lambda x: sin(x) * exp(x))))
    x, h = 0.7, 1e-4
    second = grad(grad(lambda x: sin(x) * exp(x)))
    assert third(x) == pytest.approx((second(x + h) - second(x - h)) / (2 * h), rel=1e-6)
    assert deriv(grad(deriv(sin)))(0.7) == pytest.approx(-np.cos(0.7))


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: grad(lambda y: x * y * y)(3.0) * x)(2.0) == 24.0
    assert deriv(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0


def loss(x):
    return sin(x) * x * x


SECOND = -np.sin(x3) * x3**2 + 4 * x3 * np.cos(x3) + 2 * np.sin(x3)
FIRST = np.cos(x3) * x3**2 + 2 * x3 * np.sin(x3)
TRANSFORMATIONS = {"jit": jit, "grad": grad, "deriv": deriv}


@pytest.mark.parametrize(
    "order",
    [
        *sorted(set(itertools.permutations(["jit", "grad", "grad"]))),
        ("jit", "grad", "deriv"),
        ("deriv", "jit", "grad"),
        ("grad", "deriv", "jit"),
    ],
    ids=".".join,
)
def test_second_derivatives_in_every_order_with_jit_and_vmap(order):
    composed = loss
    for name in order:
        composed = TRANSFORMATIONS[name](composed)
    np.testing.assert_allclose(vmap(composed)(x3), SECOND, rtol=1e-10)


def test_grad_of_vmap_and_vmap_of_grad_and_of_jit():
    def total(x):
        return reduce_sum(vmap(loss)(x))

    for g in (vmap(grad(loss)), grad(total), jit(vmap(grad(loss))), grad(jit(total))):
        np.testing.assert_allclose(g(x3), FIRST, rtol=1e-12)


def test_gradients_of_each_example():
    def predict(w, x):
        return reduce_sum(sin(w @ x))

    w, batch = np.arange(6.0).reshape(2, 3), np.stack([x3, 2 * x3, -x3])
    per_example = vmap(grad(predict), (None, 0))(w, batch)
    loop = np.stack([grad(predict)(w, x) for x in batch])
    np.testing.assert_allclose(per_example, loop)


def test_vjp_under_transformations():
    def pull(x, ct):
        return vjp(loss, x)[1](ct)[0]

    np.testing.assert_allclose(vmap(pull)(x3, x3), FIRST * x3)
    np.testing.assert_allclose(jvp(lambda ct: vjp(loss, x3)[1](ct)[0], (x3,), (x3,))[1], FIRST * x3)
    np.testing.assert_allclose(vjp(pull, 2.0, 1.0)[1](1.0)[1], FIRST[2])


def test_a_pull_back_can_be_used_again():
    _, f_vjp = vjp(loss, x3)
    np.testing.assert_array_equal(f_vjp(x3)[0], f_vjp(x3)[0])
    rows = vmap(f_vjp)(np.eye(3))[0]
    np.testing.assert_allclose(rows, np.diag(FIRST), atol=1e-15)


def test_closures_over_values_being_transformed():
    def outer(x):
        inner = vmap(lambda y: grad(lambda z: x * y * z * z)(3.0))
        return reduce_sum(inner(x3))

    assert grad(outer)(2.0) == pytest.approx(6 * x3.sum())
    assert jit(grad(outer))(2.0) == pytest.approx(6 * x3.sum())


def test_the_gradient_is_a_program():
    """Under make_jaxpr everything is written down, the forward half first."""
    jaxpr = make_jaxpr(grad(sin))(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "cos", "mul"]


def test_nothing_is_left_of_a_function_that_failed():
    """An error inside restores the interpreter that was current."""

    def fails(x):
        raise RuntimeError("here")

    for transform in (grad(fails), vmap(grad(fails)), jit(grad(fails))):
        with pytest.raises(RuntimeError, match="here"):
            transform(x3)
    assert grad(cos)(0.0) == 0.0
    assert tree_map(float, grad(lambda p: p["a"] * 2.0)({"a": 1.0})) == {"a": 2.0}


def test_the_gradient_of_a_real_function_of_a_complex_number():
    def real_part_of_square(z):  # x**2 - y**2
        return astype(z * z, np.float64)

    assert grad(real_part_of_square)(1.0 + 2.0j) == 2.0 + 4.0j  # df/dx - i df/dy
