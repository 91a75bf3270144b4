"""`numpy.linalg`: values, dtypes, derivatives in both modes and batches, beside JAX."""

import math
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_same
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

import glassjax
import glassjax.numpy as gnp
from glassjax import lax


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
    ours, theirs = (lib.jit(partial(everything, lib))(xs) for lib in (glassjax, jax))
    assert_same_of_each(ours, theirs, 20 * TOLERANCE[C64])


def test_batches():
    def everything(batches):
        found, expected = {}, {}
        for name, (function, _) in FUNCTIONS.items():
            f, xs = (lambda x, f=function: tuple_of(f(gnp)(x))), batches[name]
            found[name] = glassjax.vmap(f, 1)(xs)
            loop = [f(xs[:, i]) for i in range(2)]
            expected[name] = [gnp.stack(parts) for parts in zip(*loop, strict=True)]
        return found, expected

    xs = {name: make(F64) for name, (_, make) in FUNCTIONS.items()}
    batches = {name: np.stack([x, x + np.eye(*x.shape[-2:])], 1) for name, x in xs.items()}
    assert_same_of_each(*glassjax.jit(everything)(batches), 1e-10)


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
    fields = {glassjax: [], jax: []}

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

    ours, theirs = (lib.jit(partial(everything, lib))() for lib in (glassjax, jax))
    assert_same_of_each(ours, theirs, TOLERANCE[dtype])
    assert fields[glassjax] == fields[jax]


def test_derivatives_of_lu():
    dtype = C128
    pairs = [(draw(s, dtype), draw(s, dtype, 1)) for s in [(3, 5), (2, 5, 3)]]

    def everything(lib):
        pushed = []
        for pair in pairs:
            x, t = map(lib.numpy.asarray, pair)
            pushed.append(lib.jvp(lambda x: lib.lax.linalg.lu(x)[0], (x,), (t,)))
        return pushed

    ours, theirs = (leaves(lib.jit(partial(everything, lib))()) for lib in (glassjax, jax))
    assert_same(ours, theirs, 10 * TOLERANCE[dtype])


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
        lib.jit(lambda lib=lib: list(everything(lib).values()))() for lib in (glassjax, jax)
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

    ours, theirs = (lib.jit(partial(everything, lib.numpy))() for lib in (glassjax, jax))
    assert_same(ours[0], theirs[0], 1e-8)
    assert_same(ours[1], theirs[1], 1e-10)
    # JAX documents a tolerance relative to the largest singular value, as NumPy's is, but
    # compares the values with `rtol` itself.
    found = glassjax.jit(lambda: [gnp.linalg.matrix_rank(a, rtol=0.5) for a in matrices])()
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
        lib.jit(partial(everything, lib.numpy))() for lib in (glassjax, jax)
    )
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=1e-10)
    assert all(np.all(np.isnan(np.asarray(found))) for found in of_nan)


@pytest.mark.bits(32)
def test_types():
    for x in (np.eye(3, dtype=np.int32), np.eye(3) * 1j):
        for name in ("inv", "det", "cholesky", "eigvals", "norm"):
            ours, theirs = (
                lib.eval_shape(getattr(lib.numpy.linalg, name), x) for lib in (glassjax, jax)
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
            call(gnp)
        with pytest.raises(Exception):  # noqa: B017, PT011  # JAX's classes vary
            call(jnp)


def test_derivatives_that_are_not_there_say_so():
    x = draw((4, 3))
    for function in (
        lambda x: gnp.linalg.svd(x)[0],
        lambda x: gnp.linalg.eig(x[:3])[1],
    ):
        with pytest.raises(NotImplementedError, match="derivative"):
            glassjax.jvp(function, (gnp.asarray(x),), (gnp.asarray(x),))


def test_cholesky_is_done_by_lapack_whose_failure_is_of_one_matrix_only():
    x = np.stack([positive((3, 3)), -positive((3, 3))])
    assert "@lapack_dpotrf_ffi" in glassjax.jit(gnp.linalg.cholesky).lower(x).as_text()
    factors = np.asarray(gnp.linalg.cholesky(x))
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
        text = str(glassjax.make_jaxpr(f)(np.eye(3), np.ones((3, 2))))
        return len(re.findall(r"= (?:lu_|triangular_)solve", text))

    for solve in (gnp.linalg.solve, glassjax.scipy.linalg.solve_triangular):

        def total(a, b, solve=solve):
            return solve(a, b).sum()

        assert solutions(total) == 1
        assert solutions(glassjax.grad(total, (0, 1))) == 2


@pytest.mark.newest_jax
def test_least_squares_of_narrow_floats_say_which_dtypes_there_are():
    a = glassjax.numpy.array([[5.0]], "bfloat16")
    with pytest.raises(TypeError, match=r"lstsq: found bf16.*float32"):
        glassjax.numpy.linalg.lstsq(a, a[0])


@pytest.mark.newest_jax
def test_norms_of_vectors_are_said_by_numbers():
    for order in (1j, (1,), object()):
        with pytest.raises(TypeError, match="norm: ord must be a real number"):
            glassjax.numpy.linalg.norm(glassjax.numpy.ones(3), order)


@pytest.mark.newest_jax
def test_residuals_are_left_out_as_numpy_does_on_request():
    x = np.arange(4.0)
    for a in (np.stack([x, x**0], 1), np.stack([x, x], 1), np.eye(4)):
        found = gnp.linalg.lstsq(a, x**2, numpy_resid=True)[1]
        expected = np.linalg.lstsq(a, x**2)[1]
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.newest_jax
def test_derivatives_of_pseudoinverses_are_as_small_as_their_matrices():
    for shape in ((500, 2), (2, 500)):
        a = np.ones(shape, np.float32)
        jaxpr = glassjax.make_jaxpr(lambda a, t: glassjax.jvp(gnp.linalg.pinv, (a,), (t,)))(a, a)
        shapes = re.findall(r"f32\[([\d,]*)\]", str(jaxpr))
        sizes = [math.prod(map(int, sizes.split(","))) for sizes in shapes if sizes]
        assert max(sizes) <= 1000


@pytest.mark.bits(32)
def test_the_condition_of_singular_matrices_is_infinite():
    zeros, holes = np.zeros((2, 2), np.float32), np.full((2, 2), np.nan, np.float32)
    orders = [None, 1, np.inf, "fro"]
    assert_all_same_results(
        [lambda n, lib, x=x, p=p: n.linalg.cond(x, p) for x in (zeros, holes) for p in orders]
    )
