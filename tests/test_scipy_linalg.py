"""Functions of whole matrices are JAX's: values, dtypes and derivatives."""

import jax
import jax.scipy.linalg
import numpy as np
import pytest

import minijax

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(4, 4))


def assert_same(function, *args, tolerance=1e-11):
    """The results of one program of each library, all at once."""
    found, expected = minijax.jit(function(minijax))(*args), jax.jit(function(jax))(*args)
    found, expected = jax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


def test_exponentials_of_matrices_of_every_size():
    """Each size asks for another approximation; the last is too large for any."""
    sizes = np.array([1e-3, 0.1, 0.5, 1.0, 4.0, 1e8])[:, None, None]

    def function(lib):
        return lambda x: lib.scipy.linalg.expm(x)

    assert_same(function, MATRIX / 4 * sizes)
    assert_same(function, (MATRIX / 4 * sizes).astype(np.float32), tolerance=1e-4)


def test_exponentials_and_their_derivatives():
    def function(lib):
        of = lib.scipy.linalg

        def loss(x):
            return (of.expm(x) ** 2).sum()

        return lambda x, z: [
            of.expm(lib.numpy.triu(x), upper_triangular=True),
            of.expm(x * 30, max_squarings=3),
            of.expm(z),
            of.expm(x.astype(int)),
            lib.value_and_grad(loss)(x),
            of.expm_frechet(x, x.T),
            of.expm_frechet(x, x.T, compute_expm=False),
            lib.vmap(of.expm)(x * np.ones((2, 1, 1))),
        ]

    assert_same(function, MATRIX, MATRIX + 1j * MATRIX.T)


def test_square_roots():
    def function(lib):
        of = lib.scipy.linalg
        return lambda x, z: [of.sqrtm(x), of.sqrtm(x @ x.T), of.sqrtm(z), of.sqrtm(0 * x)]

    assert_same(function, MATRIX, MATRIX + 1j * MATRIX.T)


def test_schurs_decomposition():
    """Its factors are unique but for signs and phases, which LAPACK has from both libraries."""

    def function(lib):
        of = lib.scipy.linalg
        return lambda x: [of.schur(x), of.schur(x, output="complex")]

    assert_same(function, MATRIX)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda of: of.expm(MATRIX[:3]), ValueError),
        (lambda of: of.expm_frechet(MATRIX, MATRIX[:3, :3]), ValueError),
        (lambda of: of.schur(MATRIX, "triangle"), ValueError),
        (lambda of: of.sqrtm(MATRIX, 2), NotImplementedError),
    ],
)
def test_bad_arguments(call, error):
    for lib in (jax, minijax):
        with pytest.raises(error):
            call(lib.scipy.linalg)
