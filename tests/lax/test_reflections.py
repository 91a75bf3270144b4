"""Reduced matrices, tridiagonal systems and updates of factors are JAX's."""

from functools import partial

import jax
import numpy as np
import pytest
from libraries import assert_same
from tables import for_each

import minijax
import minijax.numpy

LIBRARIES = [(minijax, minijax.numpy), (jax, jax.numpy)]


def draw(*shape, is_complex=False):
    rng = np.random.default_rng([*shape])
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if is_complex else x


def leaves(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


# Functions of a library's matrices, (3, 3), in which nothing depends on choices of LAPACK.
def products_with_reflections(linalg, a):
    packed, taus = np.linalg.qr(np.asarray(draw(3, 2, is_complex=a.dtype.kind == "c")), mode="raw")
    packed = packed.T.astype(a.dtype)
    taus = taus.astype(a.dtype)
    return [
        linalg.ormqr(packed, taus, a if left else a.T, left=left, transpose=transpose)
        for left in (True, False)
        for transpose in (True, False)
    ]


def reduced(linalg, a):
    both = a + a.conj().T
    return (
        linalg.hessenberg(a),
        linalg.tridiagonal(both),
        linalg.tridiagonal(both, lower=False)[1:],
    )


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("function", [products_with_reflections, reduced], ids=lambda f: f.__name__)
def test_matrices_and_batches(function, is_complex):
    def everything(lib, x):
        f = lib.vmap(lambda a: function(lib.lax.linalg, a))
        return function(lib.lax.linalg, x[0]), f(x)

    x = draw(2, 3, 3, is_complex=is_complex)
    ours, theirs = (leaves(lib, lib.jit(partial(everything, lib))(x)) for lib, _ in LIBRARIES)
    assert_same(ours, theirs, 1e-10)


@pytest.mark.parametrize("is_complex", [False, True])
def test_tridiagonal_systems(is_complex):
    dl, d, du = draw(3, 2, 4, is_complex=is_complex)
    b = draw(2, 4, 3, is_complex=is_complex)

    def everything(lib, jnp, *args):
        def solve(*args):
            return lib.lax.linalg.tridiagonal_solve(*args)

        def loss(*args):
            return jnp.sum(jnp.sin(jnp.abs(solve(*args)) ** 2))

        tangents = tuple(map(jnp.cos, args))
        singular = [0 * args[0], 0 * args[1], 0 * args[2], args[3]]
        return {
            "value": solve(*args),
            "jvp": lib.jvp(solve, args, tangents),
            "jvp of one": lib.jvp(lambda d: solve(args[0], d, *args[2:]), args[1:2], tangents[1:2]),
            "grad": lib.grad(loss, (0, 1, 2, 3))(*args),
            "vmap": lib.vmap(solve, (0, 0, 0, None))(*args[:3], args[3][0]),
            "vmap of sides": lib.vmap(solve, (None, None, None, 0))(
                *(x[0] for x in args[:3]), args[3]
            ),
            "singular": solve(*singular),
            "perturbed": lib.lax.linalg.tridiagonal_solve(*args, perturb_singular=True),
        }

    ours, theirs = (
        leaves(lib, lib.jit(partial(everything, lib, jnp))(dl, d + 4, du, b))
        for lib, jnp in LIBRARIES
    )
    assert_same(ours, theirs, 1e-10)


def test_a_perturbed_singular_system_has_a_finite_solution():
    zeros = np.zeros(3)
    x = minijax.lax.linalg.tridiagonal_solve(
        zeros, np.array([1.0, 0.0, 2.0]), zeros, np.ones((3, 1)), perturb_singular=True
    )
    assert np.all(np.isfinite(x))
    np.testing.assert_allclose(x[::2, 0], [1.0, 0.5])


def test_products_and_updates():
    r = np.triu(draw(4, 4)) + 4 * np.eye(4)
    w = draw(4)
    w[2] = 0
    a, c = draw(2, 4, 3), draw(2, 4, 4)

    def everything(lib, jnp):
        linalg = lib.lax.linalg
        return [
            linalg.cholesky_update(r, w),
            linalg.cholesky_update(np.eye(4), np.zeros(4)),
            linalg.symmetric_product(a, c, alpha=2.0, beta=-1.0),
            linalg.symmetric_product(a, c, symmetrize_output=True),
        ]

    ours, theirs = (
        leaves(lib, lib.jit(lambda lib=lib, jnp=jnp: everything(lib, jnp))())
        for lib, jnp in LIBRARIES
    )
    assert_same(ours, theirs, 1e-12)
    np.testing.assert_allclose(ours[0].T @ ours[0], r.T @ r + np.outer(w, w), atol=1e-12)


def test_an_update_has_derivatives():
    """Which JAX's has not: those of the decomposition of the whole."""
    jnp = minijax.numpy
    r, w = jnp.asarray(np.triu(draw(4, 4)) + 4 * np.eye(4)), jnp.asarray(draw(4)).at[2].set(0.0)

    def by_decomposition(w):
        return jnp.sum(jnp.sin(jnp.linalg.cholesky(r.T @ r + jnp.outer(w, w)).T))

    def by_update(w):
        factor = minijax.lax.linalg.cholesky_update(r, w)
        return jnp.sum(jnp.sin(factor * jnp.sign(jnp.diag(factor))[:, None]))

    (value, gradient), (expected, expected_gradient) = minijax.jit(
        lambda w: [minijax.value_and_grad(f)(w) for f in (by_update, by_decomposition)]
    )(w)
    np.testing.assert_allclose(value, expected)
    others = np.array([0, 1, 3])  # where w is 0, the rows above leave no trace of it
    np.testing.assert_allclose(np.asarray(gradient)[others], expected_gradient[others])


MATRIX = np.eye(3)
# Each is a call that JAX refuses, too.
FAULTS = {
    "rows that do not fit": lambda linalg: linalg.ormqr(MATRIX, np.ones(3), np.ones((2, 3))),
    "no square matrix": lambda linalg: linalg.hessenberg(np.ones((2, 3))),
    "no matrix": lambda linalg: linalg.tridiagonal(np.ones((0, 0))),
    "diagonals that differ": lambda linalg: linalg.tridiagonal_solve(
        np.ones(2), np.ones(3), np.ones(3), MATRIX
    ),
    "sides of other rows": lambda linalg: linalg.tridiagonal_solve(
        np.ones(3), np.ones(3), np.ones(3), np.ones((2, 3))
    ),
    "a vector": lambda linalg: linalg.tridiagonal_solve(
        np.ones(3), np.ones(3), np.ones(3), np.ones(3)
    ),
    "another vector": lambda linalg: linalg.cholesky_update(MATRIX, np.ones(2)),
    "complex factors": lambda linalg: linalg.cholesky_update(MATRIX + 0j, np.ones(3) + 0j),
    "another product": lambda linalg: linalg.symmetric_product(np.ones((2, 3)), MATRIX),
}


@for_each("name", FAULTS)
def test_what_jax_refuses_is_refused(name):
    kinds = []
    for lib, _ in LIBRARIES:
        with pytest.raises((TypeError, ValueError)) as info:
            FAULTS[name](lib.lax.linalg)
        kinds.append(info.type)
    assert issubclass(kinds[0], kinds[1])


def test_what_has_no_derivative_says_so():
    linalg = minijax.lax.linalg
    for name, function in {
        "hessenberg": lambda x: linalg.hessenberg(x)[0],
        "tridiagonal": lambda x: linalg.tridiagonal(x)[0],
        "ormqr": lambda x: linalg.ormqr(MATRIX, np.zeros(3), x),
    }.items():
        with pytest.raises(NotImplementedError, match=f"{name} has no derivative"):
            minijax.jvp(function, (MATRIX,), (MATRIX,))
