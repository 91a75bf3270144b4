"""The incomplete gamma functions are JAX's, and so is how numbers move with the parameter."""

import itertools

import jax
import numpy as np
import pytest

import minijax

A, X = np.meshgrid(
    [0, 1e-3, 0.1, 0.99, 1, 1.5, 3, 50, 1e3, -1, np.nan],
    [0, 1e-6, 0.3, 0.9, 1, 1.6, 9, 300, np.inf, -2, np.nan],
)


NAMES = ["igamma", "igammac", "igamma_grad_a", "random_gamma_grad"]
CASES = [*itertools.product(NAMES, ["float32", "float64"]), ("igamma", "float16")]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_values_are_jaxs(name, dtype):
    a, x = A.astype(dtype), X.astype(dtype)
    ours = np.asarray(getattr(minijax.lax, name)(a, x))
    theirs = np.asarray(jax.jit(getattr(jax.lax, name))(a, x))
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    # Near 0 igammac is what is left of 1.
    eps = float(np.finfo(dtype).eps)
    if name == "random_gamma_grad":  # JAX's loses digits where hardly a number is drawn
        is_drawn = np.minimum(jax.lax.igamma(a, x), jax.lax.igammac(a, x)) > 1e-9
        ours, theirs = ours[is_drawn], theirs[is_drawn]
    np.testing.assert_allclose(ours, theirs, rtol=300 * eps, atol=3 * eps)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_gradients_are_jaxs(name):
    a, x = np.array([0.1, 1.5, 30.0]), np.array([0.4, 3.0, 28.0])

    def gradients(lib):
        function = getattr(lib.lax, name)
        return lib.jit(lib.grad(lambda a, x: function(a, x).sum(), (0, 1)))(a, x)

    for mine, jaxs in zip(gradients(minijax), gradients(jax), strict=True):
        np.testing.assert_allclose(mine, jaxs, rtol=1e-10)
