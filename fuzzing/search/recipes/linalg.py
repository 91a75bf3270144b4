"""Linear algebra."""

import itertools

from fuzzing.search.arguments import ALL, Arguments, call
from fuzzing.search.recipes.forms import Recipe, recipes


def of_matrices(kinds: str = "fc", wide: bool = False, **options: str) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        return call(name, a.matrices(kinds, wide=wide), **a.some(**options))

    return recipe


def of_one_matrix(kinds: str = "f", **options: str) -> Recipe:
    def recipe(a: Arguments, name: str) -> str:
        n = a.one_of(2, 1, 3, 0)
        x = a.input(a.dtype(kinds), (n, n), "tame", add_to_diagonal=4)
        return call(name, x, **a.some(**options))

    return recipe


def symmetric(a: Arguments, name: str) -> str:
    x = a.matrices("fc")
    return call(name, f"({x} + jnp.conj(jnp.swapaxes({x}, -1, -2)))")


def solve(a: Arguments, name: str) -> str:
    x = a.matrices("fc")
    columns = a.one_of((a.number(0, 2),), ()) if x.ndim == 2 else (a.number(0, 2),)
    b = a.input(a.one_of(x.dtype, a.dtype("fic")), (*x.shape[:-1], *columns), "tame")
    options = {}
    if name.endswith("solve_triangular"):
        options = a.some(lower="True", trans=lambda: a.one_of(1, 2), unit_diagonal="True")
    if name.endswith("scipy.linalg.solve"):
        options = a.some(lower="True", assume_a="'pos'")
    return call(name, x, b, **options)


def triangular_solve(a: Arguments, name: str) -> str:
    x = a.matrices("fc")
    b = a.input(x.dtype, (*x.shape[:-1], a.number(0, 2)), "tame")
    options = a.some(lower="True", transpose_a="True", conjugate_a="True", unit_diagonal="True")
    return call(name, x, b, left_side="True", **options)


def least_squares(a: Arguments, name: str) -> str:
    m, n = a.number(1, 3), a.number(1, 3)
    x = a.input(a.dtype("f"), (m, n), "tame", add_to_diagonal=4)
    return call(name, x, a.input(x.dtype, (m, *a.one_of((), (2,))), "tame"))


def norm(a: Arguments, name: str) -> str:
    least = 2 if name.endswith("matrix_norm") else 0
    x = a.array(ndims=(least, 3))
    options = a.some(keepdims="True")
    if name.endswith("vector_norm"):
        options |= a.some(ord=lambda: a.one_of("1", "jnp.inf", "0", "3"), axis=lambda: a.axes(x))
    elif least:
        options |= a.some(ord=lambda: a.one_of("1", "jnp.inf", "'nuc'", "-2", "2"))
    elif x.ndim in (1, 2):
        options |= a.some(ord=lambda: a.one_of("1", "jnp.inf", "-jnp.inf", "2"))
    return call(name, x, **options)


def matrix_power(a: Arguments, name: str) -> str:
    return call(name, a.matrices("fci"), a.number(-2, 4))


def vecdot(a: Arguments, name: str) -> str:
    x = a.array(ndims=(1, 3))
    return call(name, x, a.array(shape=x.shape))


def multi_dot(a: Arguments, name: str) -> str:
    sizes = [a.number(0, 3) for _ in range(4)]
    pairs = itertools.pairwise(sizes)
    return call(name, f"[{', '.join(str(a.array('fi', shape=pair)) for pair in pairs)}]")


def factorized(a: Arguments, name: str) -> str:
    """`lu_solve` and `cho_solve`, of what they are meant to take."""
    x = a.matrices("fc")
    b = a.input(x.dtype, (*x.shape[:-1], a.number(0, 2)), "tame")
    if name.endswith("lu_solve"):
        return call(name, f"jax.scipy.linalg.lu_factor({x})", b, **a.some(trans="1"))
    positive = f"({x} + jnp.conj(jnp.swapaxes({x}, -1, -2)))"
    return call(name, f"jax.scipy.linalg.cho_factor({positive})", b)


def sylvester(a: Arguments, name: str) -> str:
    x = a.input("float32", (2, 2), "tame", add_to_diagonal=4)
    y = a.input("float32", (2, 2), "tame", add_to_diagonal=4)
    return call(name, x, y, a.input("float32", (2, 2), "tame"))


def two_matrices(a: Arguments, name: str) -> str:
    dtype = a.dtype("f")
    return call(name, *(a.input(dtype, (2, 2), "tame", add_to_diagonal=4) for _ in range(2)))


def tridiagonal_solve(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    diagonals = [a.input("float32", (n,), "positive") for _ in range(3)]
    return call(name, *diagonals, a.input("float32", (n, 2), "tame"))


def eigh_tridiagonal(a: Arguments, name: str) -> str:
    n = a.number(2, 4)
    x, y = a.input("float32", (n,), "tame"), a.input("float32", (n - 1,), "tame")
    return call(name, x, y, eigvals_only="True")


def of_vectors(count: int, kinds: str = ALL, smallest: int = 1) -> Recipe:
    return lambda a, name: call(
        name, *(a.array(kinds, ndims=(1, 1), smallest=smallest) for _ in range(count))
    )


def of_a_size(least: int = 0, **options: str) -> Recipe:
    return lambda a, name: call(name, a.number(least, 4), **a.some(**options))


def hadamard(a: Arguments, name: str) -> str:
    return call(name, a.one_of(1, 2, 4))


def leslie(a: Arguments, name: str) -> str:
    n = a.number(2, 4)
    return call(name, a.array("f", shape=(n,)), a.array("f", shape=(n - 1,)))


def block_diag(a: Arguments, name: str) -> str:
    return call(name, *(a.array(ndims=(0, 2)) for _ in range(a.number(1, 3))))


def tensorinv(a: Arguments, name: str) -> str:
    x = a.input("float32", (a.number(1, 3),) * 2, "tame", add_to_diagonal=4)
    n = x.shape[0]
    return call(name, f"jnp.reshape({x}, ({n}, 1, {n}))", ind=a.number(1, 2))


def tensorsolve(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    x = a.input("float32", (n, n), "tame", add_to_diagonal=4)
    b = a.input("float32", (n, 1), "tame")
    return call(name, f"jnp.reshape({x}, ({n}, 1, {n}))", b)


def pivots(a: Arguments, name: str) -> str:
    n = a.number(0, 4)
    return call(name, a.input("int32", (*a.shape(0, 1), n), "whole"), max(n, 4))


def householder_product(a: Arguments, name: str) -> str:
    n = a.number(0, 3)
    x = a.input(a.one_of("float32", a.dtype("fc")), (*a.shape(0, 1), n + a.number(0, 2), n), "tame")
    return call(name, x, a.input(x.dtype, (*x.shape[:-2], a.number(0, n)), "unit"))


def ormqr(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    x = a.input(a.one_of("float32", a.dtype("f")), (n, n), "tame")
    c = a.input(x.dtype, (n, n), "tame")
    taus = a.input(x.dtype, (n,), "unit")
    return call(name, x, taus, c, **a.some(left="False", transpose="True"))


def tridiagonal(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    x = a.input(a.one_of("float32", "complex64"), (*a.shape(0, 1), n, n), "tame")
    return call(name, f"({x} + jnp.conj(jnp.swapaxes({x}, -1, -2)))", **a.some(lower="False"))


def cholesky_update(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    x = a.input(a.one_of("float32", a.dtype("f")), (n, n), "unit", add_to_diagonal=2)
    return call(name, f"jnp.triu({x})", a.input(x.dtype, (n,), "tame"))


def symmetric_product(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    x = a.input(a.one_of("float32", a.dtype("f")), (*a.shape(0, 1), n, a.number(1, 3)), "tame")
    c = a.input(x.dtype, (*x.shape[:-2], n, n), "tame")
    options = a.some(alpha="2.0", beta="0.5")
    return call(name, x, f"({c} + jnp.swapaxes({c}, -1, -2))", symmetrize_output=True, **options)


def qr_multiply(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    x = a.input(
        a.one_of("float32", a.dtype("f")), (n + a.number(0, 1), n), "tame", add_to_diagonal=4
    )
    left = a.chance(2)
    c = a.input(x.dtype, (n, 2) if left else (2, x.shape[0]), "tame")
    return call(name, x, c, **({"mode": repr("left")} if left else {}))


def funm(a: Arguments, name: str) -> str:
    # A triangle of distinct numbers, for which the recurrence of Schur and Parlett is exact.
    x = a.input("float32", (a.number(1, 3),) * 2, "unit")
    n = x.shape[0]
    return call(name, f"(jnp.triu({x}) + jnp.diag(jnp.arange({n}.0)))", "jnp.exp")


def rsf2csf(a: Arguments, name: str) -> str:
    x = a.input("float32", (a.number(1, 3),) * 2, "tame", add_to_diagonal=4)
    # The factors are unique but for the phase of each column.
    both = call(name, f"*jax.scipy.linalg.schur({x})")
    return f"(lambda t, z: (jnp.diag(t), z @ t @ jnp.conj(z).T))(*{both})"


RECIPES: dict[str, Recipe] = {
    **recipes(
        "jnp.linalg",
        [
            (symmetric, "cholesky eigh eigvalsh"),
            (of_matrices(), "det inv slogdet eigvals eig"),
            (of_matrices("fic"), "trace matrix_transpose diagonal"),
            (of_matrices("f", wide=True), "pinv svdvals matrix_rank cond"),
            (of_matrices("fc", wide=True, full_matrices="False", compute_uv="False"), "svd"),
            (of_matrices("fc", wide=True, mode="'complete'"), "qr"),
            (solve, "solve"),
            (least_squares, "lstsq"),
            (norm, "norm matrix_norm vector_norm"),
            (matrix_power, "matrix_power"),
            (vecdot, "vecdot"),
            (multi_dot, "multi_dot"),
            (tensorinv, "tensorinv"),
            (tensorsolve, "tensorsolve"),
        ],
    ),
    **recipes(
        "lax.linalg",
        [
            (of_matrices("fc", wide=True), "lu"),
            (of_matrices("fc", wide=True, full_matrices="False"), "qr svd"),
            (symmetric, "cholesky eigh"),
            (of_matrices("fc"), "eig hessenberg"),
            (of_matrices("f"), "schur"),
            (triangular_solve, "triangular_solve"),
            (tridiagonal_solve, "tridiagonal_solve"),
            (pivots, "lu_pivots_to_permutation"),
            (householder_product, "householder_product"),
            (ormqr, "ormqr"),
            (tridiagonal, "tridiagonal"),
            (cholesky_update, "cholesky_update"),
            (symmetric_product, "symmetric_product"),
        ],
    ),
    **recipes(
        "jax.scipy.linalg",
        [
            (symmetric, "cholesky cho_factor eigh"),
            (factorized, "cho_solve lu_solve"),
            (of_matrices(), "det inv lu_factor lu"),
            (of_matrices("fc", wide=True, mode="'economic'"), "qr"),
            (of_matrices("fc", wide=True, full_matrices="False"), "svd"),
            (of_one_matrix("fc"), "expm hessenberg sqrtm"),
            (of_one_matrix("f"), "schur polar"),
            (solve, "solve solve_triangular"),
            (sylvester, "solve_sylvester"),
            (two_matrices, "expm_frechet"),
            (eigh_tridiagonal, "eigh_tridiagonal"),
            (block_diag, "block_diag"),
            (of_vectors(1), "circulant companion fiedler toeplitz hankel"),
            (of_vectors(2), "toeplitz"),
            (of_a_size(1), "dft helmert hilbert pascal"),
            (hadamard, "hadamard"),
            (leslie, "leslie"),
            (qr_multiply, "qr_multiply"),
            (funm, "funm"),
            (rsf2csf, "rsf2csf"),
        ],
    ),
}
