"""Convolutions and spectra: values, dtypes and derivatives, beside JAX."""

import jax
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.signal
import numpy as np
import pytest
from libraries import assert_close, assert_same_program, of_constants
from tables import for_each

import glassjax
from glassjax.scipy.signal import window_of

RNG = np.random.default_rng(0)


X, Y = RNG.normal(size=(5, 6)), RNG.normal(size=(3, 2))


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

    assert_same_program(function, X, Y, np.arange(6))


@pytest.mark.bits(32)
def test_numbers_of_32_bits_and_integrals():
    assert_same_program(
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


@for_each(
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
    for lib in (jax, glassjax):
        with pytest.raises(error):
            lib.eval_shape(lambda lib=lib: call(lib))


SIGNALS = RNG.normal(size=(2, 40))


def test_spectra_of_segments():
    def function(lib):
        of = lib.scipy.signal

        def loss(x):
            return abs(of.stft(x, nperseg=8)[2]).sum()

        return lambda x, i: [
            of.stft(x, nperseg=8),
            of.stft(x, fs=3.0, window="hamming", nperseg=9, noverlap=2, boundary="even"),
            of.stft(x, 2, ("kaiser", 3.0), 8, nfft=11, boundary="odd", detrend="constant"),
            of.stft(x, nperseg=8, boundary="constant", detrend="linear", padded=False),
            of.stft(x, nperseg=8, boundary=None, return_onesided=False),
            of.stft(x[:, :3], nperseg=2, axis=0, window="boxcar"),
            of.stft(i, nperseg=7, window=np.arange(7.0), noverlap=6),
            of.stft(x * 1j, nperseg=8, return_onesided=False, detrend=lambda x: x * 2),
            lib.grad(loss)(x),
        ]

    assert_same_program(function, SIGNALS, np.arange(40))


@pytest.mark.parametrize(
    "how",
    [
        {"nperseg": 8},
        {"nperseg": 8, "noverlap": 3, "boundary": None, "window": "hamming"},
        {"nperseg": 8, "nfft": 12, "fs": 4.0},
        {"nperseg": 8, "return_onesided": False},
    ],
    ids=str,
)
def test_signals_of_their_spectra(how):
    """They are the signals again; in the middle, where segments do not go on past the ends."""
    back = {
        "input_onesided" if name == "return_onesided" else name: value
        for name, value in how.items()
    } | ({"boundary": False} if "boundary" in how else {})

    def function(lib):
        of = lib.scipy.signal

        def again(x):
            return of.istft(of.stft(x, **how)[2], **back)

        return lambda x: [again(x), lib.grad(lambda x: (abs(again(x)[1]) ** 2).sum())(x)]

    ours, theirs = (of_constants(lib).jit(function(lib))(SIGNALS[0]) for lib in (glassjax, jax))
    assert_close(ours, theirs, 1e-9)
    times, signal = ours[0]
    size = min(40, len(times))
    np.testing.assert_allclose(signal[8 : size - 8], SIGNALS[0][8 : size - 8], atol=1e-9)


def test_segments_of_an_odd_number_of_samples():
    """Which JAX does not put together again."""

    @glassjax.jit
    def again(x):
        of = glassjax.scipy.signal
        return of.istft(of.stft(x, nperseg=9)[2], nperseg=9)

    _, signal = again(SIGNALS)
    np.testing.assert_allclose(signal[:, :40], SIGNALS, atol=1e-12)


def test_axes_of_spectra():
    """Where JAX and scipy count times along the wrong axis, if there are several signals."""

    def program(lib):
        of = lib.scipy.signal

        def again(x):
            z = of.stft(x, nperseg=8)[2]
            moved = lib.numpy.moveaxis(z, (1, 2), (0, 1))
            return of.istft(z, fs=2.0), of.istft(moved, fs=2.0, time_axis=1, freq_axis=0)

        return lib.jit(again)

    for ours, theirs in zip(program(glassjax)(SIGNALS), program(jax)(SIGNALS), strict=True):
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-12)
        np.testing.assert_allclose(ours[0], np.arange(40) / 2.0)


def test_spectral_densities():
    def function(lib):
        of = lib.scipy.signal

        def loss(x):
            return of.welch(x, nperseg=8, average="median")[1].sum()

        return lambda x, i: [
            of.welch(x, nperseg=8),
            of.welch(x, 2.0, "blackman", nperseg=9, noverlap=1, nfft=10, detrend=False),
            of.welch(x, nperseg=8, scaling="spectrum", average="median", detrend="linear"),
            of.welch(x[:, :6], nperseg=2, axis=0),
            of.welch(x * 1j, nperseg=8, return_onesided=False),
            of.welch(i, window=np.ones(5)),
            of.csd(x, x[:1, 3:], nperseg=8),
            of.csd(x, x**2, nperseg=9, average="median", fs=3),
            of.csd(x, None, nperseg=8, detrend=lambda x: x - 1),
            of.csd(x, x * 1j, nperseg=8, return_onesided=False),
            lib.grad(loss)(x),
        ]

    assert_same_program(function, SIGNALS, np.arange(40))


def test_trends_are_taken_away():
    def function(lib):
        of = lib.scipy.signal

        def loss(x):
            return (of.detrend(x, bp=[7, 30]) ** 3).sum()

        return lambda x, i: [
            of.detrend(x),
            of.detrend(x, 0),
            of.detrend(x, type="constant"),
            of.detrend(x, bp=[10, 30, 31]),
            of.detrend(x, bp=40),
            of.detrend(x + 2j * x**2),
            of.detrend(i),
            lib.grad(loss)(x),
        ]

    assert_same_program(function, SIGNALS, np.arange(40))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlations_of_matrices(mode):
    def function(lib):
        def of(x, y):
            return lib.scipy.signal.correlate2d(x, y, mode)

        return lambda x, y: [
            of(x, y),
            of(y, x),
            of(x, y[:2, :1]),
            of(x, x + 1j),
            lib.grad(lambda x: (of(x, y) ** 2).sum())(x),
        ]

    assert_same_program(function, X, Y)


@pytest.mark.bits(32)
def test_spectra_of_32_bits():
    assert_same_program(
        lambda lib: (
            lambda x, i: [
                lib.scipy.signal.stft(x, nperseg=8),
                lib.scipy.signal.welch(i, nperseg=8),
                lib.scipy.signal.csd(x, i[None], nperseg=8),
                lib.scipy.signal.detrend(x),
                lib.scipy.signal.istft(lib.scipy.signal.stft(i, nperseg=8)[2]),
            ]
        ),
        SIGNALS,
        np.arange(40),
        tolerance=1e-4,
    )


WINDOWS = ["boxcar", "hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop"]


WINDOWS += ["bartlett", "triang", "cosine", ("gaussian", 2.0), ("kaiser", 3.0), "tukey"]


WINDOWS += [("tukey", 0.0), ("tukey", 1.0)]


@for_each("window", WINDOWS)
def test_windows_by_name_are_scipys(window):
    get_window = pytest.importorskip("scipy.signal").get_window
    for size in (1, 2, 7, 8):
        found = window_of("stft", window, size, size)
        np.testing.assert_allclose(found, get_window(window, size), atol=1e-14)


@pytest.mark.parametrize("name", ["stft", "welch"])
def test_what_is_made_to_fit_is_told(name):
    for lib in (jax, glassjax):
        of = getattr(lib.scipy.signal, name)
        with pytest.warns(UserWarning, match="nperseg") as shorter:
            lib.eval_shape(lambda x, of=of: of(x, nperseg=50), SIGNALS)
        with pytest.warns(UserWarning, match="return_onesided=False") as both:
            lib.eval_shape(lambda x, of=of: of(x, nperseg=8), SIGNALS * 1j)
        if lib is glassjax:  # at the user's line
            assert {w.filename for w in (*shorter, *both)} == {__file__}


@for_each(
    "call",
    [
        lambda of: of.stft(SIGNALS, nperseg=8, boundary="wall"),
        lambda of: of.stft(SIGNALS, nperseg=8, window="curtain"),
        lambda of: of.stft(SIGNALS, nperseg=8, window=np.ones(9)),
        lambda of: of.stft(SIGNALS, nperseg=8, window=np.ones((2, 8))),
        lambda of: of.stft(SIGNALS, nperseg=8, noverlap=8),
        lambda of: of.stft(SIGNALS, nperseg=8, nfft=6),
        lambda of: of.stft(SIGNALS, nperseg=0),
        lambda of: of.stft(SIGNALS, nperseg=8, detrend="quadratic"),
        lambda of: of.csd(SIGNALS, SIGNALS[0], nperseg=8),
        lambda of: of.csd(SIGNALS, SIGNALS, nperseg=8, scaling="amplitude"),
        lambda of: of.welch(SIGNALS, nperseg=8, average="mode"),
        lambda of: of.istft(SIGNALS[0]),
        lambda of: of.istft(SIGNALS, time_axis=0, freq_axis=0),
        lambda of: of.istft(SIGNALS, nperseg=2, noverlap=2),
        lambda of: of.detrend(SIGNALS, type="quadratic"),
        lambda of: of.detrend(SIGNALS, bp=50),
        lambda of: of.detrend(SIGNALS, bp=-1),
        lambda of: of.correlate2d(X, Y[0]),
        lambda of: of.correlate2d(X, Y, "around"),
    ],
)
def test_bad_arguments_of_spectra(call):
    for lib in (jax, glassjax):
        with pytest.raises(ValueError, match=r"."):
            lib.eval_shape(lambda lib=lib: call(lib.scipy.signal))


def test_what_is_not_there_of_spectra():
    for lib in (jax, glassjax):
        with pytest.raises(NotImplementedError):
            lib.scipy.signal.detrend(SIGNALS, overwrite_data=True)
        with pytest.raises(NotImplementedError):
            lib.scipy.signal.correlate2d(X, Y, boundary="wrap")
