"""Linear equations solved step by step: solutions, after any number of steps, are JAX's."""

import jax
import jax.scipy.sparse.linalg
import numpy as np
import pytest
from libraries import assert_same_program

import minijax

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(5, 5))
POSITIVE = ROOT @ ROOT.T + np.eye(5)
GENERAL = ROOT + 4 * np.eye(5)
B, X0 = RNG.normal(size=(2, 5))
MATRICES = {"cg": POSITIVE, "bicgstab": GENERAL, "gmres": GENERAL}


@pytest.mark.parametrize("name", MATRICES)
def test_solutions_and_derivatives(name):
    inverse = np.linalg.inv(POSITIVE)

    def function(lib):
        solve = getattr(lib.scipy.sparse.linalg, name)

        def loss(A, b):
            return (solve(A, b, tol=1e-12)[0] ** 2).sum()

        return lambda A, b: [
            solve(A, b),
            solve(A, b, X0, maxiter=1, tol=1e-9, atol=1e-3),
            lib.grad(loss, argnums=(0, 1))(A, b),
            lib.jvp(lambda b: solve(A, b, M=inverse)[0], (b,), (b**2,)),
            lib.vmap(lambda b: solve(A, b, tol=1e-12)[0])(b * np.ones((2, 1))),
        ]

    assert_same_program(function, MATRICES[name], B)


@pytest.mark.parametrize("name", MATRICES)
def test_trees_and_functions(name):
    def function(lib):
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

    assert_same_program(function, MATRICES[name], B)


def test_complex_numbers_and_the_steps_of_gmres():
    root = ROOT + 1j * RNG.normal(size=(5, 5))
    A, b = root @ root.conj().T + np.eye(5), B + 1j * X0

    def function(lib):
        of = lib.scipy.sparse.linalg
        return lambda A, b: [
            of.cg(A, b),
            of.bicgstab(A, b),
            of.gmres(A, b),
            of.gmres(A, b, tol=1e-10, solve_method="incremental"),
            of.gmres(A.real, b.real, tol=1e-10, solve_method="incremental", restart=3),
        ]

    assert_same_program(function, A, b)


def test_numbers_of_32_bits():
    with jax.enable_x64(False), minijax.enable_x64(False):
        assert_same_program(
            lambda lib: lambda A, b: lib.scipy.sparse.linalg.cg(A, b), POSITIVE, B, tolerance=1e-4
        )


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((POSITIVE[:4], B), ValueError),
        ((POSITIVE, B, [B]), ValueError),
        (("matrix", B), TypeError),
    ],
)
def test_bad_arguments(name, args, error):
    for lib in (jax, minijax):
        with pytest.raises(error):
            getattr(lib.scipy.sparse.linalg, name)(*args)


def test_an_unknown_method_of_gmres():
    for lib in (jax, minijax):
        with pytest.raises(ValueError, match="solve_method"):
            lib.scipy.sparse.linalg.gmres(GENERAL, B, solve_method="fast")
