"""Fourier's transforms agree with JAX's."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_same

import minijax
import minijax.numpy as mnp
from minijax import lax


@pytest.fixture(autouse=True)
def _in_64_bits():
    with minijax.enable_x64(True):
        yield


def draw(name, shape, dtype=None, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    is_real = name.startswith("rfft") or name == "ihfft"
    x = x if is_real else x + 1j * rng.normal(size=shape)
    return x if dtype is None else x.astype(dtype)


CASES = [
    *((name, (3, 6), {}) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")),
    *((name, (3, 5), {"n": 7, "axis": 0}) for name in ("fft", "irfft")),
    ("rfft", (3, 5), {"n": 4, "norm": "ortho"}),
    *((name, (3, 6), {"norm": "forward"}) for name in ("ifft", "hfft", "ihfft")),
    *((name, (2, 4, 5), {}) for name in ("ifft2", "rfft2")),
    *((name, (2, 4, 5), {"axes": (0, 1), "s": (3, 4)}) for name in ("fft2", "irfft2")),
    *((name, (2, 4, 5), {"axes": (2, 0), "norm": "ortho"}) for name in ("fftn", "rfftn", "irfftn")),
    ("ifftn", (2, 3, 2, 4), {}),
]


@pytest.mark.parametrize(("name", "shape", "options"), CASES, ids=str)
def test_values_and_derivatives(name, shape, options):
    x, t = draw(name, shape), draw(name, shape, seed=1)

    def everything(lib, np_, x=x):
        def f(x):
            return getattr(np_.fft, name)(x, **options)

        out, out_tangent = lib.jvp(f, (x,), (t,))
        pulled = lib.vjp(f, x)[1](out)[0]
        return [out, out_tangent, pulled, lib.vmap(f, 1)(np.stack([x, t], 1))]

    ours, theirs = (
        lib.jit(partial(everything, lib, np_))() for lib, np_ in [(minijax, mnp), (jax, jnp)]
    )
    assert_same(ours, theirs, 1e-12)


@pytest.mark.parametrize("n", [4, 5])
def test_frequencies_and_shifts(n):
    for name in ("fftfreq", "rfftfreq"):
        for options in ({}, {"d": 0.1}, {"dtype": np.float32}):
            ours, theirs = (
                getattr(mnp.fft, name)(n, **options),
                getattr(jnp.fft, name)(n, **options),
            )
            assert_same([ours], [theirs], 1e-6)
    x = draw("fft", (n, 3))
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (1,)):
            ours, theirs = getattr(mnp.fft, name)(x, axes), getattr(jnp.fft, name)(x, axes)
            assert_same([ours], [theirs], 0)


def test_dtypes():
    with jax.enable_x64(False), minijax.enable_x64(False):
        for x in (np.arange(6), np.arange(6.0), np.arange(6) * 1j):
            names = ("fft", "irfft") if x.dtype.kind == "c" else ("fft", "rfft", "irfft")
            for name in names:
                ours, theirs = getattr(mnp.fft, name)(x), getattr(jnp.fft, name)(x)
                assert_same([ours], [theirs], 1e-5)
    for kind in ("FFT", "irfft", lax.FftType.IFFT):
        x = draw("fft", (2, 4))
        lengths = (6,) if kind == "irfft" else (4,)
        theirs = jax.lax.fft(x, kind if isinstance(kind, str) else kind.name, lengths)
        assert_same([lax.fft(x, kind, lengths)], [theirs], 1e-12)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda np_: np_.fft.fft(np.ones(3), norm="all"), ValueError),
        (lambda np_: np_.fft.fft(np.ones(3), n=0), ValueError),
        (lambda np_: np_.fft.fft(np.ones(3), axis=2), ValueError),
        (lambda np_: np_.fft.fft2(np.ones((3, 3)), axes=(0,)), ValueError),
        (lambda np_: np_.fft.rfft(np.ones(3) * 1j), TypeError),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error, match="fft"):
        call(mnp)
    with pytest.raises(Exception):  # noqa: B017, PT011  # JAX's classes vary
        call(jnp)
