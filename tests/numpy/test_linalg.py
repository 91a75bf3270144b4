"""Linear algebra agrees with JAX's: values, dtypes, derivatives in both modes, batches."""

import itertools
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_same, refused
from matrices import (
    C64,
    C128,
    F32,
    F64,
    TOLERANCE,
    assert_same_of_each,
    draw,
    leaves,
    positive,
)
from shares import IS_NIGHT

import minijax
import minijax.numpy as mnp
from minijax import lax


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


def tuple_of(x):
    return tuple(x) if isinstance(x, tuple) else (x,)


# Where other programs are beside it, XLA may compute absolute values a second time, rounded
# differently, and none of the elements is equal to the least.
ALONE = "vector_norm -inf"
TOGETHER = [name for name in FUNCTIONS if name != ALONE]


@pytest.mark.newest_jax("vector_norm -inf")
@pytest.mark.parametrize(
    "names", [TOGETHER[::2], TOGETHER[1::2], [ALONE]], ids=["even", "odd", ALONE]
)
def test_values_and_derivatives(names):
    functions = {name: FUNCTIONS[name] for name in names}

    def everything(lib, xs):
        found = {}
        for name, (function, _) in functions.items():
            f, x = (lambda x, f=function: tuple_of(f(lib.numpy)(x))), xs[name]
            out, pullback = lib.vjp(f, x)
            found[name] = out, pullback(out)
            if IS_NIGHT:  # whose linear part is what is transposed
                found[name] += lib.jvp(f, (x,), (x * 0.5 + 1,))
        return found

    xs = {name: make(C64) for name, (_, make) in functions.items()}
    ours, theirs = (lib.jit(partial(everything, lib))(xs) for lib in (minijax, jax))
    assert_same_of_each(ours, theirs, 20 * TOLERANCE[C64])


def test_batches():
    def everything(batches):
        found, expected = {}, {}
        for name, (function, _) in FUNCTIONS.items():
            f, xs = (lambda x, f=function: tuple_of(f(mnp)(x))), batches[name]
            found[name] = minijax.vmap(f, 1)(xs)
            loop = [f(xs[:, i]) for i in range(2)]
            expected[name] = [mnp.stack(parts) for parts in zip(*loop, strict=True)]
        return found, expected

    xs = {name: make(F64) for name, (_, make) in FUNCTIONS.items()}
    batches = {name: np.stack([x, x + np.eye(*x.shape[-2:])], 1) for name, x in xs.items()}
    assert_same_of_each(*minijax.jit(everything)(batches), 1e-10)


@pytest.mark.parametrize("dtype", [F32, C128], ids=str)
def test_decompositions(dtype):
    """Where the factors are determined up to signs only, they are LAPACK's in both libraries."""
    x, s, square = draw((2, 5, 3), dtype), positive((2, 4, 4), dtype), draw((2, 4, 4), dtype)
    of_numpy = [
        ("qr", x, {}),
        ("qr", np.swapaxes(x, 1, 2), {"mode": "complete"}),
        ("qr", x, {"mode": "complete"}),
        ("qr", x, {"mode": "raw"}),
        ("svd", x, {}),
        ("svd", x, {"compute_uv": False}),
        ("svd", np.swapaxes(x, 1, 2), {"full_matrices": False}),
        ("eigh", s, {}),
        ("eigh", s, {"UPLO": "U", "symmetrize_input": False}),
        ("eig", square, {}),
    ]
    of_lax = [
        ("lu", x, {}),
        ("qr", x, {"pivoting": True, "full_matrices": False}),
        ("svd", x, {"full_matrices": False}),
        ("schur", square, {}),
        ("eig", square, {}),
    ]
    packed, taus = map(np.asarray, lax.linalg.geqrf(x))
    fields = {minijax: [], jax: []}

    def everything(lib):
        found = {}
        for module, calls in ((lib.numpy.linalg, of_numpy), (lib.lax.linalg, of_lax)):
            for i, (name, matrix, options) in enumerate(calls):
                out = getattr(module, name)(matrix, **options)
                if calls is of_numpy:
                    fields[lib].append(getattr(out, "_fields", None))
                found[f"{module.__name__.partition('.')[2]}.{name} {options}, number {i}"] = out
        found["product"] = lib.lax.linalg.householder_product(packed, taus)
        return {name: leaves(tuple_of(out)) for name, out in found.items()}

    ours, theirs = (lib.jit(partial(everything, lib))() for lib in (minijax, jax))
    assert_same_of_each(ours, theirs, TOLERANCE[dtype])
    assert fields[minijax] == fields[jax]


def test_derivatives_of_lu():
    dtype = C128
    pairs = [(draw(s, dtype), draw(s, dtype, 1)) for s in [(3, 5), (2, 5, 3)]]

    def everything(lib):
        pushed = []
        for pair in pairs:
            x, t = map(lib.numpy.asarray, pair)
            pushed.append(lib.jvp(lambda x: lib.lax.linalg.lu(x)[0], (x,), (t,)))
        return pushed

    ours, theirs = (leaves(lib.jit(partial(everything, lib))()) for lib in (minijax, jax))
    assert_same(ours, theirs, 10 * TOLERANCE[dtype])


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

    ours, theirs = (lib.jit(partial(everything, lib))() for lib in (minijax, jax))
    assert_same_of_each(ours, theirs, 1e-10)


def test_triangular_systems_are_solved_by_blas():
    """What XLA makes of `stablehlo.triangular_solve` took twice to three times JAX's time."""
    for dtype in TOLERANCE:
        a, b = draw((3, 3), dtype), draw((3, 2), dtype)
        for solve, sides in ((mnp.linalg.solve, b), (lax.linalg.triangular_solve, b.T)):
            text = minijax.jit(solve).lower(a, sides).as_text()
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

    ours, theirs = (lib.jit(partial(everything, lib))() for lib in (minijax, jax))
    assert_same_of_each(ours, theirs, 1e-12)


def test_solve():
    def everything(lib):
        found, solve = {}, lib.numpy.linalg.solve
        for a, b in [((3, 3), (3,)), ((4, 1, 3, 3), (2, 3, 1)), ((2, 3, 3), (3,))]:
            primals, tangents = ((draw(a, C128, seed), draw(b, C128, seed)) for seed in range(2))
            out, out_tangent = lib.jvp(solve, primals, tangents)
            pulled = lib.vjp(solve, *primals)[1](out)
            found[f"{a} {b}"] = [out, out_tangent, *pulled]
            if IS_NIGHT:
                again = lib.jvp(lambda *xs: lib.vjp(solve, *xs)[1](out), primals, tangents)[1]  # noqa: B023
                found[f"{a} {b}"] += again
        return found

    ours, theirs = (
        lib.jit(lambda lib=lib: list(everything(lib).values()))() for lib in (minijax, jax)
    )
    assert_same(leaves(ours), leaves(theirs), 30 * TOLERANCE[C128])


def test_lstsq_rank_and_products_of_many():
    matrices = [draw((5, 3)), draw((3, 5)), draw((5, 2)) @ draw((2, 3))]
    x, y = draw((4, 3)), draw((4, 3), seed=1)

    def everything(n):
        solved, residuals, exact = [], [], []
        for a in matrices:
            b, rcond = (draw((5,)), None) if a.shape[0] == 5 else (draw((3, 2)), 1e-6)
            solution, residual, *rest = n.linalg.lstsq(a, b, rcond)
            solved.append(solution)
            residuals += [residual] * (a.shape[0] > a.shape[1])
            exact += [*rest, n.linalg.matrix_rank(a)]
        xs = [draw((2, 7)), draw((7, 3)), draw((3, 4)), draw((4,))]
        exact.append(n.linalg.multi_dot(xs))
        solved.append(n.linalg.tensorsolve(draw((2, 3, 6)), draw((2, 3))))
        exact += [n.linalg.cross(x, y), n.linalg.vecdot(x, y)]
        exact += [n.linalg.outer(x[0], y[:, 0]), n.linalg.matmul(x, y.T)]
        return solved, residuals + exact

    ours, theirs = (lib.jit(partial(everything, lib.numpy))() for lib in (minijax, jax))
    assert_same(ours[0], theirs[0], 1e-8)
    assert_same(ours[1], theirs[1], 1e-10)
    # JAX documents a tolerance relative to the largest singular value, as NumPy's is, but
    # compares the values with `rtol` itself.
    found = minijax.jit(lambda: [mnp.linalg.matrix_rank(a, rtol=0.5) for a in matrices])()
    assert list(map(int, found)) == [np.linalg.matrix_rank(a, rtol=0.5) for a in matrices]


def test_what_cannot_be_computed_is_not_a_number():
    bad, singular, zeros = np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones((2, 2)), np.zeros((4, 4))
    nan = np.full((3, 3), np.nan)

    def everything(np_):
        return [
            np_.linalg.cholesky(bad),
            np_.linalg.solve(singular, np.ones(2)),
            *np_.linalg.slogdet(zeros),
            np_.linalg.det(np.ones((4, 4))),
        ], [np_.linalg.eigvalsh(nan), np_.linalg.svdvals(nan)]

    (ours, of_nan), (theirs, _) = (
        lib.jit(partial(everything, lib.numpy))() for lib in (minijax, jax)
    )
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=1e-10)
    assert all(np.all(np.isnan(np.asarray(found))) for found in of_nan)


@pytest.mark.bits(32)
def test_types():
    for x in (np.eye(3, dtype=np.int32), np.eye(3) * 1j):
        for name in ("inv", "det", "cholesky", "eigvals", "norm"):
            ours, theirs = (
                lib.eval_shape(getattr(lib.numpy.linalg, name), x) for lib in (minijax, jax)
            )
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


def test_wrong_arguments():
    for call, error in WRONG:
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

    ours, theirs = (lib.jit(partial(program, lib))() for lib in (minijax, jax))
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

    ours, theirs = (lib.jit(partial(program, lib))() for lib in (minijax, jax))
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


@pytest.mark.parametrize("x64", [False, True], ids=["32", "64"])
def test_types_and_errors_of_scipys_functions(x64):
    def calls(table):
        return [
            lambda n, lib, name=name, args=args: of_scipy(lib, name, *args)
            for name in table
            for args in table[name]
        ]

    with jax.enable_x64(x64), minijax.enable_x64(x64):
        assert_all_same_results([*calls(SHAPED), *map(refused, calls(WRONGLY_SHAPED))])


def test_cholesky_is_done_by_lapack_whose_failure_is_of_one_matrix_only():
    x = np.stack([positive((3, 3)), -positive((3, 3))])
    assert "@lapack_dpotrf_ffi" in minijax.jit(mnp.linalg.cholesky).lower(x).as_text()
    factors = np.asarray(mnp.linalg.cholesky(x))
    np.testing.assert_allclose(factors[0] @ factors[0].T, x[0])
    np.testing.assert_array_equal(factors, np.asarray(jnp.linalg.cholesky(x)))


def test_diagonals_have_the_dtype_of_the_matrix():
    """That of booleans was summed, and so an integer."""
    x = np.arange(24).reshape(2, 4, 3) % 3
    assert_all_same_results(
        lambda n, lib, dtype=dtype, k=offset: n.linalg.diagonal(x.astype(dtype), offset=k)
        for dtype in (bool, np.int8, np.float32, np.complex64)
        for offset in (-4, -1, 0, 2, 3)
    )


def test_a_gradient_solves_one_system_for_both_operands():
    def solutions(f):
        text = str(minijax.make_jaxpr(f)(np.eye(3), np.ones((3, 2))))
        return len(re.findall(r"= (?:lu_|triangular_)solve", text))

    for solve in (mnp.linalg.solve, minijax.scipy.linalg.solve_triangular):

        def total(a, b, solve=solve):
            return solve(a, b).sum()

        assert solutions(total) == 1
        assert solutions(minijax.grad(total, (0, 1))) == 2
