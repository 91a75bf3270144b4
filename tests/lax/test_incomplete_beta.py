"""The incomplete beta function and its density, exact also for large operands."""

import numpy as np
import pytest
import scipy.special

import glassjax
from glassjax.lax import incomplete_beta
from glassjax.scipy.special import betainc

SIZES = [0.5, 3.0, 40.0, 3e3, 1e6, 8e6, 3e7, 1e10]


def operands():
    """Of every pair of sizes, points up to six standard deviations from the mean."""
    a, b, z = (v.ravel() for v in np.meshgrid(SIZES, SIZES, np.linspace(-6, 6, 9)))
    mean = a / (a + b)
    x = mean + z * np.sqrt(mean * (1 - mean) / (a + b + 1))
    is_inside = (x > 0) & (x < 1) & (np.minimum(mean, 1 - mean) > 1e-7)
    return a[is_inside], b[is_inside], x[is_inside]


SIZE = operands()[0].size


def of_one_size(a, b, x):
    """`betainc` of as many operands as all have here, so that it compiles once."""
    a, b, x = np.broadcast_arrays(a, b, x)
    return np.asarray(betainc(*(np.resize(v, SIZE) for v in (a, b, x))))[: x.size].reshape(x.shape)


def test_values():
    a, b, x = operands()
    np.testing.assert_allclose(betainc(a, b, x), scipy.special.betainc(a, b, x), rtol=5e-8)


def test_a_normal_distribution_is_left_of_large_operands():
    """One half was 0.98, and JAX's is -67."""
    a, z = 1e12, np.array([-1.5, 0.0, 1.5, 3.0])
    x = 0.5 + z / np.sqrt(8 * a)
    found = of_one_size(a, a, x)
    z = (2 * x - 1) * np.sqrt(2 * a)
    np.testing.assert_allclose(found, scipy.special.ndtr(z), rtol=1e-9)


def test_values_of_32_bits():
    a, b, x = (v.astype(np.float32) for v in operands())
    is_spread = np.minimum(a, b) < 1e6  # else the neighbours of x are standard deviations away
    a, b, x = a[is_spread], b[is_spread], x[is_spread]
    expected = scipy.special.betainc(*(v.astype(np.float64) for v in (a, b, x)))
    np.testing.assert_allclose(of_one_size(a, b, x), expected, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize("x64", [False, True])
def test_slopes(x64):
    a, b, x = np.array([[0.5, 3, 12, 200], [2, 0.7, 30, 300], [0.1, 0.9, 0.3, 0.41]], np.float32)
    a, b, x = (v.astype(np.float64) for v in (a, b, x))
    density = x ** (a - 1) * (1 - x) ** (b - 1) / scipy.special.beta(a, b)
    expected = density, density * ((a - 1) / x - (b - 1) / (1 - x))

    @glassjax.jit
    def slopes(a, b, x):
        slope = glassjax.grad(betainc, 2)
        return [glassjax.vmap(f)(a, b, x) for f in (slope, glassjax.grad(slope, 2))]

    with glassjax.enable_x64(x64):
        dtype = np.float64 if x64 else np.float32
        found = slopes(*(v.astype(dtype) for v in (a, b, x)))
        assert all(v.dtype == dtype for v in found)
        np.testing.assert_allclose(found, expected, rtol=1e-9 if x64 else 2e-4)


def test_both_ways_meet():
    large = incomplete_beta.LARGE
    a, b = np.array([large, 4 * large]), np.array([4 * large, large])
    x = (a + np.sqrt(a) * np.linspace(-3, 3, 7)[:, None]) / (a + b)
    below = np.nextafter(large, 0)
    near = of_one_size(np.minimum(a, 4 * below), np.minimum(b, 4 * below), x)
    less = of_one_size(np.where(a == large, below, a), np.where(b == large, below, b), x)
    here = of_one_size(a, b, x)
    np.testing.assert_allclose(less, here, rtol=1e-9)
    np.testing.assert_allclose(near, here, rtol=1e-6)
