"""Fourier transforms, beside JAX."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_same
from tables import for_each

import glassjax
import glassjax.numpy as gnp
from glassjax import lax


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


@pytest.fixture(scope="module")
def results():
    """Values, derivatives and batches of each case; each library compiles one program."""

    def everything(lib, np_, x, t, case):
        name, _, options = case

        def f(x):
            return getattr(np_.fft, name)(x, **options)

        out, out_tangent = lib.jvp(f, (x,), (t,))
        pulled = lib.vjp(f, x)[1](out)[0]
        return [out, out_tangent, pulled, lib.vmap(f, 1)(np_.stack([x, t], 1))]

    def program(lib, np_):
        return lib.jit(
            lambda xs: [everything(lib, np_, *x, case) for x, case in zip(xs, CASES, strict=True)]
        )

    xs = [[draw(name, shape, seed=seed) for seed in (0, 1)] for name, shape, _ in CASES]
    found = program(glassjax, gnp)(xs), program(jax, jnp)(xs)
    return dict(zip(map(str, CASES), zip(*found, strict=True), strict=True))


@for_each("case", map(str, CASES))
def test_values_and_derivatives(case, results):
    assert_same(*results[case], 1e-12)


def test_frequencies_and_shifts():
    def frequencies(n, _, name, size, options):
        return getattr(n.fft, name)(size, **options)

    def shifted(n, _, name, size, axes):
        return getattr(n.fft, name)(draw("fft", (size, 3)), axes)

    programs = {
        (name, size, str(options)): partial(frequencies, name=name, size=size, options=options)
        for size in (4, 5)
        for name in ("fftfreq", "rfftfreq")
        for options in ({}, {"d": 0.1}, {"dtype": np.float32})
    } | {
        (name, size, axes): partial(shifted, name=name, size=size, axes=axes)
        for size in (4, 5)
        for name in ("fftshift", "ifftshift")
        for axes in (None, 0, (1,))
    }
    assert_all_same_results(programs, 1e-6)


def test_dtypes():
    with jax.enable_x64(False), glassjax.enable_x64(False):
        programs = {
            (name, x.dtype): lambda n, _, name=name, x=x: getattr(n.fft, name)(x)
            for x in (np.arange(6), np.arange(6.0), np.arange(6) * 1j)
            for name in ("fft", "rfft", "irfft")
            if (name, x.dtype.kind) != ("rfft", "c")
        }
        assert_all_same_results(programs, 1e-5, 1e-5)
    x, kinds = draw("fft", (2, 4)), ("FFT", "irfft", "IFFT")
    programs = {
        kind: lambda _, lib, kind=kind: lib.lax.fft(x, kind, (6 if kind == "irfft" else 4,))
        for kind in kinds
    }
    assert_all_same_results(programs, 1e-12, 1e-12)
    np.testing.assert_allclose(lax.fft(x, lax.FftType.IFFT, (4,)), np.fft.ifft(x), 1e-12, 1e-12)


@for_each(
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
        call(gnp)
    with pytest.raises(Exception):  # noqa: B017, PT011  # JAX's classes vary
        call(jnp)
