"""`lax.linalg`: factorizations, triangular solves, tridiagonal form, beside JAX."""

import functools
import itertools
from functools import partial
from importlib import import_module

import jax
import jax.scipy.fft
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
from libraries import LIBRARIES, assert_same
from matrices import C128, TOLERANCE, assert_same_of_each, draw
from shares import IS_NIGHT
from tables import for_each

import glassjax
import glassjax.numpy
import glassjax.numpy as gnp
from glassjax import lax

RNG = np.random.default_rng(0)


TALL = RNG.normal(size=(5, 3)).astype(np.float32)


CHOICES = [
    ("svd", "algorithm", "SvdAlgorithm", name)
    for name in ("DEFAULT", "QR", "DIVIDE_AND_CONQUER", "JACOBI", "POLAR")
]


CHOICES += [("eigh", "implementation", "EighImplementation", n) for n in ("QR", "JACOBI", "QDWH")]


CHOICES += [
    ("eig", "implementation", "EigImplementation", n) for n in ("LAPACK", "CUSOLVER", "MAGMA")
]


def test_algorithms():
    wrong = []
    for function, argument, enum, name in CHOICES:
        ours, theirs = (by(lib, function, argument, enum, name) for lib in ("glassjax", "jax"))
        if isinstance(ours, type) or isinstance(theirs, type):
            agree = ours is theirs
        else:
            agree = all(np.allclose(a, b, atol=1e-5) for a, b in zip(ours, theirs, strict=True))
        if not agree:
            wrong.append(f"{function} by {name}: {ours}, JAX {theirs}")
    assert not wrong, "\n".join(wrong)


def by(library, function, argument, enum, name):
    """What a decomposition by the named algorithm gives, or the class of the error."""
    linalg = import_module(f"{library}.lax.linalg")
    x = TALL if function == "svd" else TALL.T @ TALL
    try:
        out = getattr(linalg, function)(x, **{argument: getattr(linalg, enum)[name]})
    except (NotImplementedError, ValueError) as error:
        return type(error)
    return [np.abs(leaf) for leaf in out]  # vectors have no sign of their own


def test_the_derivative_by_another_algorithm():
    def grad(library):
        lib, linalg = import_module(library), import_module(f"{library}.lax.linalg")
        values = lambda x: linalg.svd(x, compute_uv=False, algorithm=linalg.SvdAlgorithm.QR)  # noqa: E731
        return lib.grad(lambda x: values(x).sum())(TALL)

    np.testing.assert_allclose(grad("glassjax"), grad("jax"), atol=1e-5)


def test_an_algorithm_of_another_type():
    with pytest.raises(TypeError, match="must be a SvdAlgorithm"):
        glassjax.lax.linalg.svd(TALL, algorithm="QR")


POLAR = [
    ((4, 3), "float32", {}),
    ((4, 3), "float32", {"max_iterations": 3, "dynamic_shape": (3, 1)}),
    ((4, 3), "complex64", {"max_iterations": 3}),
    ((4, 3), "complex64", {"dynamic_shape": (3, 1)}),
    ((1, 1), "float32", {}),
    ((1, 1), "complex64", {"max_iterations": 3}),
]


def test_polar_by_iteration():
    def everything(lib, matrices):
        return [
            lib.lax.linalg.qdwh(x, **how) for x, (_, _, how) in zip(matrices, POLAR, strict=True)
        ]

    matrices = []
    for shape, dtype, _ in POLAR:
        x = RNG.normal(size=shape).astype(dtype)
        if dtype == "complex64":
            x = x + 1j * RNG.normal(size=shape).astype("float32")
        matrices.append(x)
    ours, theirs = (lib.jit(partial(everything, lib))(matrices) for lib in (glassjax, jax))
    for case, mine, jaxs in zip(POLAR, ours, theirs, strict=True):
        for a, b in zip(mine, jaxs, strict=True):
            assert a.dtype == b.dtype, case
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-4, err_msg=str(case))


def test_polar_of_a_wide_matrix():
    for lib in (glassjax, jax):
        with pytest.raises(ValueError, match=r"M >= N|as many rows as columns"):
            lib.lax.linalg.qdwh(TALL.T)


@pytest.mark.newest_jax
def test_derivatives_of_qr_of_any_shape():
    draw = np.random.default_rng(0).normal
    pairs = []
    for shape in [(4, 2), (2, 4), (2, 3, 1), (3, 0), (0, 3, 2)]:
        x, t = draw(size=(2, *shape)), draw(size=(2, *shape))
        pairs.append((x[0], t[0]))
        if IS_NIGHT or 3 not in shape:
            pairs.append((x[0] + 1j * x[1], t[0] + 1j * t[1]))

    def derivatives(lib, pairs):
        return [
            lib.jvp(
                lambda x, full=full: tuple(lib.lax.linalg.qr(x, full_matrices=full)), (x,), (t,)
            )
            for full in (False, True)
            for x, t in pairs
        ]

    ours, theirs = (
        jax.tree.leaves(lib.jit(functools.partial(derivatives, lib))(pairs))
        for lib in (glassjax, jax)
    )
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=1e-10)


# Functions of `lax.linalg` and matrices of each; all refuse integers and booleans.
STRICT = {
    "eig": 1, "qr": 1, "lu": 1, "svd": 1, "schur": 1, "hessenberg": 1, "tridiagonal": 1,
    "householder_product": 2, "triangular_solve": 2, "symmetric_product": 2, "cholesky_update": 2,
}  # fmt: skip


@pytest.mark.newest_jax
def test_lax_decompositions_refuse_integers_as_jax_does():
    def accepted(lib, name, dtype):
        try:
            getattr(lib.lax.linalg, name)(*[lib.numpy.eye(2).astype(dtype)] * STRICT[name])
        except TypeError:
            return False
        return True

    wrong = [
        f"{lib.__name__} takes {dtype} for {name}"
        for lib in (glassjax, jax)
        for dtype in ("int32", "bool")
        for name in STRICT
        if accepted(lib, name, dtype)
    ]
    assert not wrong, "\n".join(wrong)
    # What is made of them is not strict.
    for lib in (glassjax, jax):
        for dtype in ("int32", "bool"):
            matrix = lib.ShapeDtypeStruct((2, 2), dtype)
            assert lib.eval_shape(lib.numpy.linalg.svd, matrix)[1].dtype == "float32"


def bits(number, count=4):
    return [bool(number >> i & 1) for i in range(count)]


def test_triangular_solve():
    def everything(lib):
        found = {}
        for options in (0, 3, 6, 13):
            left_side, lower, transpose_a, unit_diagonal = bits(options)
            solve = partial(
                lib.lax.linalg.triangular_solve,
                left_side=left_side,
                lower=lower,
                transpose_a=transpose_a,
                unit_diagonal=unit_diagonal,
                conjugate_a=lower,
            )
            b = (2, 3, 4) if left_side else (2, 4, 3)
            primals = (draw((2, 3, 3), C128) + 3 * np.eye(3), draw(b, C128))
            tangents = draw((2, 3, 3), C128, 1), draw(b, C128, 1)
            out, out_tangent = lib.jvp(solve, primals, tangents)
            found[options] = [out, out_tangent, *lib.vjp(solve, *primals)[1](out)]
        return found

    ours, theirs = (lib.jit(partial(everything, lib))() for lib in (glassjax, jax))
    assert_same_of_each(ours, theirs, 1e-10)


def test_triangular_systems_are_solved_by_blas():
    """What XLA makes of `stablehlo.triangular_solve` took twice to three times JAX's time."""
    for dtype in TOLERANCE:
        a, b = draw((3, 3), dtype), draw((3, 2), dtype)
        for solve, sides in ((gnp.linalg.solve, b), (lax.linalg.triangular_solve, b.T)):
            text = glassjax.jit(solve).lower(a, sides).as_text()
            assert "trsm_ffi" in text, dtype
            assert "stablehlo.triangular_solve" not in text, dtype


def test_triangular_solve_of_batches_and_of_nothing():
    shapes = [((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 3, 3), (0, 3, 2)), ((2, 1, 3, 3),) * 2]

    def everything(lib):
        found = {}
        for options, (a, b) in itertools.product((1, 6, 10, 13), shapes):
            left_side, lower, transpose_a, conjugate_a = bits(options)
            kwargs = {"lower": lower, "transpose_a": transpose_a, "conjugate_a": conjugate_a}
            rows = draw(b, C128)
            found[f"{options} {a} {b}"] = lib.lax.linalg.triangular_solve(
                draw(a, C128) + 3 * np.eye(a[-1]),
                rows if left_side else np.swapaxes(rows, -1, -2),
                left_side=left_side,
                **kwargs,
            )
        return found

    ours, theirs = (lib.jit(partial(everything, lib))() for lib in (glassjax, jax))
    assert_same_of_each(ours, theirs, 1e-12)


def drawn(*shape, is_complex=False):
    rng = np.random.default_rng([*shape])
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if is_complex else x


def arrays_of(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


# Functions of a library's matrices, (3, 3), in which nothing depends on choices of LAPACK.
def products_with_reflections(linalg, a):
    packed, taus = np.linalg.qr(np.asarray(drawn(3, 2, is_complex=a.dtype.kind == "c")), mode="raw")
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

    x = drawn(2, 3, 3, is_complex=is_complex)
    ours, theirs = (arrays_of(lib, lib.jit(partial(everything, lib))(x)) for lib, _ in LIBRARIES)
    assert_same(ours, theirs, 1e-10)


@pytest.mark.parametrize("is_complex", [False, True])
def test_tridiagonal_systems(is_complex):
    dl, d, du = drawn(3, 2, 4, is_complex=is_complex)
    b = drawn(2, 4, 3, is_complex=is_complex)

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
        arrays_of(lib, lib.jit(partial(everything, lib, jnp))(dl, d + 4, du, b))
        for lib, jnp in LIBRARIES
    )
    assert_same(ours, theirs, 1e-10)


def test_a_perturbed_singular_system_has_a_finite_solution():
    zeros = np.zeros(3)
    x = glassjax.lax.linalg.tridiagonal_solve(
        zeros, np.array([1.0, 0.0, 2.0]), zeros, np.ones((3, 1)), perturb_singular=True
    )
    assert np.all(np.isfinite(x))
    np.testing.assert_allclose(x[::2, 0], [1.0, 0.5])


def test_products_and_updates():
    r = np.triu(drawn(4, 4)) + 4 * np.eye(4)
    w = drawn(4)
    w[2] = 0
    a, c = drawn(2, 4, 3), drawn(2, 4, 4)

    def everything(lib, jnp):
        linalg = lib.lax.linalg
        return [
            linalg.cholesky_update(r, w),
            linalg.cholesky_update(np.eye(4), np.zeros(4)),
            linalg.symmetric_product(a, c, alpha=2.0, beta=-1.0),
            linalg.symmetric_product(a, c, symmetrize_output=True),
        ]

    ours, theirs = (
        arrays_of(lib, lib.jit(lambda lib=lib, jnp=jnp: everything(lib, jnp))())
        for lib, jnp in LIBRARIES
    )
    assert_same(ours, theirs, 1e-12)
    np.testing.assert_allclose(ours[0].T @ ours[0], r.T @ r + np.outer(w, w), atol=1e-12)


def test_an_update_has_derivatives():
    """Which JAX's has not: those of the decomposition of the whole."""
    jnp = glassjax.numpy
    r, w = jnp.asarray(np.triu(drawn(4, 4)) + 4 * np.eye(4)), jnp.asarray(drawn(4)).at[2].set(0.0)

    def by_decomposition(w):
        return jnp.sum(jnp.sin(jnp.linalg.cholesky(r.T @ r + jnp.outer(w, w)).T))

    def by_update(w):
        factor = glassjax.lax.linalg.cholesky_update(r, w)
        return jnp.sum(jnp.sin(factor * jnp.sign(jnp.diag(factor))[:, None]))

    (value, gradient), (expected, expected_gradient) = glassjax.jit(
        lambda w: [glassjax.value_and_grad(f)(w) for f in (by_update, by_decomposition)]
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
def test_reductions_that_jax_refuses_are_refused(name):
    kinds = []
    for lib, _ in LIBRARIES:
        with pytest.raises((TypeError, ValueError)) as info:
            FAULTS[name](lib.lax.linalg)
        kinds.append(info.type)
    assert issubclass(kinds[0], kinds[1])


def test_what_has_no_derivative_says_so():
    linalg = glassjax.lax.linalg
    for name, function in {
        "hessenberg": lambda x: linalg.hessenberg(x)[0],
        "tridiagonal": lambda x: linalg.tridiagonal(x)[0],
        "ormqr": lambda x: linalg.ormqr(MATRIX, np.zeros(3), x),
    }.items():
        with pytest.raises(NotImplementedError, match=f"{name} has no derivative"):
            glassjax.jvp(function, (MATRIX,), (MATRIX,))
