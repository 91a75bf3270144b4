"""Iterative solvers: exact solutions, and JAX's after few iterations."""

from functools import partial

import jax
import jax.scipy.sparse.linalg
import numpy as np
import pytest
from libraries import assert_close, assert_same_program
from shares import IS_NIGHT, a_few
from tables import for_each

import glassjax

RNG = np.random.default_rng(0)


ROOT = RNG.normal(size=(5, 5))


POSITIVE = ROOT @ ROOT.T + np.eye(5)


GENERAL = ROOT + 4 * np.eye(5)


B, X0 = RNG.normal(size=(2, 5))


MATRICES = {"cg": POSITIVE, "bicgstab": GENERAL, "gmres": GENERAL}


@pytest.mark.parametrize("name", MATRICES)
def test_solutions_and_derivatives(name):
    """Those of few steps are JAX's, the others are exact."""
    A = MATRICES[name]
    inverse = np.linalg.inv(POSITIVE)

    def steps(solve, A, b):
        return solve(A, b), solve(A, b, X0, maxiter=1, tol=1e-9, atol=1e-3), solve(A, b, M=inverse)

    @glassjax.jit
    def of_ours(A, b):
        solve = getattr(glassjax.scipy.sparse.linalg, name)

        def loss(A, b):
            return (solve(A, b, tol=1e-12)[0] ** 2).sum()

        return steps(solve, A, b), [
            glassjax.grad(loss, argnums=(0, 1))(A, b),
            glassjax.jvp(lambda b: solve(A, b, M=inverse, tol=1e-12)[0], (b,), (b**2,)),
            glassjax.vmap(lambda b: solve(A, b, tol=1e-12)[0])(b * np.ones((2, 1))),
        ]

    found, (slopes, moved, rows) = of_ours(A, B)
    solve = getattr(jax.scipy.sparse.linalg, name)
    assert_close(found, jax.jit(lambda A, b: steps(solve, A, b))(A, B), 1e-9)
    x = np.linalg.solve(A, B)
    by_b = np.linalg.solve(A.T, 2 * x)
    exact = [-np.outer(by_b, x), by_b], [x, np.linalg.solve(A, B**2)], [x, x]
    for one, other in zip((slopes, moved, rows), exact, strict=True):
        for y, expected in zip(one, other, strict=True):
            np.testing.assert_allclose(y, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", MATRICES)
def test_trees_and_functions(name):
    A = MATRICES[name]

    def program(lib):
        def solve(A, b):
            def matvec(x):
                both = A @ lib.numpy.concatenate([x["u"], x["v"]])
                return {"u": both[:2], "v": both[2:]}

            return getattr(lib.scipy.sparse.linalg, name)(
                matvec,
                {"u": b[:2], "v": b[2:]},
                {"u": b[:2] * 0.1, "v": b[2:]},
                tol=1e-11,
                M=lambda x: lib.tree.map(lambda leaf: leaf / 3, x),
            )

        return solve

    found, info = glassjax.jit(program(glassjax))(A, B)
    types = jax.eval_shape(program(jax), A, B)
    shown = [(x.shape, x.dtype) for x in jax.tree.leaves(types)]
    assert [(x.shape, x.dtype) for x in glassjax.tree.leaves((found, info))] == shown
    x = np.linalg.solve(A, B)
    np.testing.assert_allclose(found["u"], x[:2], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["v"], x[2:], rtol=1e-9, atol=1e-9)


def test_complex_numbers_and_the_steps_of_gmres():
    root = ROOT + 1j * RNG.normal(size=(5, 5))
    A, b = root @ root.conj().T + np.eye(5), B + 1j * X0

    def function(lib):
        of = lib.scipy.sparse.linalg
        return lambda A, b: [of.cg(A, b), of.bicgstab(A, b), of.gmres(A, b)]

    assert_same_program(function, A, b)

    found = glassjax.jit(by_small_steps(glassjax))(A, b)
    for (x, _), (M, v) in zip(found, a_few([(A.real, b.real), (A, b)]), strict=True):
        assert x.dtype == v.dtype
        np.testing.assert_allclose(x, np.linalg.solve(M, v), rtol=1e-8, atol=1e-9)


def by_small_steps(lib):
    gmres = partial(lib.scipy.sparse.linalg.gmres, tol=1e-10, solve_method="incremental")
    of_reals = partial(gmres, restart=3)
    return lambda A, b: [of_reals(A.real, b.real), *([gmres(A, b)] if IS_NIGHT else [])]


@pytest.mark.nightly
def test_small_steps_of_gmres_are_jaxs():
    A = GENERAL + 0.3j * POSITIVE
    assert_same_program(by_small_steps, A, B + 1j * X0)


@pytest.mark.bits(32)
def test_numbers_of_32_bits():
    assert_same_program(
        lambda lib: lambda A, b: lib.scipy.sparse.linalg.cg(A, b), POSITIVE, B, tolerance=1e-4
    )


@for_each("name", MATRICES)
@for_each(
    ("args", "error"),
    [
        ((POSITIVE[:4], B), ValueError),
        ((POSITIVE, B, [B]), ValueError),
        (("matrix", B), TypeError),
    ],
)
def test_bad_arguments(name, args, error):
    for lib in (jax, glassjax):
        with pytest.raises(error):
            getattr(lib.scipy.sparse.linalg, name)(*args)


def test_an_unknown_method_of_gmres():
    for lib in (jax, glassjax):
        with pytest.raises(ValueError, match="solve_method"):
            lib.scipy.sparse.linalg.gmres(GENERAL, B, solve_method="fast")


@pytest.mark.newest_jax
def test_an_operator_need_only_multiply():
    class Twice:
        def __matmul__(self, x):
            return 2 * x

    x, _ = glassjax.scipy.sparse.linalg.cg(Twice(), np.ones(3))
    np.testing.assert_allclose(x, np.full(3, 0.5), rtol=1e-5)
