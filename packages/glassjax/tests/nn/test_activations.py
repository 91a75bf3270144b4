"""Activations: by definition, at overflow, and at kinks."""

import numpy as np
from rows import for_each

import glassjax.numpy as jnp
from glassjax import grad, jacrev, jit, nn, vmap

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


def test_activations():
    h, away, far = 1e-6, X[X != 0], np.array([-1e4, 1e4, np.nan])

    by_name = jit(
        lambda x, narrow, away, far: [
            (f(x), f(narrow), derivative(f)(away), f(far), derivative(f)(far[:2]))
            for f in DEFINITIONS
        ]
    )(X, X.astype(np.float32), away, far)
    for (f, definition), (values, narrow, slopes, of_far, slopes_of_far) in zip(
        DEFINITIONS.items(), by_name, strict=True
    ):
        close(values, definition(X), atol=1e-15, err_msg=f.__name__)
        assert narrow.dtype == np.float32
        differences = (definition(away + h) - definition(away - h)) / (2 * h)
        close(slopes, differences, rtol=1e-8, err_msg=f.__name__)
        assert np.all(np.isfinite(of_far[:2])), f.__name__
        assert np.all(np.isfinite(slopes_of_far)), f.__name__
        assert np.isnan(of_far[2]), f.__name__


@for_each("f", DEFINITIONS)
def test_an_activation_that_nothing_is_around(f):
    close(f(X), DEFINITIONS[f](X), atol=1e-15)


def test_derivatives_at_zero():
    slopes = jit(lambda x: [grad(f)(x) for f in DEFINITIONS])(0.0)
    found = dict(zip(DEFINITIONS, map(float, slopes), strict=True))
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


def test_softmax_family():
    def family(x, axis):
        kept = nn.logsumexp(x, axis, keepdims=True)
        return nn.softmax(x, axis), nn.log_softmax(x, axis), nn.logsumexp(x, axis), kept

    x, axes = np.random.default_rng(0).normal(size=(2, 3)), [-1, 0, (0, 1), None]
    exps = np.exp(x)
    families = jit(lambda x: [family(x, each) for each in axes])(x)
    for axis, found in zip(axes, families, strict=True):
        total = np.sum(exps, axis=axis, keepdims=True)
        close(found[0], exps / total)
        close(found[1], np.log(exps / total))
        close(found[2], np.log(np.sum(exps, axis=axis)))
        close(found[3], np.log(total))
    for found, expected in zip(family(x, -1), jit(family, static_argnums=1)(x, -1), strict=True):
        close(found, expected)


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
    of_sum, rows, rows_of_logs = jit(
        lambda x: (grad(nn.logsumexp)(x), jacrev(nn.softmax)(x), jacrev(nn.log_softmax)(x))
    )(x)
    close(of_sum, p)
    close(rows, np.diag(p) - np.outer(p, p), atol=1e-15)
    close(rows_of_logs, np.eye(3) - p, atol=1e-15)


@for_each("axis", [-1, 0, 1, -2])
def test_one_hot(axis):
    labels = np.array([[0, 2], [1, 5]])  # 5 names no class
    rows = np.concatenate([np.eye(3), np.zeros((3, 3))])[labels]
    close(nn.one_hot(labels, 3, axis=axis), np.moveaxis(rows, -1, axis))
    assert nn.one_hot(2, 3, dtype=jnp.float32).tolist() == [0.0, 0.0, 1.0]
    assert nn.one_hot(2, 3, dtype=jnp.float32).dtype == np.float32
    close(vmap(lambda label: nn.one_hot(label, 3))(np.array([0, 2])), np.eye(3)[[0, 2]])
