"""`minimize`: the same iterations as JAX; where JAX fails, the minimum."""

import jax
import jax.scipy.optimize
import numpy as np
import pytest
from shares import one_in

import glassjax


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


def minimum(lib, fun, **how):
    def of(x0, *args):
        return lib.scipy.optimize.minimize(fun, x0, args, method="BFGS", **how)

    return lib.jit(of)


@pytest.mark.parametrize("fun", one_in(2, [himmelblau, matyas]))
def test_iterations(fun):
    ours, theirs = minimum(glassjax, fun), minimum(jax, fun)
    for start in ([-1.2, 3.0], [100.0, 100.0]):
        found, expected = ours(np.array(start)), theirs(np.array(start))
        assert found._fields == expected._fields
        for x, y in zip(found, expected, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6, atol=1e-9)


def test_options_and_arguments():
    options = {"maxiter": 3, "gtol": 1e-3, "norm": 2, "line_search_maxiter": 5}

    def shifted(x, by):
        return himmelblau(x - by)

    args = (np.array([-1.2, 3.0]), np.array([0.1, 0.2]))
    found = minimum(glassjax, shifted, options=options)(*args)
    expected = minimum(jax, shifted, options=options)(*args)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6, atol=1e-9)
    assert (int(found.status), int(found.nit)) == (1, 3)


def test_the_valley_of_rosenbrock():
    """JAX gives up where a search finds the upper end of an interval below the lower one."""
    of = minimum(glassjax, rosenbrock)
    for start in ([0.0, 0.0], [-1.2, 3.0], [100.0, 100.0]):
        found = of(np.array(start))
        assert bool(found.success), start
        np.testing.assert_allclose(np.asarray(found.x), [1.0, 1.0], atol=1e-5)


@pytest.mark.bits(32)
def test_numbers_of_32_bits_and_several_starts():
    starts = np.array([[-1.2, 3.0], [2.0, 2.5]])
    found, expected = (lib.vmap(minimum(lib, himmelblau))(starts) for lib in (glassjax, jax))
    assert found.x.dtype == expected.x.dtype
    np.testing.assert_allclose(np.asarray(found.x), np.asarray(expected.x), rtol=1e-3)


def test_bad_arguments():
    for lib in (jax, glassjax):
        with pytest.raises(ValueError, match="recognized"):
            lib.scipy.optimize.minimize(matyas, np.zeros(2), method="Newton")
        with pytest.raises(TypeError, match="tuple"):
            lib.scipy.optimize.minimize(matyas, np.zeros(2), [1.0], method="BFGS")


LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


@pytest.mark.parametrize(
    ("fun", "options"),
    one_in(
        2,
        [
            (himmelblau, {}),
            (himmelblau, {"maxfun": 4}),
            (matyas, {"maxcor": 2, "gtol": 1e-3, "norm": 2}),
            (himmelblau, {"maxgrad": 4, "maxls": 5}),
            (himmelblau, {"maxiter": 3}),
            (himmelblau, {"ftol": 1e3}),
        ],
    ),
)
def test_iterations_that_remember_the_last_moves(fun, options):
    def program(lib):
        minimize = lib.scipy.optimize.minimize
        return lib.jit(lambda x: minimize(fun, x, method=LBFGS, options=options))

    ours, theirs = program(glassjax), program(jax)
    for start in ([-1.2, 3.0], [10.0, 10.0]):
        found, expected = ours(np.array(start)), theirs(np.array(start))
        assert found.hess_inv is expected.hess_inv is None
        for x, y in zip(found, expected, strict=True):
            if x is not None:
                assert (x.shape, x.dtype) == (y.shape, y.dtype)
                np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-8)


def test_the_last_moves_of_complex_numbers():
    def far(z):
        return (abs(z - np.array([1 + 2j, -3j])) ** 2).sum() + (abs(z) ** 4).sum()

    start = np.array([1j, 2.0 + 0j])
    found, expected = (
        lib.jit(lambda z, of=lib.scipy.optimize.minimize: of(far, z, method=LBFGS))(start)
        for lib in (glassjax, jax)
    )
    assert bool(found.success)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-6)
