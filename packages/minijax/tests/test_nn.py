"""`minijax.nn`: by definition, where the definition overflows, and at the kinks."""

import numpy as np
import pytest

import minijax.numpy as jnp
from minijax import grad, jit, nn, vmap

X = np.array([-3.0, -0.5, 0.0, 0.5, 3.0])


def close(found, expected, **tolerance):
    np.testing.assert_allclose(found, expected, **({"rtol": 1e-12} | tolerance))


def derivative(f):
    return vmap(grad(f))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


DEFINITIONS = {
    nn.relu: lambda x: np.maximum(x, 0),
    nn.leaky_relu: lambda x: np.where(x > 0, x, 0.01 * x),
    nn.elu: lambda x: np.where(x > 0, x, np.exp(x) - 1),
    nn.sigmoid: sigmoid,
    nn.softplus: lambda x: np.log(1 + np.exp(x)),
    nn.silu: lambda x: x * sigmoid(x),
    nn.tanh: np.tanh,
}


@pytest.mark.parametrize("f", DEFINITIONS, ids=lambda f: f.__name__)
def test_activations(f):
    definition = DEFINITIONS[f]
    close(f(X), definition(X), atol=1e-15)
    close(jit(f)(X), definition(X), atol=1e-15)
    assert f(X.astype(np.float32)).dtype == np.float32
    h, away = 1e-6, X[X != 0]
    differences = (definition(away + h) - definition(away - h)) / (2 * h)
    close(derivative(f)(away), differences, rtol=1e-8)


@pytest.mark.parametrize("f", DEFINITIONS, ids=lambda f: f.__name__)
def test_activations_do_not_overflow(f):
    far = np.array([-1e4, 1e4])
    assert np.all(np.isfinite(f(far)))
    assert np.all(np.isfinite(derivative(f)(far)))
    assert np.isnan(f(np.nan))


def test_derivatives_at_zero():
    found = {f: float(grad(f)(0.0)) for f in DEFINITIONS}
    expected = {
        nn.relu: 0.0,
        nn.leaky_relu: 1.0,
        nn.elu: 1.0,
        nn.sigmoid: 0.25,
        nn.softplus: 0.5,
        nn.silu: 0.5,
        nn.tanh: 1.0,
    }
    assert found == expected


@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_softmax_family(axis):
    x = np.random.default_rng(0).normal(size=(2, 3))
    exps = np.exp(x)
    total = np.sum(exps, axis=axis, keepdims=True)
    close(nn.softmax(x, axis), exps / total)
    close(nn.log_softmax(x, axis), np.log(exps / total))
    close(nn.logsumexp(x, axis), np.log(np.sum(exps, axis=axis)))
    close(nn.logsumexp(x, axis, keepdims=True), np.log(total))


def test_the_softmax_family_does_not_overflow():
    x = np.array([1e4, 0.0, 1e4])
    close(nn.softmax(x), [0.5, 0.0, 0.5])
    close(nn.log_softmax(x), [-np.log(2), -1e4 - np.log(2), -np.log(2)])
    close(nn.logsumexp(x), 1e4 + np.log(2))
    assert nn.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    assert nn.logsumexp(np.array([np.inf, 0.0])) == np.inf


def test_derivatives_of_the_softmax_family():
    x = np.array([0.3, -1.0, 0.3])
    p = np.asarray(nn.softmax(x))
    close(grad(nn.logsumexp)(x), p)
    rows = [grad(lambda x, i=i: jnp.sum(nn.softmax(x) * np.eye(3)[i]))(x) for i in range(3)]
    close(np.stack(rows), np.diag(p) - np.outer(p, p), atol=1e-15)
    rows = [grad(lambda x, i=i: jnp.sum(nn.log_softmax(x) * np.eye(3)[i]))(x) for i in range(3)]
    close(np.stack(rows), np.eye(3) - p, atol=1e-15)


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_one_hot(axis):
    labels = np.array([[0, 2], [1, 5]])  # 5 names no class
    rows = np.concatenate([np.eye(3), np.zeros((3, 3))])[labels]
    close(nn.one_hot(labels, 3, axis=axis), np.moveaxis(rows, -1, axis))
    assert nn.one_hot(2, 3, dtype=jnp.float32).tolist() == [0.0, 0.0, 1.0]
    assert nn.one_hot(2, 3, dtype=jnp.float32).dtype == np.float32
    close(vmap(lambda label: nn.one_hot(label, 3))(np.array([0, 2])), np.eye(3)[[0, 2]])
