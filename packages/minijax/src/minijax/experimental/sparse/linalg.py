"""Linear algebra of sparse matrices: solving, and the largest eigenvalues."""

from __future__ import annotations

from typing import Any

from minijax import numpy as jnp
from minijax.experimental.sparse.base import JAXSparse
from minijax.experimental.sparse.csr import CSR
from minijax.lax.control_flow.while_loop import while_loop
from minijax.runtime.array import Array, ArrayLike


def spsolve(
    data: ArrayLike, indices: ArrayLike, indptr: ArrayLike, b: ArrayLike, tol: float = 1e-6,
    reorder: int = 1,
) -> Array:  # fmt: skip
    """The solution of `A @ x = b`, by way of a dense matrix.

    Arguments:
        data: the elements of the square matrix `A`, in the form of `CSR`.
        indices: their columns.
        indptr: where the rows begin.
        b: a vector.
        tol: ignored.
        reorder: ignored.

    Raises:
        ValueError: `b` is not a vector of as many numbers as there are rows.

    >>> from minijax.experimental import sparse
    >>> from minijax.experimental.sparse import linalg
    >>> m = sparse.CSR.fromdense(jnp.array([[2.0, 0.0], [1.0, 1.0]]))
    >>> linalg.spsolve(m.data, m.indices, m.indptr, jnp.array([2.0, 3.0]))
    Array([1., 2.], dtype=float32)
    """
    data, indices, indptr, b = (jnp.asarray(x) for x in (data, indices, indptr, b))
    size = indptr.shape[0] - 1
    if b.shape != (size,):
        raise ValueError(f"spsolve: b must be of shape {(size,)}, found {b.shape}")
    matrix = CSR((data, indices, indptr), shape=(size, size))
    return jnp.linalg.solve(matrix.todense(), b)


def lobpcg_standard(
    A: Any, X: ArrayLike, m: int = 100, tol: ArrayLike | None = None
) -> tuple[Array, Array, Array]:
    """The largest eigenvalues of a symmetric matrix, by LOBPCG.

    Arguments:
        A: a matrix, dense or sparse, or the function of its product with `(n, k)` arrays.
        X: the first guess of `k` eigenvectors, of shape `(n, k)`, with `5 * k < n`.
        m: the maximum number of steps.
        tol: the size of residuals, relative to the eigenvalues, at which it stops; the precision of
            the dtype by default.

    Returns:
        The eigenvalues, largest first, the eigenvectors in columns, and the number of steps.

    Raises:
        ValueError: `X` is not such an array.

    Source: A. Knyazev, "Toward the optimal preconditioned eigensolver", 2001.
    """
    start = jnp.asarray(X)
    if start.ndim != 2 or start.shape[1] < 1 or 5 * start.shape[1] >= start.shape[0]:
        raise ValueError(
            f"lobpcg_standard: X must be of shape (n, k) with 0 < 5 * k < n, found {start.shape}"
        )
    k = start.shape[1]
    if isinstance(A, JAXSparse) or not callable(A):
        matrix = A if isinstance(A, JAXSparse) else jnp.asarray(A)

        def times(x: Any) -> Any:
            return matrix @ x

    else:
        times = A
    limit = jnp.finfo(start.dtype).eps if tol is None else tol

    def largest(basis: Any) -> tuple[Any, Any]:
        """Rayleigh and Ritz: the best vectors of an orthonormal basis."""
        values, vectors = jnp.linalg.eigh(basis.T @ times(basis))
        return values[::-1][:k], basis @ vectors[:, ::-1][:, :k]

    def goes_on(state: Any) -> Any:
        step, _, _, _, is_done = state
        return (step < m) & ~is_done

    def body(state: Any) -> Any:
        step, values, x, direction, _ = state
        residual = times(x) - x * values
        sizes = jnp.linalg.norm(residual, axis=0)
        is_done = jnp.all(sizes <= limit * 10 * (jnp.abs(values) + jnp.max(jnp.abs(values))))
        scaled = residual / jnp.where(sizes == 0, 1, sizes)
        basis, _ = jnp.linalg.qr(jnp.concatenate([x, scaled, direction], 1))
        new_values, new = largest(basis)
        change = new - x @ (x.T @ new)
        lengths = jnp.linalg.norm(change, axis=0)
        change = change / jnp.where(lengths == 0, 1, lengths)
        return step + 1, new_values, new, change, is_done

    values, x = largest(jnp.linalg.qr(start)[0])
    state = (jnp.zeros((), jnp.int32), values, x, jnp.zeros_like(x), jnp.zeros((), bool))
    steps, values, x, _, _ = while_loop(goes_on, body, state)
    return values, x, steps


__all__ = ["lobpcg_standard", "spsolve"]
