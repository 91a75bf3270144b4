"""Linear algebra agrees with JAX's: values, dtypes, derivatives in both modes, batches."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_same, assert_same_results, refused

import minijax
import minijax.numpy as mnp
from minijax import lax

F32, F64, C64, C128, I32 = map(
    np.dtype, (np.float32, np.float64, np.complex64, np.complex128, np.int32)
)
TOLERANCE = {F32: 2e-4, C64: 2e-4, F64: 1e-10, C128: 1e-10}


@pytest.fixture(autouse=True)
def _in_64_bits():
    with minijax.enable_x64(True):
        yield


def draw(shape, dtype=F64, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    if dtype.kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return np.asarray(x).astype(dtype)


def positive(shape, dtype=F64):
    x = draw(shape, dtype)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=dtype)


def leaves(tree):
    return jax.tree.leaves(tree)


# What depends on the matrices alone: not on the signs or phases that LAPACK happens to choose.
# For each: the function of a library's numpy, and the matrices it takes.
def of_linalg(name, *args, **kwargs):
    return lambda np_: lambda x: getattr(np_.linalg, name)(x, *args, **kwargs)


def general(dtype=F64):
    return draw((3, 3), dtype)


def tall(dtype=F64):
    return draw((2, 5, 3), dtype)


def wide(dtype=F64):
    return draw((3, 5), dtype)


FUNCTIONS = {
    "cholesky": (of_linalg("cholesky"), lambda d: positive((2, 4, 4), d)),
    "inv": (of_linalg("inv"), general),
    "det 2": (of_linalg("det"), lambda d: draw((2, 2), d)),
    "det 3": (of_linalg("det"), lambda d: draw((2, 3, 3), d)),
    "slogdet": (of_linalg("slogdet"), lambda d: draw((2, 4, 4), d)),
    "eigvalsh U": (of_linalg("eigvalsh", UPLO="U"), lambda d: positive((4, 4), d)),
    "svd": (of_linalg("svd", full_matrices=False), tall),
    "svd square": (of_linalg("svd"), general),
    "qr": (of_linalg("qr"), tall),
    "eigh": (of_linalg("eigh"), lambda d: positive((2, 4, 4), d)),
    "pinv wide": (of_linalg("pinv"), wide),
    "norm 3": (of_linalg("norm", ord=3, axis=1), tall),
    "norm inf": (of_linalg("norm", ord=np.inf, axis=(1, 2)), tall),
    "norm nuc": (of_linalg("norm", ord="nuc", axis=(0, 2), keepdims=True), tall),
    "matrix_norm": (of_linalg("matrix_norm", ord=-1), tall),
    "vector_norm": (of_linalg("vector_norm"), tall),
    "vector_norm of axes": (of_linalg("vector_norm", axis=(0, 2), ord=3, keepdims=True), tall),
    "vector_norm -inf": (of_linalg("vector_norm", axis=-1, ord=-np.inf), tall),
    "vector_norm 1": (of_linalg("vector_norm", axis=1, ord=1), tall),
    "cond": (of_linalg("cond"), general),
    "matrix_power -2": (of_linalg("matrix_power", -2), general),
    "diagonal": (of_linalg("diagonal", offset=1), tall),
    "tensorinv": (of_linalg("tensorinv", ind=1), lambda d: draw((6, 2, 3), d)),
}
every_function = pytest.mark.parametrize("case", FUNCTIONS.values(), ids=FUNCTIONS)


@every_function
def test_values_and_derivatives(case):
    function, make = case
    x = make(C64)

    def everything(lib, np_):
        def f(x):
            return tuple_of(function(np_)(x))

        def compute(x):
            out, out_tangent = lib.jvp(f, (x,), (x * 0.5 + 1,))
            return out, out_tangent, lib.vjp(f, x)[1](out)

        return leaves(lib.jit(compute)(x))

    assert_same(everything(minijax, mnp), everything(jax, jnp), 20 * TOLERANCE[C64])


def tuple_of(x):
    return tuple(x) if isinstance(x, tuple) else (x,)


@every_function
def test_batches(case):
    function, make = case
    x = make(F64)
    xs = np.stack([x, x + np.eye(*x.shape[-2:])], 1)
    found = minijax.jit(minijax.vmap(lambda x: tuple_of(function(mnp)(x)), 1))(xs)
    loop = [tuple_of(function(mnp)(xs[:, i])) for i in range(2)]
    expected = [np.stack([np.asarray(x) for x in parts]) for parts in zip(*loop, strict=True)]
    assert_same(found, expected, 1e-10)


@pytest.mark.parametrize("dtype", [F32, C128], ids=str)
def test_decompositions(dtype):
    """Where the factors are determined up to signs only, they are LAPACK's in both libraries."""
    x, s = draw((2, 5, 3), dtype), positive((2, 4, 4), dtype)
    for name, matrix, options in [
        ("qr", x, {}),
        ("qr", np.swapaxes(x, 1, 2), {"mode": "complete"}),
        ("qr", x, {"mode": "complete"}),
        ("qr", x, {"mode": "raw"}),
        ("svd", x, {}),
        ("svd", x, {"compute_uv": False}),
        ("svd", np.swapaxes(x, 1, 2), {"full_matrices": False}),
        ("eigh", s, {}),
        ("eigh", s, {"UPLO": "U", "symmetrize_input": False}),
        ("eig", draw((2, 4, 4), dtype), {}),
    ]:
        ours = getattr(mnp.linalg, name)(matrix, **options)
        theirs = getattr(jnp.linalg, name)(matrix, **options)
        assert_same(leaves(tuple_of(ours)), leaves(tuple_of(theirs)), TOLERANCE[dtype])
        if isinstance(theirs, tuple):
            assert ours._fields == theirs._fields
    for name, options in [
        ("lu", {}),
        ("qr", {"pivoting": True, "full_matrices": False}),
        ("svd", {"full_matrices": False}),
    ]:
        ours, theirs = getattr(lax.linalg, name), getattr(jax.lax.linalg, name)
        assert_same(ours(x, **options), theirs(x, **options), TOLERANCE[dtype])
    square = draw((2, 4, 4), dtype)
    assert_same(lax.linalg.schur(square), jax.lax.linalg.schur(square), TOLERANCE[dtype])
    assert_same(lax.linalg.eig(square), jax.lax.linalg.eig(square), TOLERANCE[dtype])
    packed, taus = lax.linalg.geqrf(x)
    ours = lax.linalg.householder_product(packed, taus)
    theirs = jax.lax.linalg.householder_product(np.asarray(packed), np.asarray(taus))
    assert_same([ours], [theirs], TOLERANCE[dtype])


def test_derivatives_of_lu():
    dtype = C128
    for shape in [(3, 5), (2, 5, 3)]:
        x, t = draw(shape, dtype), draw(shape, dtype, 1)
        ours = minijax.jvp(lambda x: lax.linalg.lu(x)[0], (x,), (t,))
        theirs = jax.jvp(lambda x: jax.lax.linalg.lu(x)[0], (x,), (t,))
        assert_same(ours, theirs, 10 * TOLERANCE[dtype])


@pytest.mark.parametrize("options", [0, 3, 6, 13])
def test_triangular_solve(options):
    left_side, lower, transpose_a, unit_diagonal = (bool(options >> i & 1) for i in range(4))
    kwargs = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "unit_diagonal": unit_diagonal,
        "conjugate_a": lower,
    }
    a = draw((2, 3, 3), C128) + 3 * np.eye(3)
    b = draw((2, 3, 4) if left_side else (2, 4, 3), C128)
    primals, tangents = (a, b), (draw(a.shape, C128, 1), draw(b.shape, C128, 1))

    def everything(lib, solve):
        out, out_tangent = lib.jvp(solve, primals, tangents)
        return [out, out_tangent, *lib.vjp(solve, *primals)[1](out)]

    def run(lib):
        solve = partial(lib.lax.linalg.triangular_solve, **kwargs)
        return lib.jit(partial(everything, lib, solve))()

    ours, theirs = run(minijax), run(jax)
    assert_same(ours, theirs, 1e-10)


@pytest.mark.parametrize("dtype", [*TOLERANCE])
def test_triangular_systems_are_solved_by_blas(dtype):
    """What XLA makes of `stablehlo.triangular_solve` took twice to three times JAX's time."""
    a, b = draw((3, 3), dtype), draw((3, 2), dtype)
    for solve in (mnp.linalg.solve, lax.linalg.triangular_solve):
        sides = b if solve is mnp.linalg.solve else b.T
        text = minijax.jit(solve).lower(a, sides).as_text()
        assert "trsm_ffi" in text
        assert "stablehlo.triangular_solve" not in text


@pytest.mark.parametrize("options", [1, 6, 10, 13])
@pytest.mark.parametrize(
    ("a", "b"), [((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 3, 3), (0, 3, 2)), ((2, 1, 3, 3),) * 2]
)
def test_triangular_solve_of_batches_and_of_nothing(a, b, options):
    left_side, lower, transpose_a, conjugate_a = (bool(options >> i & 1) for i in range(4))
    kwargs = {"lower": lower, "transpose_a": transpose_a, "conjugate_a": conjugate_a}
    a, b = draw(a, C128) + 3 * np.eye(a[-1]), draw(b, C128)
    operands = (a, b if left_side else np.swapaxes(b, -1, -2))
    ours, theirs = (
        lib.lax.linalg.triangular_solve(*operands, left_side=left_side, **kwargs)
        for lib in (minijax, jax)
    )
    assert_same([ours], [theirs], 1e-12)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 3), (3,)),
        ((4, 1, 3, 3), (2, 3, 1)),
        ((2, 3, 3), (3,)),
    ],
)
def test_solve(a, b):
    primals, tangents = ((draw(a, C128, seed), draw(b, C128, seed)) for seed in range(2))

    def everything(lib, solve):
        out, out_tangent = lib.jvp(solve, primals, tangents)
        pulled = lib.vjp(solve, *primals)[1](out)
        again = lib.jvp(lambda *xs: lib.vjp(solve, *xs)[1](out), primals, tangents)[1]
        return [out, out_tangent, *pulled, *again]

    ours = minijax.jit(partial(everything, minijax, mnp.linalg.solve))()
    theirs = jax.jit(partial(everything, jax, jnp.linalg.solve))()
    assert_same(ours, theirs, 30 * TOLERANCE[C128])


def test_lstsq_rank_and_products_of_many():
    for a in (draw((5, 3)), draw((3, 5)), draw((5, 2)) @ draw((2, 3))):
        b, rcond = (draw((5,)), None) if a.shape[0] == 5 else (draw((3, 2)), 1e-6)
        ours, theirs = mnp.linalg.lstsq(a, b, rcond), jnp.linalg.lstsq(a, b, rcond)
        assert_same(ours[2:], theirs[2:], 1e-10)
        assert_same(ours[:1], theirs[:1], 1e-8)
        if a.shape[0] > a.shape[1]:
            assert_same(ours[1:2], theirs[1:2], 1e-10)
        assert_same([mnp.linalg.matrix_rank(a)], [jnp.linalg.matrix_rank(a)], 0)
        # JAX documents a tolerance relative to the largest singular value, as NumPy's is, but
        # compares the values with `rtol` itself.
        ours, expected = mnp.linalg.matrix_rank(a, rtol=0.5), np.linalg.matrix_rank(a, rtol=0.5)
        assert int(ours) == expected
    xs = [draw((2, 7)), draw((7, 3)), draw((3, 4)), draw((4,))]
    assert_same([mnp.linalg.multi_dot(xs)], [jnp.linalg.multi_dot(xs)], 1e-10)
    a, b = draw((2, 3, 6)), draw((2, 3))
    assert_same([mnp.linalg.tensorsolve(a, b)], [jnp.linalg.tensorsolve(a, b)], 1e-9)
    x, y = draw((4, 3)), draw((4, 3), seed=1)
    for name in ("cross", "vecdot", "outer", "matmul"):
        args = {"outer": (x[0], y[:, 0]), "matmul": (x, y.T)}.get(name, (x, y))
        ours, theirs = getattr(mnp.linalg, name)(*args), getattr(jnp.linalg, name)(*args)
        assert_same([ours], [theirs], 1e-10)


def test_what_cannot_be_computed_is_not_a_number():
    bad, singular, zeros = np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones((2, 2)), np.zeros((4, 4))

    def everything(np_):
        return [
            np_.linalg.cholesky(bad),
            np_.linalg.solve(singular, np.ones(2)),
            *np_.linalg.slogdet(zeros),
            np_.linalg.det(np.ones((4, 4))),
        ]

    for ours, theirs in zip(everything(mnp), everything(jnp), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), atol=1e-10)
    nan = np.full((3, 3), np.nan)
    for name in ("eigvalsh", "svdvals"):
        assert np.all(np.isnan(np.asarray(getattr(mnp.linalg, name)(nan))))


def test_types():
    with jax.enable_x64(False), minijax.enable_x64(False):
        for x in (np.eye(3, dtype=np.int32), np.eye(3) * 1j):
            for name in ("inv", "det", "cholesky", "eigvals", "norm"):
                ours, theirs = getattr(mnp.linalg, name)(x), getattr(jnp.linalg, name)(x)
                assert ours.dtype == theirs.dtype, name


WRONG = [
    (lambda np_: np_.linalg.inv(np.ones((2, 3))), ValueError),
    (lambda np_: np_.linalg.inv(np.ones(3)), ValueError),
    (lambda np_: np_.linalg.solve(np.ones((3, 3)), np.ones(4)), ValueError),
    (lambda np_: np_.linalg.qr(np.ones((3, 3)), mode="half"), ValueError),
    (lambda np_: np_.linalg.eigh(np.eye(3), UPLO="X"), ValueError),
    (lambda np_: np_.linalg.norm(np.ones((2, 2)), ord="x"), ValueError),
    (lambda np_: np_.linalg.norm(np.ones(2), ord="fro"), ValueError),
    (lambda np_: np_.linalg.norm(np.ones((2, 2, 2)), ord=2), ValueError),
    (lambda np_: np_.linalg.matrix_power(np.ones((2, 3)), 2), TypeError),
    (lambda np_: np_.linalg.cholesky(np.ones((2, 3))), ValueError),
]


@pytest.mark.parametrize(("call", "error"), WRONG)
def test_wrong_arguments(call, error):
    with pytest.raises(error, match=":"):
        call(mnp)
    with pytest.raises(Exception):  # noqa: B017, PT011  # JAX's classes vary
        call(jnp)


def test_derivatives_that_are_not_there_say_so():
    x = draw((4, 3))
    for function in (
        lambda x: mnp.linalg.svd(x)[0],
        lambda x: mnp.linalg.eig(x[:3])[1],
    ):
        with pytest.raises(NotImplementedError, match="derivative"):
            minijax.jvp(function, (mnp.asarray(x),), (mnp.asarray(x),))


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

    assert_same(program(minijax), program(jax), 10 * TOLERANCE[dtype])
    staged = minijax.jit(lambda: program(minijax))()
    assert_same(staged, program(jax), 10 * TOLERANCE[dtype])


@pytest.mark.filterwarnings("ignore:.*batched 1D solves:FutureWarning")
@pytest.mark.parametrize(
    ("matrices", "rows"),
    [
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (2, 3)),
        ((2, 3, 3), (3, 4)),
        ((2, 3, 3), (1, 3, 1)),
        ((3, 3), (2, 3, 4)),
        ((4, 1, 3, 3), (2, 3, 2)),
    ],
)
def test_batches_are_solved(matrices, rows):
    a, b = positive(matrices), draw(rows)

    def program(lib):
        scipy = lib.scipy.linalg
        out = [
            scipy.cho_solve((scipy.cholesky(a, lower=True), True), b),
            scipy.solve_triangular(a, b, trans="T", lower=True),
        ]
        if len(matrices) - len(rows) < 2 and len(rows) != 3:  # JAX's takes no others
            out += [scipy.lu_solve(scipy.lu_factor(a), b, trans) for trans in (0, 1)]
        return out

    assert_same(program(minijax), program(jax), 1e-9)


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
            pulled = lib.jvp(lambda *xs: lib.vjp(f, *xs)[1](out), primals, tangents)
            moved = lib.vmap(f, (None, None, 0))(a, s, lib.numpy.stack([b, 2 * b]))
            return [out, tangent, pulled, moved]

        return leaves(lib.jit(everything)(a, s, b))

    assert_same(program(minijax), program(jax), 1e-9)


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


@pytest.mark.parametrize("name", SHAPED)
def test_types_and_errors_of_scipys_functions(name):
    for x64 in (False, True):
        with jax.enable_x64(x64), minijax.enable_x64(x64):
            for args in SHAPED[name]:
                assert_same_results(lambda n, lib, args=args: of_scipy(lib, name, *args))
            for args in WRONGLY_SHAPED.get(name, ()):
                assert_same_results(refused(lambda n, lib, args=args: of_scipy(lib, name, *args)))


def test_cholesky_is_done_by_lapack_whose_failure_is_of_one_matrix_only():
    x = np.stack([positive((3, 3)), -positive((3, 3))])
    assert "@lapack_dpotrf_ffi" in minijax.jit(mnp.linalg.cholesky).lower(x).as_text()
    factors = np.asarray(mnp.linalg.cholesky(x))
    np.testing.assert_allclose(factors[0] @ factors[0].T, x[0])
    np.testing.assert_array_equal(factors, np.asarray(jnp.linalg.cholesky(x)))


@pytest.mark.parametrize("offset", [-4, -1, 0, 2, 3])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, np.complex64])
def test_diagonals_have_the_dtype_of_the_matrix(dtype, offset):
    """That of booleans was summed, and so an integer."""
    x = (np.arange(24).reshape(2, 4, 3) % 3).astype(dtype)
    ours, theirs = (n.linalg.diagonal(x, offset=offset) for n in (minijax.numpy, jax.numpy))
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
