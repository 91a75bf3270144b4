"""Jacobians: all directional derivatives at once."""

import numpy as np
import pytest

from glassjax_stage2 import exp, jacfwd, jvp, reduce_sum, sin, tree_map, vmap

W = np.random.default_rng(0).normal(size=(3, 4))
X = np.random.default_rng(1).normal(size=4)


def test_the_jacobian_of_a_linear_function_is_its_matrix():
    np.testing.assert_allclose(jacfwd(lambda x: W @ x)(X), W)
    np.testing.assert_allclose(jacfwd(lambda x: x @ W.T)(X), W)


def test_the_jacobian_times_a_direction_is_the_jvp():
    def f(x):
        return sin(W @ x) * reduce_sum(exp(x))

    t = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(jacfwd(f)(X) @ t, jvp(f, (X,), (t,))[1])


def test_axes_of_the_result_come_first_and_axes_of_the_input_last():
    x = np.arange(6.0).reshape(2, 3)
    out = jacfwd(lambda x: x.T)(x)
    assert out.shape == (3, 2, 2, 3)
    for i, j in np.ndindex(2, 3):
        assert out[j, i, i, j] == 1.0
    assert out.sum() == 6.0


def test_the_second_derivative_is_symmetric():
    def f(x):
        return sin(reduce_sum(x * x)) * exp(X @ x)

    hessian = jacfwd(jacfwd(f))(0.3 * X)
    assert hessian.shape == (4, 4)
    np.testing.assert_allclose(hessian, hessian.T)


def test_the_structure_is_that_of_the_result_with_that_of_the_input_at_its_leaves():
    params = {"w": W, "b": np.ones(3)}

    def f(params, x):
        y = params["w"] @ x + params["b"]
        return y, [reduce_sum(y)]

    jacobian = jacfwd(f)(params, X)
    assert tree_map(np.shape, jacobian) == (
        {"w": (3, 3, 4), "b": (3, 3)},
        [{"w": (3, 4), "b": (3,)}],
    )
    np.testing.assert_allclose(jacobian[0]["w"], np.einsum("ij,k->ijk", np.eye(3), X))
    np.testing.assert_allclose(jacobian[0]["b"], np.eye(3))
    np.testing.assert_allclose(jacobian[1][0]["w"], np.outer(np.ones(3), X))


def test_argnums_choose_the_inputs():
    def f(x, y):
        return x * x * y

    assert jacfwd(f)(2.0, 3.0) == 12.0
    assert jacfwd(f, argnums=1)(2.0, 3.0) == 4.0
    both = jacfwd(f, argnums=(0, 1))(2.0, 3.0)
    assert isinstance(both, tuple)
    assert both == (12.0, 4.0)
    assert jacfwd(f, argnums=(-1,))(2.0, 3.0) == (4.0,)


def test_constant_results_have_jacobian_zero():
    np.testing.assert_array_equal(jacfwd(lambda x: np.ones(2))(X), np.zeros((2, 4)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_the_dtype_is_kept(dtype):
    assert jacfwd(lambda x: x * x)(X.astype(dtype)).dtype == dtype


def test_inputs_without_elements():
    assert jacfwd(lambda x: 2.0 * x)(np.zeros(0)).shape == (0, 0)


def test_the_function_runs_once_for_each_leaf_however_large():
    calls = []

    def f(x, y):
        calls.append(None)
        return x * y

    jacfwd(f, argnums=(0, 1))(np.ones(50), np.ones(50))
    assert len(calls) == 2


def test_jacobians_of_mapped_functions():
    out = jacfwd(vmap(lambda x: x @ x))(np.arange(4.0).reshape(2, 2))
    np.testing.assert_allclose(out, [[[0, 2], [0, 0]], [[0, 0], [4, 6]]])
