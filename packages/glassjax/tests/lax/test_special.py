"""Special functions satisfy the equations that define them, over their whole domain."""

import math

import numpy as np
import pytest
from rows import for_each

import glassjax.numpy as jnp
from glassjax import eval_shape, grad, jit, jvp, lax, vmap

POSITIVE = np.array([0.01, 0.3, 1.0, 1.7, 4.2, 30.0])


def is_close(x, y, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


def test_erf_inv_undoes_erf():
    x = np.linspace(-0.999, 0.999, 25)
    is_close(lax.erf(lax.erf_inv(x)), x)
    is_close(lax.erf_inv(np.array([-1.0, 1.0])), [-np.inf, np.inf])


def test_erfc_is_exact_where_erf_is_nearly_1():
    is_close(lax.erfc(10.0), math.erfc(10.0), tolerance=1e-50)


def test_digamma_grows_by_the_reciprocal():
    is_close(lax.digamma(POSITIVE + 1) - lax.digamma(POSITIVE), 1 / POSITIVE)
    is_close(lax.digamma(1.0), -np.euler_gamma)


def test_polygamma_is_a_zeta_function():
    for m in (1.0, 2.0, 3.0):
        expected = (-1) ** (m + 1) * math.factorial(int(m)) * lax.zeta(m + 1, POSITIVE)
        is_close(lax.polygamma(m, POSITIVE) / expected, np.ones_like(POSITIVE), 1e-10)


def test_zeta_at_even_numbers():
    is_close(lax.zeta(2.0, 1.0), math.pi**2 / 6)
    is_close(lax.zeta(4.0, 1.0), math.pi**4 / 90)


def test_the_derivative_of_zeta_is_a_sum():
    """It had none by the exponent. Far terms are a logarithm each by a power."""
    k = np.arange(2_000_000)
    for x, q in ((3.0, 1.0), (4.5, 0.3), (2.5, 40.0)):
        logs = np.log(q + k)
        rest = (k[-1] + q + 0.5) ** (1 - x) * (np.log(k[-1] + q + 0.5) / (x - 1) + (x - 1) ** -2)
        is_close(grad(lax.zeta)(x, q), -np.sum(logs * (q + k) ** -x) - rest, 1e-9)


def test_igamma_where_it_has_a_formula():
    x = np.array([0.0, 1e-5, 0.3, 1.0, 1.2, 4.0, 40.0, np.inf])
    a = np.concatenate([[1.0, 0.5], POSITIVE])[:, None]
    lower, upper = lax.igamma(a, x[None]), lax.igammac(a, x[None])
    is_close(lower[0], -np.expm1(-x))
    is_close(upper[0] * np.exp(np.minimum(x, 50)), np.ones_like(x) * (x < 50))
    is_close(lower[1], [math.erf(math.sqrt(y)) for y in x])
    is_close(lower + upper, 1.0)
    outside = np.resize([(-1.0, 1.0), (2.0, -1.0), (0.0, 0.0)], (lower.size, 2)).T
    assert np.isnan(lax.igamma(*outside.reshape(2, *lower.shape))).all()


def test_how_igamma_and_its_inverse_move_with_the_parameter():
    a, x, h = POSITIVE[:, None], np.array([[1e-3, 0.4, 1.0, 3.0, 25.0]]), 1e-5

    @jit
    def of(a, x):
        both = lax.igamma, lax.igammac
        by_a = [jvp(lambda a, f=f: f(a, x), (a,), (jnp.ones_like(a),))[1] for f in both]
        density = jvp(lambda x: lax.igamma(a, x), (x,), (jnp.ones_like(x),))[1]
        moved, unmoved = lax.random_gamma_grad(a, x), lax.random_gamma_grad(a, 0 * x)
        return lax.igamma_grad_a(a, x), by_a, density, moved, unmoved, lax.igamma(a, x)

    a, x = np.broadcast_arrays(a, x)
    slope, (of_lower, of_upper), density, moved, unmoved, _ = of(a, x)
    is_close(slope, (of(a + h, x)[-1] - of(a - h, x)[-1]) / (2 * h), 1e-8)
    is_close(of_lower, slope)
    is_close(of_upper, -slope)
    is_close(moved * density, -slope)
    is_close(unmoved, 0.0)


@for_each("dtype", [np.float16, np.float32, np.float64])
def test_the_bessel_functions_are_series(dtype):
    x = np.array([-12.0, -3.0, -0.5, 0.0, 0.2, 2.5, 7.9, 8.1, 40.0])
    k = np.arange(120.0)
    factorials = np.array([math.lgamma(n + 1) for n in k])
    half = np.abs(x)[:, None] / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(half == 0, np.where(k == 0, 0.0, -np.inf), 2 * k * np.log(half))
    i0e = np.exp(logs - 2 * factorials - np.abs(x)[:, None]).sum(1)
    i1e = (half * np.exp(logs - 2 * factorials - np.abs(x)[:, None]) / (k + 1)).sum(1) * np.sign(x)
    tolerance = 10 * float(np.finfo(dtype).eps)
    x = x.astype(dtype)
    assert lax.bessel_i0e(x).dtype == lax.bessel_i1e(x).dtype == dtype
    is_close(lax.bessel_i0e(x).astype(float), i0e, max(tolerance, 1e-13))
    is_close(lax.bessel_i1e(x).astype(float), i1e, max(tolerance, 1e-13))


def test_the_derivative_of_i1e_at_zero_is_a_half():
    is_close(grad(lax.bessel_i1e)(0.0), 0.5)


@for_each(
    ("function", "message"),
    [
        (lax.polygamma, "polygamma: there is no.*by m"),
        (lax.igamma_grad_a, "igamma_grad_a: there is no.*by a"),
    ],
)
def test_where_there_is_no_formula_there_is_an_error(function, message):
    with pytest.raises(NotImplementedError, match=message):
        eval_shape(lambda *args: jvp(function, args, (1.0, 0.0)), 2.0, 3.0)
    assert eval_shape(vmap(function, (None, 0)), 2.0, POSITIVE).shape == POSITIVE.shape
