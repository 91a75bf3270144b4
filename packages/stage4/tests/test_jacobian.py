"""Jacobians by both modes, and Hessians."""

import numpy as np
import pytest

from glassjax_stage2 import exp, jacfwd, reduce_sum, reshape, sin, tree_leaves, vmap
from glassjax_stage3 import jit
from glassjax_stage4 import grad, hessian, jacobian, jacrev, vjp

rng = np.random.default_rng(0)
W = rng.normal(size=(2, 3))
x = rng.normal(size=3)


def network(params, x):
    hidden = sin(params["w"] @ x + params["b"])
    return {"sum": reduce_sum(hidden * hidden), "hidden": [hidden, reshape(hidden * 2.0, (2, 1))]}


params = {"w": W, "b": np.array([0.1, -0.3])}


def by_differences(f, x, h=1e-6):
    """The Jacobian of a function of one array, input by input."""
    columns = []
    for i in range(np.size(x)):
        step = np.zeros(np.size(x))
        step[i] = h
        step = step.reshape(np.shape(x))
        columns.append((np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * h))
    return np.stack(columns, -1).reshape(np.shape(f(x)) + np.shape(x))


FUNCTIONS = [
    (lambda x: sin(x) * x, x),
    (lambda x: W @ x, x),
    (lambda x: reduce_sum(exp(x) * x), x),
    (lambda x: x * np.arange(1.0, 4.0), 0.7),
    (lambda x: sin(x) * x, 0.7),
    (lambda w: sin(w @ x), W),
    (lambda w: w @ reshape(w, (3, 2)), W),
    (lambda x: np.ones(2), x),
]


@pytest.mark.parametrize(("f", "at"), FUNCTIONS)
def test_forward_is_reverse_is_differences(f, at):
    expected = by_differences(f, at)
    for found in (jacfwd(f)(at), jacrev(f)(at), jacobian(f)(at)):
        assert np.shape(found) == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_a_jacobian_is_not_cut_off_by_dtype():
    found = jacrev(lambda x: sin(x))(x.astype(np.float32))
    assert found.dtype == np.float32


@pytest.mark.parametrize("argnums", [0, 1, -1, (0, 1), (1, 0)])
def test_trees_of_arguments_and_results(argnums):
    by_forward, by_reverse = (j(network, argnums)(params, x) for j in (jacfwd, jacrev))
    assert isinstance(by_reverse["hidden"], list)
    for a, b in zip(tree_leaves(by_forward), tree_leaves(by_reverse), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    if argnums == 0:
        assert by_reverse["hidden"][1]["w"].shape == (2, 1, 2, 3)
    if argnums == (1, 0):
        assert by_reverse["sum"][1]["b"].shape == (2,)


def test_a_hessian_is_symmetric_and_the_derivative_of_the_gradient():
    def f(x):
        return reduce_sum(sin(x) * x) * exp(x @ x / 10)

    h = hessian(f)(x)
    np.testing.assert_allclose(h, h.T, rtol=1e-12)
    np.testing.assert_allclose(h, by_differences(grad(f), x), rtol=1e-6, atol=1e-8)
    for nested in (jacfwd(jacfwd(f)), jacrev(jacrev(f)), jacrev(jacfwd(f)), jacrev(grad(f))):
        np.testing.assert_allclose(nested(x), h, rtol=1e-10)
    np.testing.assert_allclose(jit(hessian(f))(x), h, rtol=1e-10)


def test_hessians_of_trees_and_of_batches():
    def f(params, x):
        return network(params, x)["sum"]

    blocks = hessian(f)(params, x)
    assert blocks["w"]["b"].shape == (2, 3, 2)
    np.testing.assert_allclose(blocks["w"]["b"], np.moveaxis(blocks["b"]["w"], 0, -1))
    of_params, of_x = hessian(f, (0, 1))(params, x)
    np.testing.assert_allclose(of_params["w"][0]["w"], blocks["w"]["w"])
    np.testing.assert_allclose(of_params["b"][1], of_x[0]["b"].T)
    np.testing.assert_allclose(of_x[1], of_x[1].T)
    batch = np.stack([x, 2 * x])
    found = vmap(hessian(f, 1), (None, 0))(params, batch)
    np.testing.assert_allclose(found, np.stack([hessian(f, 1)(params, x) for x in batch]))


def test_each_row_is_one_pull_back():
    def f(x):
        return W @ sin(x)

    _, f_vjp = vjp(f, x)
    rows = np.stack([f_vjp(row)[0] for row in np.eye(2)])
    np.testing.assert_allclose(jacrev(f)(x), rows)


def test_complex_results_are_refused():
    def rotate(x):
        return x * 1j

    with pytest.raises(TypeError, match="jacrev: result of `rotate` is complex"):
        jacrev(rotate)(1.0)
