"""`solve_sylvester`: the matrices X of `A @ X + X @ B = C`."""

from __future__ import annotations

from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.lax.linalg import promoting as decompositions
from minijax.lax.linalg.matrices import is_complex, matrices_of, mH
from minijax.numpy.products import meet
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.linalg.decompositions import schur
from minijax_stage2 import typeof


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
    a, b, c = meet(A, B, C)
    a = matrices_of("solve_sylvester: A", a, square=True)
    b = matrices_of("solve_sylvester: B", b, square=True)
    c = matrices_of("solve_sylvester: C", c)
    if typeof(c).shape[-2:] != (typeof(a).shape[-1], typeof(b).shape[-1]):
        raise ValueError(
            "solve_sylvester: C must have the rows of A and the columns of B, found "
            f"{typeof(a)}, {typeof(b)} and {typeof(c)}"
        )
    solve = _by_triangles if method == "schur" else _by_eigenvectors

    def of_matrices(a: Any, b: Any, c: Any) -> Any:
        x = solve(a, b, c, tol)
        return x if is_complex(c) else jnp.real(x)

    return jnp.vectorize(of_matrices, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, c)


def _by_triangles(a: Any, b: Any, c: Any, tol: float) -> Any:
    """A solution from the triangles `r` and `s`: `r @ y + y @ s = u^H @ c @ v`, by columns."""
    r, u = schur(a, output="complex")
    s, v = schur(b, output="complex")
    target = mH(u) @ c @ v
    is_diagonal = jnp.eye(typeof(r).shape[-1], dtype=bool)

    def column(k: Any, y: Any) -> Any:
        known = target[:, k] - y @ s[:, k]  # what is not solved yet is zero
        triangle = jnp.where(is_diagonal, r + s[k, k], r)
        solved = decompositions.triangular_solve(triangle, known[:, None], left_side=True)
        return y.at[:, k].set(solved[:, 0])

    y = lax.fori_loop(0, typeof(s).shape[-1], column, jnp.zeros_like(target))
    sums = jnp.diagonal(r)[:, None] + jnp.diagonal(s)
    return jnp.where(jnp.min(jnp.abs(sums)) < tol, jnp.nan, u @ y @ mH(v))


def _by_eigenvectors(a: Any, b: Any, c: Any, tol: float) -> Any:
    of_a, u = jnp.linalg.eig(a)
    of_b, v = jnp.linalg.eig(b)
    sums = of_a[:, None] + of_b
    target = jnp.linalg.solve(u, c.astype(u.dtype)) @ v
    y = target / jnp.where(jnp.abs(sums) < tol, jnp.nan, sums)
    return u @ jnp.linalg.solve(v.T, y.T).T


__all__ = ["solve_sylvester"]
