"""Special functions that are series and continued fractions: values and derivatives are JAX's."""

import jax
import jax.scipy.special
import numpy as np
import pytest

import minijax
import minijax.scipy.special

RNG = np.random.default_rng(0)
A, X = 10 ** RNG.uniform(-3, 3, size=(2, 40))
X[:20] = A[:20] * RNG.uniform(0.8, 1.2, 20)
B = A[::-1]
UNIT = RNG.uniform(0, 1, 40)
UNIT[:20] = np.clip((A / (A + B))[:20] + RNG.normal(size=20) * 0.01, 0, 1)
SIGNED = np.concatenate([RNG.uniform(-9, 9, 20), [0.0, 0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 39.0, 41.0]])
POSITIVE = np.abs(SIGNED) + 0.01

EDGES = [0.0, 1.0, 2.5, np.inf, np.nan, -1.0]
EDGE_A, EDGE_X = (edges.ravel() for edges in np.meshgrid(EDGES, EDGES))


def close(found, expected, tolerance):
    found, expected = jax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=1e-300)


def assert_same(function, *args, tolerance=1e-9):
    close(minijax.jit(function(minijax))(*args), jax.jit(function(jax))(*args), tolerance)


# The functions, their arguments, and by which of them they have a derivative.
CASES = {
    "gammainc": ((A, X), (0, 1)),
    "gammaincc": ((A, X), (0, 1)),
    "betainc": ((A, B, UNIT), (2,)),
    "poch": ((A[A < 50], X[A < 50] / 100), (0, 1)),
    "erfcx": ((SIGNED,), (0,)),
    "exp1": ((POSITIVE,), (0,)),
    "expi": ((SIGNED[SIGNED != 0],), (0,)),
    "sici": ((SIGNED,), ()),
    "spence": ((POSITIVE[POSITIVE != 1],), ()),
    "loggamma": ((POSITIVE,), (0,)),
    "factorial": ((SIGNED[:20],), ()),
    "xlogy": ((SIGNED, POSITIVE), (0, 1)),
    "xlog1py": ((SIGNED, POSITIVE), (0, 1)),
    "entr": ((POSITIVE,), (0,)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    args, by = CASES[name]

    def function(lib):
        f = getattr(lib.scipy.special, name)
        slope = lib.grad(lambda *args: f(*args).sum(), argnums=by)
        return lambda *args: [f(*args), slope(*args) if by else ()]

    assert_same(function, *args)
    if name not in ("factorial", "poch"):  # whose results are too large for them
        narrow = [x.astype(np.float32) for x in args]
        assert_same(
            lambda lib: lambda *args: getattr(lib.scipy.special, name)(*args),
            *narrow,
            tolerance=5e-2 if name in ("betainc", "gammainc", "gammaincc") else 1e-3,
        )


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_gamma_functions_at_the_edges(name):
    assert_same(lambda lib: getattr(lib.scipy.special, name), EDGE_A, EDGE_X)


def test_the_beta_function_at_the_edges():
    a, b, x = (v.ravel() for v in np.meshgrid(EDGES, EDGES, [0.0, 0.4, 1.0, 1.5, np.nan]))
    assert_same(lambda lib: lib.scipy.special.betainc, a, b, x)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_expn(n):
    x = POSITIVE[:24]
    assert_same(
        lambda lib: (
            lambda x: [
                lib.scipy.special.expn(n, x),
                lib.grad(lambda x: lib.scipy.special.expn(n, x).sum())(x) if n > 1 else (),
            ]
        ),
        x,
    )


def test_derivatives_where_a_logarithm_is_infinite():
    def function(lib):
        of = lib.scipy.special
        return lambda x, y: (
            [lib.grad(f, argnums=(0, 1))(x, y) for f in (of.xlogy, of.xlog1py)]
            + [lib.grad(of.entr)(x)]
        )

    assert_same(function, np.float64(0.0), np.float64(0.3))
    assert_same(function, np.float64(0.0), np.float64(0.0))


def test_the_derivative_of_drawn_numbers():
    assert_same(lambda lib: lib.lax.random_gamma_grad, A[:20], X[:20])
    assert_same(lambda lib: lib.lax.igamma_grad_a, A, X)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 20, 61])
def test_bernoullis_numbers(n):
    close(minijax.scipy.special.bernoulli(n), jax.scipy.special.bernoulli(n), 1e-12)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda of: of.bernoulli(-1), ValueError),
        (lambda of: of.factorial(3, exact=True), NotImplementedError),
        (lambda of: of.spence(np.arange(3)), TypeError),
        (lambda of: of.betainc(1j, 1.0, 0.5), ValueError),
        (lambda of: of.erfcx(1j), ValueError),
    ],
)
def test_bad_arguments(call, error):
    for lib in (jax, minijax):
        with pytest.raises(error):
            call(lib.scipy.special)
