"""Convolutions and cosine transforms are JAX's: values, dtypes and derivatives."""

import jax
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.signal
import numpy as np
import pytest

import minijax

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(5, 6)), RNG.normal(size=(3, 2))


def assert_same(function, *args, tolerance=1e-9):
    """The results of one program of each library, all at once."""
    found, expected = minijax.jit(function(minijax))(*args), jax.jit(function(jax))(*args)
    found, expected = jax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(mode):
    def function(lib):
        of = lib.scipy.signal

        def loss(x, y):
            return (of.convolve(x, y, mode) ** 2).sum()

        return lambda x, y, i: [
            of.convolve(x, y, mode=mode),
            of.convolve(y, x, mode),
            of.convolve(x[0], y[0], mode, method="fft"),
            of.convolve(i, i[:2], mode),
            of.convolve2d(x, y, mode),
            of.correlate(x, y + 1j, mode),
            of.fftconvolve(x, x[:, :2] * 1j, mode, axes=(-1,)),
            of.fftconvolve(y, x, mode),
            lib.grad(loss, argnums=(0, 1))(x, y),
        ]

    assert_same(function, X, Y, np.arange(6))


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_cosine_transforms(norm):
    def function(lib):
        of = lib.scipy.fft

        def loss(x):
            return (of.dct(x, norm=norm) ** 3).sum() + (of.idct(x, axis=0, norm=norm) ** 3).sum()

        return lambda x, i: [
            [of.dct(x, axis=axis, norm=norm) for axis in (0, 1)],
            [of.idct(x, axis=axis, norm=norm) for axis in (0, 1)],
            of.dct(i, n=9, norm=norm),
            of.idct(x + 1j, n=4, norm=norm),
            of.dctn(x, norm=norm),
            of.idctn(x, s=(4,), norm=norm),
            of.dctn(x, axes=(1,), norm=norm),
            lib.grad(loss)(x),
        ]

    assert_same(function, X, np.arange(6))


def test_numbers_of_32_bits_and_integrals():
    with jax.enable_x64(False), minijax.enable_x64(False):
        assert_same(
            lambda lib: (
                lambda x, y: [
                    lib.scipy.signal.convolve(x, y),
                    lib.scipy.fft.dct(x),
                    lib.scipy.fft.idct(x),
                    lib.scipy.integrate.trapezoid(x, dx=0.5, axis=0),
                ]
            ),
            X,
            Y,
            tolerance=1e-4,
        )


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda lib: lib.scipy.fft.dct(X, type=3), NotImplementedError),
        (lambda lib: lib.scipy.fft.idctn(X, norm="forward"), ValueError),
        (lambda lib: lib.scipy.fft.dctn(X, s=(1, 2, 3)), ValueError),
        (lambda lib: lib.scipy.signal.convolve(X, Y[0]), ValueError),
        (lambda lib: lib.scipy.signal.convolve(X, Y, "around"), ValueError),
        (lambda lib: lib.scipy.signal.convolve(X, X.T), ValueError),
        (lambda lib: lib.scipy.signal.convolve(X, Y, method="fast"), ValueError),
        (lambda lib: lib.scipy.signal.fftconvolve(X, X.T, "valid"), ValueError),
        (lambda lib: lib.scipy.signal.convolve2d(X, Y, fillvalue=1), NotImplementedError),
    ],
)
def test_bad_arguments(call, error):
    for lib in (jax, minijax):
        with pytest.raises(error):
            call(lib)
