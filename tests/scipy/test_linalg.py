"""`scipy.linalg`: values, dtypes and derivatives, beside JAX."""

from functools import partial

import jax
import jax.scipy.linalg
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_same, assert_same_program, refused
from matrices import C128, F32, TOLERANCE, assert_same_of_each, draw, leaves, positive
from shares import IS_NIGHT, a_few, one_in
from tables import for_each

import glassjax

RNG = np.random.default_rng(0)


MATRIX = RNG.normal(size=(4, 4))


def test_exponentials_of_matrices_of_every_size():
    """Each size asks for another approximation; the last is too large for any."""
    sizes = np.array([1e-3, 0.1, 0.5, 1.0, 4.0, 1e8])[:, None, None]

    def function(lib):
        return lambda x: lib.scipy.linalg.expm(x)

    assert_same_program(function, MATRIX / 4 * sizes, tolerance=1e-11)
    sizes = a_few(sizes, 3)
    assert_same_program(function, np.float32(MATRIX / 4 * sizes), tolerance=1e-4)


def test_exponentials_and_their_derivatives():
    def function(lib):
        of = lib.scipy.linalg

        def loss(x):
            return (of.expm(x) ** 2).sum()

        def of_night(x):
            return [
                of.expm(x.astype(int)),
                of.expm_frechet(x, x.T, compute_expm=False),
                lib.vmap(of.expm)(x * np.ones((2, 1, 1))),
            ]

        return lambda x, z: [
            of.expm(lib.numpy.triu(x), upper_triangular=True),
            of.expm(x * 30, max_squarings=3),
            of.expm(z),
            lib.value_and_grad(loss)(x),
            of.expm_frechet(x, x.T),
            of_night(x) if IS_NIGHT else (),
        ]

    assert_same_program(function, MATRIX, MATRIX + 1j * MATRIX.T, tolerance=1e-11)


def test_square_roots():
    def function(lib):
        of = lib.scipy.linalg
        return lambda x, z: [of.sqrtm(x), of.sqrtm(x @ x.T), of.sqrtm(z), of.sqrtm(0 * x)]

    assert_same_program(function, MATRIX, MATRIX + 1j * MATRIX.T, tolerance=1e-11)


def test_schurs_decomposition():
    """Its factors are unique but for signs and phases, which LAPACK has from both libraries."""

    def function(lib):
        of = lib.scipy.linalg
        return lambda x: [of.schur(x), of.schur(x, output="complex")]

    assert_same_program(function, MATRIX, tolerance=1e-11)


def test_matrices_of_vectors():
    v, w = RNG.normal(size=(2, 4)), RNG.normal(size=(2, 3))
    numbers = np.arange(4)

    def function(lib):
        of = lib.scipy.linalg

        def loss(v, w):
            made = of.circulant(v), of.hankel(v, w), of.companion(v), of.leslie(v, w)
            return sum((m**2 * m.shape[-1]).sum() for m in made) + (of.fiedler(v) ** 2).sum()

        return lambda v, w, i: [
            [of.circulant(x) for x in (v, v[0], i, v[0, :1], v[0, :0])],
            [of.hankel(*xs) for xs in ((v,), (v, w), (i, w), (w, i), (v[0, :1], w), (w[0], v[0]))],
            [of.companion(x) for x in (v, i + 1, v[0, :2], v * 1j)],
            [of.fiedler(x) for x in (v, i, v * 1j)],
            [of.leslie(*xs) for xs in ((v, w), (i, i[1:]), (v, w[0]), (v[0], w), (i, w[0]))],
            lib.grad(loss, argnums=(0, 1))(v, w),
        ]

    assert_same_program(function, v, w, numbers, tolerance=1e-11)


@pytest.mark.parametrize("x64", one_in(2, [False, True]))
def test_matrices_of_a_size(x64):
    def function(lib):
        of = lib.scipy.linalg
        return lambda: [
            [of.dft(n) for n in a_few((7, 1, 0, 2))],
            [of.dft(5, scale) for scale in ("sqrtn", "n")],
            of.dft(3, dtype=np.complex64),
            [of.hadamard(n) for n in a_few((16, 2, 1))],
            [of.hadamard(4, dtype) for dtype in (np.float32, complex, np.int8)],
            [of.helmert(n) for n in a_few((5, 2, 1))],
            [of.helmert(n, full=True) for n in a_few((4, 1))],
            [of.hilbert(n) for n in a_few((5, 1, 0))],
            [of.pascal(n) for n in a_few((6, 1, 0))],
            [of.pascal(5, kind) for kind in a_few(("lower", "symmetric", "upper"))],
        ]

    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        assert_same_program(function, tolerance=1e-5)
    np.testing.assert_array_equal(glassjax.scipy.linalg.pascal(20)[9, 9], 48620)  # exactly


def test_polar_decompositions():
    wide, complex_matrices = MATRIX[:3], MATRIX + 1j * RNG.normal(size=(2, 4, 4))

    def function(lib):
        of = lib.scipy.linalg

        def loss(x):
            u, p = of.polar(x, method="svd")
            return (u * np.arange(4)).sum() + (p**2).sum()

        return lambda x, w, z: [
            [of.polar(x, **how) for how in a_few(({}, {"side": "left", "method": "svd"}))],
            of.polar(w, side="left"),
            of.polar(w.T),
            of.polar(w, method="svd") if IS_NIGHT else (),
            of.polar(z),
            lib.grad(loss)(x),
        ]

    assert_same_program(function, MATRIX, wide, complex_matrices, tolerance=1e-8)


def test_forms_of_hessenberg_and_products_with_orthogonal_matrices():
    tall = RNG.normal(size=(5, 3))

    def function(lib):
        of = lib.scipy.linalg
        return lambda x, z, t: [
            of.hessenberg(x),
            of.hessenberg(z, calc_q=True),
            of.hessenberg(lib.numpy.stack([x, x.T]), calc_q=True),
            of.hessenberg(x[:1, :1], calc_q=True),
            of.hessenberg(x[:2, :2], calc_q=True),
            of.qr_multiply(x, x),
            of.qr_multiply(t, t.T),
            of.qr_multiply(t, t[:3, :2], mode="left"),
            of.qr_multiply(t, t[:, 0]),
            of.qr_multiply(t, t[0], mode="left"),
            of.qr_multiply(t, t.T, pivoting=True),
            of.qr_multiply(z, z, conjugate=True),
        ]

    assert_same_program(function, MATRIX, MATRIX + 1j * MATRIX.T, tall, tolerance=1e-11)


def test_functions_of_matrices_by_their_eigenvalues():
    def function(lib):
        of = lib.scipy.linalg

        def of_night(z):
            identity = lib.numpy.eye(3)
            return [
                of.funm(z, lib.numpy.sin, disp=False),
                of.funm(identity, lib.numpy.exp, disp=False),
            ]

        return lambda x, z: [
            of.funm(x, lib.numpy.exp),
            of.funm(z, lambda x: x**3 - 2),
            of.funm(x @ x.T, lib.numpy.log, disp=False),
            of_night(z) if IS_NIGHT else (),
        ]

    assert_same_program(function, MATRIX, MATRIX + 1j * MATRIX.T, tolerance=1e-9)


def test_triangles_of_real_decompositions():
    @glassjax.jit
    def decomposed(x):
        blocks, vectors = glassjax.scipy.linalg.schur(x)
        return blocks, vectors, glassjax.scipy.linalg.rsf2csf(blocks, vectors)

    blocks, vectors, (t, z) = decomposed(MATRIX)
    jaxs = jax.jit(jax.scipy.linalg.rsf2csf)(np.asarray(blocks), np.asarray(vectors))
    assert [t.dtype, z.dtype] == [x.dtype for x in jaxs]
    assert np.any(np.tril(blocks, -1))  # there are pairs of eigenvalues
    np.testing.assert_allclose(np.tril(t, -1), 0, atol=1e-12)
    np.testing.assert_allclose(z @ t @ np.conj(z.T), MATRIX, atol=1e-12)
    np.testing.assert_allclose(np.conj(z.T) @ z, np.eye(4), atol=1e-12)
    found, expected = (np.sort_complex(np.diag(np.asarray(x)).round(8)) for x in (t, jaxs[0]))
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_equations_of_sylvester(method):
    b, c = RNG.normal(size=(3, 3)), RNG.normal(size=(4, 3))

    def function(lib):
        def of(*matrices):
            return lib.scipy.linalg.solve_sylvester(*matrices, method=method)

        def solved(a, b, c):
            systems = [
                (a * np.array([1.0, 2.0])[:, None, None], b, c),
                (a, b, c),
                (a, -a, a),  # which has no one solution
                (np.arange(16).reshape(4, 4) % 7, b, c),
                (a + 1j * a.T, b, c),
            ]
            return [of(*system) for system in a_few(systems)]

        return solved

    assert_same_program(function, MATRIX, b, c, tolerance=1e-8)


def test_eigenvalues_of_tridiagonal_matrices():
    d, e = RNG.normal(size=6), RNG.normal(size=5)

    def function(lib):
        def of(*args, **how):
            return lib.scipy.linalg.eigh_tridiagonal(*args, eigvals_only=True, **how)

        return lambda d, e: [
            of(d, e),
            of(d, e, select="i", select_range=(1, 3)),
            of(d.astype(np.float32), e.astype(np.float32)),
            of(d + 0j, e * lib.numpy.exp(1j * d[:5])),
            of(d[:1], e[:0]),
        ]

    assert_same_program(function, d, e, tolerance=1e-6)

    @glassjax.jit
    def decomposed(d, e):
        choices = {}, {"select": "i", "select_range": (2, 4)}
        return [glassjax.scipy.linalg.eigh_tridiagonal(d, e, **chosen) for chosen in choices]

    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    for values, vectors in decomposed(d, e):
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-10)


@for_each(
    ("call", "error"),
    [
        (lambda of: of.expm(MATRIX[:3]), ValueError),
        (lambda of: of.expm_frechet(MATRIX, MATRIX[:3, :3]), ValueError),
        (lambda of: of.schur(MATRIX, "triangle"), ValueError),
        (lambda of: of.sqrtm(MATRIX, 2), NotImplementedError),
        (lambda of: of.hankel(1.0), ValueError),
        (lambda of: of.companion(MATRIX[0, :1]), ValueError),
        (lambda of: of.leslie(MATRIX[0], MATRIX[0]), ValueError),
        (lambda of: of.leslie(MATRIX[0, :1], MATRIX[0, :0]), ValueError),
        (lambda of: of.dft(3, "half"), ValueError),
        (lambda of: of.dft(3, dtype="float32"), ValueError),
        (lambda of: of.hadamard(3), ValueError),
        (lambda of: of.hadamard(0), ValueError),
        (lambda of: of.helmert(0), ValueError),
        (lambda of: of.pascal(3, "middle"), ValueError),
        (lambda of: of.polar(MATRIX, "both"), ValueError),
        (lambda of: of.polar(MATRIX, method="newton"), ValueError),
        (lambda of: of.polar(MATRIX[0]), ValueError),
        (lambda of: of.hessenberg(MATRIX[:3]), ValueError),
        (lambda of: of.qr_multiply(MATRIX, MATRIX, "middle"), ValueError),
        (lambda of: of.qr_multiply(MATRIX, MATRIX[:, :3]), ValueError),
        (lambda of: of.qr_multiply(MATRIX, MATRIX[:3], "left"), ValueError),
        (lambda of: of.funm(MATRIX[:3], np.exp), ValueError),
        (lambda of: of.solve_sylvester(MATRIX, MATRIX, MATRIX, method="lu"), ValueError),
        (lambda of: of.solve_sylvester(MATRIX, MATRIX, MATRIX[:, :3]), ValueError),
        (lambda of: of.solve_sylvester(MATRIX[:3], MATRIX, MATRIX), ValueError),
        (
            lambda of: of.eigh_tridiagonal(MATRIX[0], MATRIX[1, :3], select="v"),
            NotImplementedError,
        ),
        (lambda of: of.eigh_tridiagonal(MATRIX[0], MATRIX[1, :3], select="b"), ValueError),
    ],
)
def test_bad_arguments(call, error):
    for lib in (jax, glassjax):
        with pytest.raises(error):
            lib.eval_shape(lambda lib=lib: call(lib.scipy.linalg))


@pytest.mark.newest_jax
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_only_one_triangle_counts_for_cholesky_and_its_derivative(dtype, lower):
    """The tangent of the other one was taken in, and `solve` looked at the lower one always."""
    x = (MATRIX + 5 * np.eye(4)).astype(dtype)
    if dtype == np.complex128:
        x += 0.1j * (MATRIX - np.diag(MATRIX.diagonal()))
    b = MATRIX[0].astype(dtype)

    def function(lib):
        of, jnp = lib.scipy.linalg, lib.numpy
        weights = jnp.cos(jnp.arange(16.0)).reshape(4, 4)

        def factor(x):
            return jnp.sum(jnp.real(of.cholesky(x, lower) * weights) + jnp.imag(of.cholesky(x)))

        def solved(x, b):
            return jnp.sum(jnp.real(of.cho_solve(of.cho_factor(x, lower), b) * weights[0]))

        def directly(x, b):
            return of.solve(x, b, lower=lower, assume_a="pos")

        def loss(x, b):
            return jnp.sum(directly(x, b) * weights[0])

        def everything(x, b):
            out = [
                of.cho_factor(x, lower)[0],
                lib.grad(factor)(x),
                lib.grad(solved, (0, 1))(x, b),
                directly(x, b),
                lib.vmap(directly, (0, None))(jnp.stack([x, 2 * x]), b),
            ]
            # That of complex matrices is wrong in JAX: it takes them for symmetric.
            return out if dtype == np.complex128 else [*out, lib.grad(loss, (0, 1))(x, b)]

        return everything

    assert_same_program(function, x, b, tolerance=1e-11)


def test_the_derivative_of_solve_for_positive_complex_matrices():
    z = MATRIX + 1j * MATRIX.T
    z, b = z @ z.conj().T + np.eye(4), z[0]

    def loss(b, how):
        return glassjax.numpy.real(glassjax.scipy.linalg.solve(z, b, assume_a=how) @ z[1])

    found, expected = glassjax.jit(
        lambda b: [glassjax.grad(loss)(b, how) for how in ("pos", "gen")]
    )(b)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("dtype", one_in(2, ["bfloat16", "float16"]))
def test_narrow_floats(dtype):
    """XLA solves triangular systems of any floats; these were refused."""
    x = np.asarray(MATRIX[:3, :3] + 4 * np.eye(3)).astype(glassjax.numpy.dtype(dtype))

    def function(lib):
        of, jnp = lib.scipy.linalg, lib.numpy
        return lambda x: [
            of.solve_triangular(x, x[0], lower=True),
            of.solve_triangular(x, x, trans=1),
            of.cho_solve((x, True), x[0]),
            of.det(x),
            of.sqrtm(x),
            lib.lax.linalg.triangular_solve(x, x, left_side=True),
            lib.grad(lambda x: jnp.sum(of.solve_triangular(x, x[0])))(x),
        ]

    assert_same_program(function, x, tolerance=0.05)


def test_permutations_of_complex_matrices_are_real():
    def function(lib):
        return lambda z: [lib.scipy.linalg.lu(z), lib.scipy.linalg.lu(z, permute_l=True)]

    assert_same_program(function, MATRIX + 1j, tolerance=1e-11)


@pytest.mark.newest_jax
def test_derivative_of_the_eigenvalues_of_a_tridiagonal_matrix_counts_both_triangles():
    d, e = np.float32([1.0, 2.0, 4.0]), np.float32([0.5, 0.25])
    _, vectors = np.linalg.eigh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1))
    f = glassjax.scipy.linalg.eigh_tridiagonal
    by_d, by_e = glassjax.jacfwd(lambda d, e: f(d, e, eigvals_only=True), (0, 1))(d, e)
    np.testing.assert_allclose(by_d, vectors.T**2, atol=1e-5)
    np.testing.assert_allclose(by_e, 2 * (vectors[:-1] * vectors[1:]).T, atol=1e-5)


def of_scipy(lib, name, *args, **kwargs):
    return getattr(lib.scipy.linalg, name)(*args, **kwargs)


@pytest.mark.parametrize("dtype", [F32, C128], ids=str)
def test_factors_and_what_is_solved_by_them(dtype):
    a, s = draw((3, 3), dtype) + 3 * np.eye(3, dtype=dtype), positive((3, 3), dtype)
    batch, b, rows = positive((2, 3, 3), dtype), draw((3, 2), dtype), draw((3,), dtype)

    def program(lib):
        scipy = lib.scipy.linalg
        out = []
        for lower in (False, True):
            factor, is_lower = scipy.cho_factor(s, lower)
            assert is_lower is lower
            triangle = lib.numpy.tril if lower else lib.numpy.triu
            out += [triangle(factor), scipy.cholesky(s, lower=lower)]
            out.append(scipy.cholesky(triangle(s), lower=lower))
            out += [scipy.cho_solve((factor, lower), right) for right in (b, rows)]
            for trans in (0, "T", 2):
                for unit_diagonal in (False, True):
                    options = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
                    out.append(scipy.solve_triangular(a, b, **options))
        out += [scipy.cho_factor(batch)[0], scipy.solve_triangular(a, rows, lower=True)]
        lu_and_piv = scipy.lu_factor(a)
        out += lu_and_piv
        out += [scipy.lu_solve(lu_and_piv, x, trans) for x in (b, rows) for trans in (0, 1, 2)]
        out += [scipy.solve(s, b, assume_a="pos"), scipy.solve(a, rows)]
        out += scipy.lu_factor(batch)
        return out

    ours, theirs = (lib.jit(partial(program, lib))() for lib in (glassjax, jax))
    assert_same(ours, theirs, 10 * TOLERANCE[dtype])


@pytest.mark.filterwarnings("ignore:.*batched 1D solves:FutureWarning")
def test_batches_are_solved():
    shapes = [
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (2, 3)),
        ((2, 3, 3), (3, 4)),
        ((2, 3, 3), (1, 3, 1)),
        ((3, 3), (2, 3, 4)),
        ((4, 1, 3, 3), (2, 3, 2)),
    ]

    def program(lib):
        scipy, found = lib.scipy.linalg, {}
        for matrices, rows in shapes:
            a, b = positive(matrices), draw(rows)
            out = [
                scipy.cho_solve((scipy.cholesky(a, lower=True), True), b),
                scipy.solve_triangular(a, b, trans="T", lower=True),
            ]
            if len(matrices) - len(rows) < 2 and len(rows) != 3:  # JAX's takes no others
                out += [scipy.lu_solve(scipy.lu_factor(a), b, trans) for trans in (0, 1)]
            found[f"{matrices} {rows}"] = out
        return found

    ours, theirs = (lib.jit(partial(program, lib))() for lib in (glassjax, jax))
    assert_same_of_each(ours, theirs, 1e-9)


@pytest.mark.newest_jax
def test_what_is_solved_by_factors_has_derivatives():
    a, s, b = draw((3, 3)) + 3 * np.eye(3), positive((3, 3)), draw((3, 2))

    def program(lib):
        def f(a, s, b):
            scipy = lib.scipy.linalg
            return (
                scipy.cho_solve(scipy.cho_factor(s, True), b),
                scipy.lu_solve(scipy.lu_factor(a), b, 1),
                scipy.solve_triangular(a, b, "T", True),
                scipy.block_diag(a, b),
                scipy.toeplitz(b[:, 0], a[0]),
            )

        def everything(a, s, b):
            primals, tangents = (a, s, b), (a * 0.5 + 1, s, b + 1)
            out, tangent = lib.jvp(f, primals, tangents)
            pulled = lib.vjp(f, *primals)[1](out)
            if IS_NIGHT:
                pulled = lib.jvp(lambda *xs: lib.vjp(f, *xs)[1](out), primals, tangents)
            moved = lib.vmap(f, (None, None, 0))(a, s, lib.numpy.stack([b, 2 * b]))
            return [out, tangent, pulled, moved]

        return leaves(lib.jit(everything)(a, s, b))

    assert_same(program(glassjax), program(jax), 1e-9)


SHAPED = {
    "block_diag": [
        (),
        (np.ones((2, 3)), 2, np.arange(2)),
        (np.ones((2, 0)), np.eye(2, dtype=np.float32)),
        (1j, np.ones((1, 1), np.int32)),
    ],
    "toeplitz": [
        (np.arange(3),),
        (np.arange(3), np.arange(4.0)),
        (np.array([1j, 2, 3 + 1j]),),
        (2.0, np.arange(3)),
        (np.zeros(0), np.arange(2)),
        (np.arange(6.0).reshape(2, 3),),
        (np.arange(6.0).reshape(2, 3), np.arange(4.0)),
    ],
    "cho_factor": [(np.eye(2, dtype=np.int32),)],
    "cho_solve": [((np.eye(2), True), np.arange(2))],
    "lu_factor": [(np.array([[1, 2], [3, 4]]),), (np.arange(6.0).reshape(2, 3),)],
    "lu_solve": [((np.eye(2, dtype=np.float32), np.array([1, 1], np.int32)), np.arange(2))],
    "solve_triangular": [(np.eye(2, dtype=np.int32), np.arange(2))],
}


WRONGLY_SHAPED = {
    "block_diag": [(np.ones((2, 2, 2)),)],
    "cho_factor": [(np.ones((2, 3)),), (np.ones(3),)],
    "cho_solve": [((np.eye(2), False), np.ones(3)), ((np.ones((2, 3)), False), np.ones(2))],
    "lu_solve": [
        ((np.eye(2), np.array([0, 1], np.int32)), np.ones(3)),
        ((np.eye(2), np.array([0, 1], np.int32)), np.ones(2), 3),
    ],
    "solve_triangular": [
        (np.eye(2), np.ones(3)),
        (np.ones((2, 3)), np.ones(2)),
        (np.eye(2), np.ones(2), 3),
        (np.eye(2), np.ones(2), "X"),
    ],
}


@pytest.mark.parametrize("x64", [False, True], ids=["32", "64"])
def test_types_and_errors_of_scipys_functions(x64):
    def calls(table):
        return [
            lambda n, lib, name=name, args=args: of_scipy(lib, name, *args)
            for name in table
            for args in table[name]
        ]

    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        assert_all_same_results([*calls(SHAPED), *map(refused, calls(WRONGLY_SHAPED))])


MATRICES = [
    ("fiedler_companion", (np.array([1.0, -16, 86, -176, 105, 3]),)),
    ("fiedler_companion", (np.array([1, 2, 3]),)),
    ("fiedler_companion", (np.ones((2, 4), np.float32),)),
    ("fiedler_companion", (np.array([2.0]),)),
    *(("invhilbert", (n,)) for n in (0, 1, 5)),
    *(("invpascal", (n, kind)) for n in (0, 1, 4) for kind in (None, "lower", "upper")),
    *(
        ("convolution_matrix", (a, n, mode))
        for a in (np.array([1, 2]), np.ones((2, 5), np.float32), np.array([1, 2, 3, 4]))
        for n in (1, 4)
        for mode in ("full", "same", "valid")
    ),
]


def test_matrices_are_jaxs():
    programs = {
        f"{name}{args}": lambda n, lib, name=name, args=args: getattr(lib.scipy.linalg, name)(*args)
        for name, args in MATRICES
    }
    assert_all_same_results(programs, 1e-5, 1e-5)


def test_bad_arguments_of_matrices():
    linalg = glassjax.scipy.linalg
    for call, message in (
        (lambda: linalg.fiedler_companion(np.zeros(0)), "must hold a coefficient"),
        (lambda: linalg.invpascal(3, "x"), "kind must be"),
        (lambda: linalg.convolution_matrix(np.ones(2), 3, "x"), "mode must be"),
        (lambda: linalg.convolution_matrix(np.ones(2), 0), "n must be at least 1"),
        (lambda: linalg.convolution_matrix(np.ones(0), 2), "at least one number"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
