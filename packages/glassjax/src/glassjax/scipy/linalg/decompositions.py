"""Decompositions of matrices, and systems of linear equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.dimensions.expressions import surely_less
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax import linalg
from glassjax.lax.linalg import matrices
from glassjax.lax.linalg.factorizations import square_factors
from glassjax.numpy.products import promote_dtypes
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import weak_if_all_are
from glassjax_stage2 import typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.promotion import to_inexact
from glassjax_stage2.shaped_array import typeof_named

# Decompositions of matrices: Cholesky, LU, QR, singular values, eigenvalues, and others.


@operation(static=("side", "method", "eps", "max_iterations"))
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """The polar decomposition: orthonormal columns (or rows), and a positive semidefinite matrix.

    Arguments:
        a: the matrices.
        side: "right" for `a = u @ p`, "left" for `a = p @ u`.
        method: "qdwh" or "svd", which are the same here: both use singular values.
        eps, max_iterations: ignored.

    Returns:
        `u` and `p`.

    Raises:
        ValueError: there is no such `side` or `method`, or `a` has fewer than two axes.

    >>> a = jnp.array([[0.0, -2.0], [3.0, 0.0]])
    >>> u, p = polar(a)
    >>> bool(jnp.allclose(u @ p, a)), bool(jnp.allclose(u.T @ u, jnp.eye(2), atol=1e-5))
    (True, True)
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: side must be 'right' or 'left', found {side!r}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: method must be 'qdwh' or 'svd', found {method!r}")
    for name, given in (("eps", eps), ("max_iterations", max_iterations)):
        if given is not None:
            require_fit("polar", name, given, float if name == "eps" else int)
    u, s, vh = linalg.svd(matrices.matrices_of("polar", a), full_matrices=False)
    factor = matrices.mH(vh) if side == "right" else u
    return jnp.matmul(u, vh), jnp.matmul(factor * s[..., None, :], matrices.mH(factor))


@operation(static=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The decomposition of square matrices into `q @ h @ q^H`, with zeros below `h`'s subdiagonal.

    Arguments:
        a: the matrices.
        calc_q: whether to return `q`, too.
        overwrite_a, check_finite: ignored.

    Returns:
        `h`, or `h` and `q`.

    Raises:
        ValueError: the matrices are not square.

    >>> a = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
    >>> h, q = hessenberg(a, calc_q=True)
    >>> bool(jnp.abs(h[2, 0]) < 1e-6), bool(jnp.allclose(q @ h @ q.T, a, atol=1e-4))
    (True, True)
    """
    a = matrices.matrices_of("hessenberg", a, square=True)
    size = typeof(a).shape[-1]
    if surely_less(size, 2):  # there is nothing to reflect
        return (a, jnp.ones_like(a)) if calc_q else a
    packed, taus = linalg.hessenberg(a)
    h = matrices.triu(packed, -1)
    if not calc_q:
        return h
    inner = linalg.householder_product(packed[..., 1:, :-1], taus)
    q = jnp.broadcast_to(jnp.eye(size, dtype=a.dtype), a.shape).at[..., 1:, 1:].set(inner)
    return h, q


@operation(static=("mode", "pivoting", "conjugate", "overwrite_a", "overwrite_c"))
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """The product of a matrix with `q` of the QR decomposition, and `r`.

    Arguments:
        a: the matrices to decompose, with the minimal number of columns of `q`.
        c: the matrices, or a vector, to multiply.
        mode: "right" for `c @ q`, "left" for `q @ c`.
        pivoting: whether to permute columns so that the diagonal of `r` decreases.
        conjugate: whether to conjugate `q` first.
        overwrite_a, overwrite_c: ignored.

    Returns:
        The product, `r`, and with `pivoting` the permutation.

    Raises:
        ValueError: there is no such `mode`, or the shapes do not match.

    >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> coordinates, r = glassjax.scipy.linalg.qr_multiply(a, jnp.array([3.0, 4.0]))
    >>> bool(jnp.allclose(coordinates @ r, jnp.array([3.0, 4.0]) @ a))  # q @ r is a
    True
    """
    if mode not in ("right", "left"):
        raise ValueError(f"qr_multiply: mode must be 'right' or 'left', found {mode!r}")
    a, c = (to_inexact(x) for x in promote_dtypes(a, c))
    q, *rest = linalg.qr(
        matrices.matrices_of("qr_multiply", a), pivoting=pivoting, full_matrices=False
    )
    q = jnp.conj(q) if conjugate else q
    size = typeof(q).shape[-2 if mode == "right" else -1]
    is_row = mode == "right" or typeof(c).ndim == 1
    if typeof(c).ndim == 0 or typeof(c).shape[-1 if is_row else -2] != size:
        raise ValueError(
            f"qr_multiply: q is {typeof(q)}, and c {typeof(c)} does not fit on its {mode} side: "
            f"expected {size} numbers there"
        )
    return (jnp.matmul(c, q) if mode == "right" else jnp.matmul(q, c), *rest)


@operation(static=("eigvals_only", "select", "select_range", "tol"))
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: ArrayLike | None = None,
) -> Any:
    """The eigenvalues, ascending, and eigenvectors of a symmetric tridiagonal matrix.

    Arguments:
        d: its diagonal, a vector.
        e: its superdiagonal, a vector that is one shorter. The subdiagonal is its conjugate.
        eigvals_only: whether to return only eigenvalues.
        select: "a" for all, "i" for those with indices in `select_range`.
        select_range: with "i", the indices of the first and the last eigenvalue.
        tol, key: ignored; `tol` must be a number.

    Returns:
        The eigenvalues, or these and the eigenvectors in columns.

    Raises:
        NotImplementedError: `select` is "v", since their number depends on values.
        ValueError: there is no such `select` or no such indices, or the shapes do not match.

    >>> print(eigh_tridiagonal(jnp.array([2.0, 2.0]), jnp.array([1.0]), eigvals_only=True))
    [1. 3.]
    """
    if tol is not None:
        typeof_named("eigh_tridiagonal: tol", tol)
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal: select must be 'a' or 'i', found 'v'")
    if select not in ("a", "i"):
        raise ValueError(f"eigh_tridiagonal: select must be 'a', 'i' or 'v', found {select!r}")
    if typeof(d).dtype != typeof(e).dtype:
        raise TypeError(
            f"eigh_tridiagonal: d and e must have one dtype, found {typeof(d)} and {typeof(e)}"
        )
    d, e = (to_inexact(x) for x in promote_dtypes(d, e))
    (size, *batch), e_shape = typeof(d).shape or (0, 0), typeof(e).shape
    if batch or e_shape != (size - 1,):
        raise ValueError(
            "eigh_tridiagonal: d must be a vector, and e one that is one shorter; found "
            f"{typeof(d)} and {typeof(e)}"
        )
    chosen = None
    if select == "i":
        first, last = select_range or (0, size)
        if not 0 <= first <= last < size:
            raise ValueError(
                "eigh_tridiagonal: with select='i', select_range must be two numbers of "
                f"eigenvalues from 0 to {size - 1}, in order; found {select_range}"
            )
        chosen = (int(first), int(last) + 1)
    # Only the lower triangle is read, but the derivative is with respect to the whole matrix.
    matrix = jnp.diag(d) + jnp.diag(jnp.conj(e), -1) + jnp.diag(e, 1)
    vectors, values = linalg.eigh(matrix, symmetrize_input=False, subset_by_index=chosen)
    return values if eigvals_only else (values, vectors)


@operation(static=("lower", "overwrite_a", "check_finite"))
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """The triangular `u` for which `u^H @ u` is `a`, or with `lower` the `l` for `l @ l^H`.

    Arguments:
        a: symmetric (Hermitian) positive definite matrices; only that triangle is read.
        lower: whether to return the lower triangle.
        overwrite_a, check_finite: ignored.

    Returns:
        The triangles; NaN where a matrix is not positive definite.

    >>> glassjax.scipy.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    a = to_inexact(a)
    if lower:
        return linalg.cholesky(a, symmetrize_input=False)
    return matrices.mH(linalg.cholesky(matrices.mH(a), symmetrize_input=False))


@operation(static=("permute_l", "overwrite_a", "check_finite"))
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """The factors of `a = p @ l @ u`: a permutation, and two triangles; or `p @ l` and `u`.

    Arguments:
        a: the matrices.
        permute_l: whether to return the pair of `p @ l` and `u`.
        overwrite_a, check_finite: ignored.

    >>> a = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> p, lower, upper = glassjax.scipy.linalg.lu(a)
    >>> bool(jnp.allclose(p @ lower @ upper, a, atol=1e-5))
    True
    """
    a = matrices.matrices_of("lu", a)
    *lead, m, n = typeof(a).shape
    k = min(m, n)
    factors, _, permutation = linalg.lu(a)
    lower, _ = square_factors(factors)
    zeros = [0] * len(lead)
    lower = lax.slice(lower, [*zeros, 0, 0], [*lead, m, k])
    upper = matrices.triu(lax.slice(factors, [*zeros, 0, 0], [*lead, k, n]))
    p = matrices.mT(
        matrices.permute_rows(
            matrices.eye((*lead, m, m), matrices.real_dtype(typeof(a).dtype)), permutation
        )
    )
    return (jnp.matmul(p.astype(typeof(a).dtype), lower), upper) if permute_l else (p, lower, upper)


@operation(static=("overwrite_a", "lwork", "mode", "pivoting", "check_finite"))
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """The QR decomposition.

    Arguments:
        a: the matrices.
        overwrite_a, lwork, check_finite: ignored.
        mode: "full"; "economic", for the minimal number of columns of `q`; or "r", for `r` without
            `q`.
        pivoting: whether to permute columns, and to return the permutation, too.

    Raises:
        ValueError: there is no such `mode`.

    >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = glassjax.scipy.linalg.qr(a)
    >>> bool(jnp.allclose(q @ r, a, atol=1e-5))
    True
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(f"qr: mode must be 'full', 'economic' or 'r', found {mode!r}")
    q, *rest = linalg.qr(to_inexact(a), pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


@operation(static=("full_matrices", "compute_uv", "overwrite_a", "check_finite", "lapack_driver"))
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """The singular value decomposition: `u`, `s`, `vh`, or `s` alone.

    Arguments:
        a: the matrices.
        full_matrices: whether `u` and `vh` are square.
        compute_uv: whether to compute them.
        overwrite_a, check_finite, lapack_driver: ignored.

    >>> s = glassjax.scipy.linalg.svd(jnp.array([[3.0, 0.0], [0.0, -2.0]]), compute_uv=False)
    >>> [f"{x:.2f}" for x in s]
    ['3.00', '2.00']
    """
    return linalg.svd(to_inexact(a), full_matrices=full_matrices, compute_uv=compute_uv)


@operation(
    static=(
        "lower",
        "eigvals_only",
        "overwrite_a",
        "overwrite_b",
        "turbo",
        "eigvals",
        "type",
        "check_finite",
    )
)
def eigh(
    a: ArrayLike,
    b: None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """The eigenvalues and eigenvectors of symmetric (Hermitian) matrices.

    Arguments:
        a: the matrices; only one triangle is read.
        b: must be None.
        lower: whether the triangle to read is the lower one.
        eigvals_only: whether to return the eigenvalues without the eigenvectors.
        overwrite_a, overwrite_b, turbo, check_finite: ignored.
        eigvals: must be None.
        type: must be 1.

    Raises:
        NotImplementedError: `b`, `eigvals` or `type` is given.

    >>> w = glassjax.scipy.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]), eigvals_only=True)
    >>> [f"{x:.2f}" for x in w]
    ['1.00', '3.00']
    """
    if b is not None or eigvals is not None or type != 1:
        raise NotImplementedError("eigh: b and eigvals must be None, and type must be 1")
    v, w = linalg.eigh(a, lower=lower)
    return w if eigvals_only else (w, v)


@operation(static="output")
def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """The Schur decomposition of square matrices into `z @ t @ z^H`, with triangular `t`.

    Arguments:
        a: the matrices.
        output: "complex" for a complex triangle even for real matrices; with "real", the result for
            real matrices has 2 by 2 blocks for pairs of eigenvalues.

    Returns:
        `t` and `z`.

    Raises:
        ValueError: there is no such `output`.

    >>> a = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> t, z = glassjax.scipy.linalg.schur(a)
    >>> bool(jnp.allclose(z @ t @ z.T, a, atol=1e-5))
    True
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output must be 'real' or 'complex', found {output!r}")
    a = matrices.matrices_of("schur", a, square=True)
    if output == "complex":
        a = a.astype(np.result_type(typeof(a).dtype, np.complex64))
    t, z = linalg.schur(a)
    return t, z


@operation(static="check_finite")
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The complex Schur decomposition, from the real one, which may have blocks.

    Arguments:
        T: the triangle with blocks, as `schur` returns it.
        Z: the orthogonal matrix on both sides of it.
        check_finite: ignored.

    Returns:
        `t` and `z`, which are complex, with `z @ t @ z^H` as before.

    Raises:
        ValueError: the matrices are not square.

    >>> turn = jnp.array([[0.0, -1.0], [1.0, 0.0]])
    >>> t, z = glassjax.scipy.linalg.rsf2csf(*glassjax.scipy.linalg.schur(turn))
    >>> bool(jnp.allclose(z @ t @ z.conj().T, turn, atol=1e-6))
    True
    """
    t, w = schur(matrices.matrices_of("rsf2csf: T", T, square=True), output="complex")
    z = jnp.matmul(
        matrices.matrices_of("rsf2csf: Z", Z, square=True), w, precision=lax.Precision.HIGHEST
    )
    return jnp.broadcast_to(t, z.shape), z


# Linear systems, inverses and determinants.
#
# `overwrite_a` and the like, and `check_finite`, are ignored: Arrays are immutable, and input that
# is not finite gives NaN.


@hiding_frames
def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """The triangle of `cholesky` and `lower`, for `cho_solve`.

    Arguments:
        a, lower, overwrite_a, check_finite: as in `cholesky`.

    >>> a = jnp.array([[4.0, 2.0], [2.0, 5.0]])
    >>> factor = glassjax.scipy.linalg.cho_factor(a)
    >>> glassjax.scipy.linalg.cho_solve(factor, jnp.array([8.0, 12.0])).round(3)
    Array([1., 2.], dtype=float32)
    """
    return cholesky(a, lower), lower


def _solved(caller: str, solve: Callable[..., Any], signature: str, *operands: Any) -> Any:
    """Apply `solve` to batches of matrices, their companions, and vectors or matrices.

    Right-hand sides with one axis less than the matrices are vectors, if their lengths match.

    Arguments:
        caller: the function that an error names.
        solve: function from one of each operand to the solution.
        signature: of the operands before the right-hand sides, as for `jnp.vectorize`.
        operands: the matrices first, the right-hand sides last.
    """
    a, b = typeof(operands[0]), typeof(operands[-1])
    if a.ndim < 2 or not b.ndim:
        raise ValueError(f"{caller}: expected a matrix and a vector or matrix, found {a} and {b}")
    n = a.shape[-1]
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape[-1] == n)
    if b.shape[-1 if is_vector else -2 :][:1] != (n,):
        raise ValueError(
            f"{caller}: the right-hand sides {b} must have {n} rows, as many as the matrices {a}"
        )
    b_signature = "(n)" if is_vector else "(n,k)"
    return jnp.vectorize(solve, signature=f"{signature},{b_signature}->{b_signature}")(*operands)


@operation(static="lower")
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    first = {"left_side": True, "lower": lower}
    back = {"transpose_a": True, "conjugate_a": True}

    def cho_solve_one(c: Any, b: Any) -> Any:
        x = linalg.triangular_solve(c, b, **first, **({} if lower else back))
        return linalg.triangular_solve(c, x, **first, **(back if lower else {}))

    return _solved(
        "cho_solve", cho_solve_one, "(n,n)", *(to_inexact(x) for x in promote_dtypes(c, b))
    )


def _checked_pair(role: str, source: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise TypeError(f"{role} must be a pair, as {source} returns it, found {shown(given)}")
    return given[0], given[1]


@hiding_frames
def cho_solve(
    c_and_lower: tuple[Any, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions x of `a @ x = b`, from `cho_factor(a)`.

    Arguments:
        c_and_lower: the result of `cho_factor`.
        b: vectors, or matrices whose columns are right-hand sides.
        overwrite_b, check_finite: ignored.

    Raises:
        ValueError: `c_and_lower` is not such a pair, or shapes do not match.

    >>> factor = glassjax.scipy.linalg.cho_factor(4.0 * jnp.eye(2), lower=True)
    >>> glassjax.scipy.linalg.cho_solve(factor, jnp.array([8.0, 12.0]))
    Array([2., 3.], dtype=float32)
    """
    c, lower = _checked_pair("cho_solve: c_and_lower", "cho_factor", c_and_lower)
    return _cho_solve(c, b, bool(lower))


@operation(static=("trans", "lower", "unit_diagonal", "overwrite_b", "debug", "check_finite"))
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """The solutions x of `a @ x = b` for triangular matrices `a`.

    Arguments:
        a: the matrices; only one triangle is read.
        b: vectors, or matrices whose columns are right-hand sides.
        trans: 0 or "N"; 1 or "T" for the transpose of `a`; 2 or "C" for the conjugate transpose.
        lower: whether the triangle is the lower one.
        unit_diagonal: whether to assume that the diagonal of `a` is ones.
        overwrite_b, debug, check_finite: ignored.

    Raises:
        ValueError: there is no such `trans`, or `a` and `b` differ in their numbers of rows.

    >>> a, b = jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([2.0, 9.0])
    >>> glassjax.scipy.linalg.solve_triangular(a, b, lower=True)
    Array([1., 2.], dtype=float32)
    """
    op = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}.get(trans)
    if op is None:
        raise ValueError(f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', found {trans}")

    def triangular_solve_one(a: Any, b: Any) -> Any:
        return linalg.triangular_solve(
            a,
            b,
            left_side=True,
            lower=lower,
            transpose_a=op > 0,
            conjugate_a=op == 2,
            unit_diagonal=unit_diagonal,
        )

    return _solved(
        "solve_triangular",
        triangular_solve_one,
        "(n,n)",
        *(to_inexact(x) for x in promote_dtypes(a, b)),
    )


@operation(static=("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a"))
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The solutions x of `a @ x = b`.

    Arguments:
        a: the matrices. With "pos" only one triangle is read.
        b: vectors, or matrices whose columns are right-hand sides.
        lower: whether that triangle is the lower one.
        overwrite_a, overwrite_b, debug, check_finite: ignored.
        assume_a: the kind of matrices: "gen" (any), "sym", "her" or "pos", positive definite.

    Raises:
        ValueError: there is no such `assume_a`, or shapes do not match.

    >>> glassjax.scipy.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"solve: assume_a must be gen, sym, her or pos, found {assume_a!r}")
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    a, b = promote_dtypes(a, b)
    x = _solve_positive(matrices.matrices_of("solve", a, square=True), b, lower)
    return weak_if_all_are(x, a, b)


def _solve_positive(a: Any, b: Any, lower: bool) -> Any:
    """A solution from one triangle of `a`; derivatives are solutions with the same matrix."""
    a, b = (to_inexact(x) for x in promote_dtypes(a, b))

    def positive_solve_one(a: Any, factor: Any, b: Any) -> Any:
        return lax.custom_linear_solve(
            lambda x: jnp.matmul(a, x),
            b,
            lambda _, y: cho_solve((factor, lower), y),
            lambda _, y: jnp.conj(cho_solve((factor, lower), jnp.conj(y))),
        )

    factor = cholesky(lax.stop_gradient(a), lower)
    return _solved("solve", positive_solve_one, "(n,n),(n,n)", a, factor, b)


@operation(static=("overwrite_a", "check_finite"))
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """The factors in one matrix, and the swapped rows, for `lu_solve`.

    Arguments:
        a: the matrices.
        overwrite_a, check_finite: ignored.

    >>> a = jnp.array([[2.0, 0.0], [0.0, 4.0]])
    >>> factors, pivots = glassjax.scipy.linalg.lu_factor(a)
    >>> factors, pivots
    (Array([[2., 0.],
           [0., 4.]], dtype=float32), Array([0, 1], dtype=int32))
    """
    factors, pivots, _ = linalg.lu(to_inexact(a))
    return factors, pivots


@operation(static=("trans", "overwrite_b", "check_finite"))
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions x of `a @ x = b`, from `lu_factor(a)`.

    Arguments:
        lu_and_piv: the result of `lu_factor`.
        b, trans: as in `solve_triangular`.
        overwrite_b, check_finite: ignored.

    Raises:
        ValueError: `lu_and_piv` is not such a pair, or shapes do not match.

    >>> factors = glassjax.scipy.linalg.lu_factor(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> glassjax.scipy.linalg.lu_solve(factors, jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    factors, pivots = _checked_pair("lu_solve: lu_and_piv", "lu_factor", lu_and_piv)
    if typeof(factors).ndim < 2 or not typeof(pivots).ndim:
        raise ValueError(
            f"lu_solve: lu_and_piv must be matrices and rows, as lu_factor returns them, found "
            f"{typeof(factors)} and {typeof(pivots)}"
        )
    factors, b = (to_inexact(x) for x in promote_dtypes(factors, b))
    permutation = linalg.lu_pivots_to_permutation(pivots, typeof(factors).shape[-1])

    def lu_solve_one(factors: Any, permutation: Any, x: Any) -> Any:
        is_vector = typeof(x).ndim == 1
        x = lax.expand_dims(x, [1]) if is_vector else x
        if trans == 0:
            x = solve_triangular(factors, matrices.permute_rows(x, permutation), 0, True, True)
            x = solve_triangular(factors, x)
        else:
            x = solve_triangular(factors, x, trans)
            x = solve_triangular(factors, x, trans, True, True)
            x = matrices.permute_rows(x, matrices.inverse_permutation(permutation))
        return lax.squeeze(x, [1]) if is_vector else x

    return _solved("lu_solve", lu_solve_one, "(n,n),(n)", factors, permutation, b)


@operation(static=("overwrite_a", "check_finite"))
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse of square matrices.

    Arguments:
        a: the matrices.
        overwrite_a, check_finite: ignored.

    Raises:
        ValueError: they are not square.

    >>> glassjax.scipy.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return jnp.linalg.inv(a)


@operation(static=("overwrite_a", "check_finite"))
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices.

    Arguments:
        a: the matrices.
        overwrite_a, check_finite: ignored.

    Raises:
        ValueError: they are not square.

    >>> f"{glassjax.scipy.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]])):.2f}"
    '-2.00'
    """
    return jnp.linalg.det(a)


# `solve_sylvester`: the matrices X of `A @ X + X @ B = C`.


@operation(static=("method", "tol"))
def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """The solutions X of `A @ X + X @ B = C`.

    If `A` and `-B` share an eigenvalue, there is no unique solution, and the result is NaN.

    Arguments:
        A, B: square matrices.
        C: matrices with as many rows as `A` and as many columns as `B`.
        method: "schur" or "eigen", which needs matrices that have all their eigenvectors.
        tol: the minimum distance of eigenvalues.

    Raises:
        ValueError: there is no such `method`, or the shapes do not match.

    >>> A, B = jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.array([[1.0]])
    >>> print(solve_sylvester(A, B, jnp.array([[4.0], [4.0]])))
    [[1.]
     [1.]]
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen', found {method!r}")
    a, b, c = promote_dtypes(A, B, C)
    a = matrices.matrices_of("solve_sylvester: A", a, square=True)
    b = matrices.matrices_of("solve_sylvester: B", b, square=True)
    c = matrices.matrices_of("solve_sylvester: C", c)
    if typeof(c).shape[-2:] != (typeof(a).shape[-1], typeof(b).shape[-1]):
        raise ValueError(
            "solve_sylvester: C must have the rows of A and the columns of B, found "
            f"{typeof(a)}, {typeof(b)} and {typeof(c)}"
        )
    solve = _by_triangles if method == "schur" else _by_eigenvectors

    def solve_matrices(a: Any, b: Any, c: Any) -> Any:
        x = solve(a, b, c, tol)
        return x if matrices.is_complex(c) else jnp.real(x)

    return jnp.vectorize(solve_matrices, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, c)


def _by_triangles(a: Any, b: Any, c: Any, tol: float) -> Any:
    """A solution from the triangles `r` and `s`: `r @ y + y @ s = u^H @ c @ v`, by columns."""
    r, u = schur(a, output="complex")
    s, v = schur(b, output="complex")
    target = matrices.mH(u) @ c @ v
    is_diagonal = jnp.eye(typeof(r).shape[-1], dtype=bool)

    def column(k: Any, y: Any) -> Any:
        known = target[:, k] - y @ s[:, k]  # unsolved columns of y are zero
        triangle = jnp.where(is_diagonal, r + s[k, k], r)
        solved = linalg.triangular_solve(triangle, known[:, None], left_side=True)
        return y.at[:, k].set(solved[:, 0])

    y = lax.fori_loop(0, typeof(s).shape[-1], column, jnp.zeros_like(target))
    sums = jnp.diagonal(r)[:, None] + jnp.diagonal(s)
    return jnp.where(jnp.min(jnp.abs(sums)) < tol, jnp.nan, u @ y @ matrices.mH(v))


def _by_eigenvectors(a: Any, b: Any, c: Any, tol: float) -> Any:
    a_eigenvalues, u = jnp.linalg.eig(a)
    b_eigenvalues, v = jnp.linalg.eig(b)
    sums = a_eigenvalues[:, None] + b_eigenvalues
    target = jnp.linalg.solve(u, c.astype(u.dtype)) @ v
    y = target / jnp.where(jnp.abs(sums) < tol, jnp.nan, sums)
    return u @ jnp.linalg.solve(v.T, y.T).T
