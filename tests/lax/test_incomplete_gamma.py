"""The incomplete gamma functions and the derivatives of gamma samples, beside JAX."""

import itertools

import jax
import numpy as np
import pytest
import scipy.special
from mpmath import mp

import glassjax
import glassjax.scipy.special
from glassjax.lax import incomplete_gamma as asymptotics

A, X = np.meshgrid(
    [0, 1e-3, 0.1, 0.99, 1, 1.5, 3, 50, 1e3, -1, np.nan],
    [0, 1e-6, 0.3, 0.9, 1, 1.6, 9, 300, np.inf, -2, np.nan],
)


NAMES = ["igamma", "igammac", "igamma_grad_a", "random_gamma_grad"]


# Each name by day in one dtype, each dtype for two of them.
CASES = [("igamma", "float64"), ("igammac", "float32")]


CASES += [("igamma_grad_a", "float64"), ("random_gamma_grad", "float32"), ("igamma", "float16")]


AT_NIGHT = [case for case in itertools.product(NAMES, ["float32", "float64"]) if case not in CASES]


CASES += [pytest.param(*case, marks=pytest.mark.nightly) for case in AT_NIGHT]


@pytest.mark.newest_jax("igammac-float32")
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_values_are_jaxs(name, dtype):
    a, x = A.astype(dtype), X.astype(dtype)
    ours = np.asarray(getattr(glassjax.lax, name)(a, x))
    theirs = np.asarray(jax.jit(getattr(jax.lax, name))(a, x))
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    # Near 0 igammac is what is left of 1.
    eps = float(np.finfo(dtype).eps)
    if name == "random_gamma_grad":  # JAX's loses digits where hardly a number is drawn
        below, above = scipy.special.gammainc(a, x), scipy.special.gammaincc(a, x)
        is_drawn = np.minimum(below, above) > 1e-9
        ours, theirs = ours[is_drawn], theirs[is_drawn]
    np.testing.assert_allclose(ours, theirs, rtol=300 * eps, atol=3 * eps)


def test_gradients_are_exact():
    a, x = np.array([0.1, 1.5, 30.0]), np.array([0.4, 3.0, 28.0])

    @glassjax.jit
    def gradients(a, x):
        functions = glassjax.lax.igamma, glassjax.lax.igammac
        return [glassjax.grad(lambda a, x, f=f: f(a, x).sum(), (0, 1))(a, x) for f in functions]

    with mp.workdps(40):
        by_a = [
            float(mp.diff(lambda a, x=x: mp.gammainc(a, 0, x, regularized=True), a))
            for a, x in zip(a, x, strict=True)
        ]
    by_a, by_x = np.array(by_a), x ** (a - 1) * np.exp(-x) / scipy.special.gamma(a)
    for sign, found in zip((1, -1), gradients(a, x), strict=True):
        np.testing.assert_allclose(found, (sign * by_a, sign * by_x), rtol=1e-10)


LARGE = [1.7e4, 1e7, 1e17, 1e300]


@pytest.mark.newest_jax
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_incomplete_gamma_functions_of_large_numbers(dtype):
    """Their sums took a step for each of sqrt(a) terms, or never ended."""
    special, lax = glassjax.scipy.special, glassjax.lax
    a = np.array(LARGE if dtype == "float64" else [1.7e4, 1e7, 1e17, 1e30], dtype)
    at_a = 1 / (3 * np.sqrt(2 * np.pi * a.astype(np.float64)))
    rtol = max(8 * float(np.finfo(dtype).eps), 1e-8)
    np.testing.assert_allclose(special.gammaincc(a, a), 0.5 - at_a, rtol=rtol)
    np.testing.assert_allclose(special.gammainc(a, a), 0.5 + at_a, rtol=rtol)
    np.testing.assert_array_equal(special.gammainc(a, a * 2), 1)
    np.testing.assert_array_equal(special.gammaincc(a, a * 2), 0)
    np.testing.assert_array_equal(special.gammainc(a, a / 2), 0)
    np.testing.assert_allclose(lax.random_gamma_grad(a, a), 1, rtol=1e-4)


@pytest.mark.newest_jax
@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "igamma_grad_a", "random_gamma_grad"])
def test_both_ways_to_the_incomplete_gamma_functions_meet(name):
    """Below `LARGE` they are sums and fractions, from there on an expansion."""
    module = glassjax.lax if "grad" in name else glassjax.scipy.special
    function = getattr(module, name)
    a = np.array([asymptotics.LARGE])
    x = a + np.sqrt(a) * np.linspace(-8, 8, 21)
    below, here = np.nextafter(a, 0), a
    np.testing.assert_allclose(function(below, x), function(here, x), rtol=2e-10)
