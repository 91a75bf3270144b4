"""The generalized minimal residual method (Y. Saad and M. Schultz, 1986)."""

from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.evaluation import evaluated_by_library
from minijax.scipy.linalg import solve as solve_dense
from minijax.scipy.linalg import solve_triangular
from minijax.scipy.sparse.vectors import (
    Matvec,
    add,
    as_function,
    dtype_of,
    identity,
    norm,
    size_of,
    start_of,
    sub,
)
from minijax_stage2 import tree_map, typeof
from minijax_stage2.tree import tree_leaves

HIGHEST = lax.Precision.HIGHEST


def _normalised(x: Any, threshold: Any) -> tuple[Any, Any]:
    """A vector of length 1 and the length; zeros where that is at most the threshold."""
    length = norm(x)
    is_long = length > threshold
    unit = tree_map(lambda leaf: jnp.where(is_long, leaf / length.astype(leaf.dtype), 0.0), x)
    return unit, jnp.where(is_long, length, 0.0)


def _epsilon(x: Any) -> float:
    return float(np.finfo(dtype_of(x)).eps)


def _combined(basis: Any, numbers: Any) -> Any:
    """The linear combination of basis vectors, which lie along the last axis."""
    return tree_map(lambda leaf: jnp.dot(leaf, numbers, precision=HIGHEST), basis)


def _orthogonal(basis: Any, x: Any) -> tuple[Any, Any]:
    """Orthogonalize `x` against the basis, twice; return the remainder and the coefficients."""
    total: Any = 0
    for _ in range(2):
        products = tree_map(
            lambda columns, leaf: jnp.tensordot(
                columns.conj(), leaf, axes=(range(leaf.ndim),) * 2, precision=HIGHEST
            ),
            basis,
            x,
        )
        parts = sum(tree_leaves(products))
        x, total = sub(x, _combined(basis, parts)), total + parts
    return x, total


def _extended(k: Any, matvec: Matvec, M: Matvec, basis: Any, rows: Any) -> tuple[Any, Any, Any]:
    """The basis extended by the image of its last vector, whose coefficients form a row.

    Returns:
        The basis, the rows, and whether the image lies in the span of the basis.
    """
    image = M(matvec(tree_map(lambda leaf: leaf[..., k], basis)))
    length = norm(image)
    new, parts = _orthogonal(basis, image)
    new, new_length = _normalised(new, _epsilon(image) * length)
    basis = tree_map(lambda columns, leaf: columns.at[..., k + 1].set(leaf), basis, new)
    parts = parts.at[k + 1].set(new_length.astype(typeof(rows).dtype))
    return basis, rows.at[k, :].set(parts), new_length == 0


def _first_basis(unit: Any, restart: int) -> Any:
    return tree_map(
        lambda leaf: jnp.pad(leaf[..., None], [(0, 0)] * leaf.ndim + [(0, restart)]), unit
    )


def _after_batch(
    matvec: Matvec, M: Matvec, x: Any, unit: Any, length: Any, restart: int, tolerance: Any
) -> Any:
    """The best linear combination of `restart` vectors, found when all are there."""
    dtype = dtype_of(unit)

    def goes_on(state: Any) -> Any:
        _, _, is_exhausted, k = state
        return (k < restart) & ~is_exhausted

    def step(state: Any) -> Any:
        basis, rows, _, k = state
        return *_extended(k, matvec, M, basis, rows), k + 1

    state = (_first_basis(unit, restart), jnp.eye(restart, restart + 1, dtype=dtype), False, 0)
    basis, rows, _, _ = lax.while_loop(goes_on, step, state)
    target = jnp.zeros(restart + 1, dtype).at[0].set(length.astype(dtype))
    square = jnp.matmul(rows.conj(), rows.T, precision=HIGHEST)
    image = jnp.matmul(rows.conj(), target, precision=HIGHEST)
    numbers = solve_dense(square, image, assume_a="pos")
    return add(x, _combined(tree_map(lambda leaf: leaf[..., :-1], basis), numbers))


def _rotation(a: Any, b: Any) -> Any:
    """The rotation that makes the second of two numbers zero."""
    is_larger = jnp.abs(a) < jnp.abs(b)
    t = -jnp.where(is_larger, a, b) / jnp.where(is_larger, b, a)
    r = lax.rsqrt(1 + jnp.abs(t) ** 2).astype(typeof(t).dtype)
    cosine = jnp.where(b == 0, 1, jnp.where(is_larger, r * t, r))
    sine = jnp.where(b == 0, 0, jnp.where(is_larger, r, r * t))
    return jnp.stack([cosine, sine])


def _rotated(row: Any, i: Any, rotation: Any) -> Any:
    cosine, sine = rotation[0], rotation[1]
    x, y = row[i], row[i + 1]
    row = row.at[i].set(cosine.conj() * x - sine.conj() * y)
    return row.at[i + 1].set(sine * x + cosine * y)


def _step_by_step(
    matvec: Matvec, M: Matvec, x: Any, unit: Any, length: Any, restart: int, tolerance: Any
) -> Any:
    """The same with rows triangularized as they come, which stops once the residual is small."""
    dtype = dtype_of(unit)

    def goes_on(state: Any) -> Any:
        k, error, *_ = state
        return (k < restart) & (error > tolerance)

    def step(state: Any) -> Any:
        k, _, basis, rows, target, rotations = state
        basis, rows, _ = _extended(k, matvec, M, basis, rows)
        row = lax.fori_loop(0, k, lambda i, row: _rotated(row, i, rotations[i]), rows[k])
        rotation = _rotation(row[k], row[k + 1])
        rows = rows.at[k].set(_rotated(row, k, rotation))
        target = _rotated(target, k, rotation)
        return k + 1, jnp.abs(target[k + 1]), basis, rows, target, rotations.at[k].set(rotation)

    rows = jnp.eye(restart, restart + 1, dtype=dtype)
    target = jnp.zeros(restart + 1, dtype).at[0].set(length.astype(dtype))
    rotations = jnp.zeros((restart, 2), dtype)
    state = (0, length, _first_basis(unit, restart), rows, target, rotations)
    _, _, basis, rows, target, _ = lax.while_loop(goes_on, step, state)
    numbers = solve_triangular(rows[:, :-1].T, target[:-1])
    return add(x, _combined(tree_map(lambda leaf: leaf[..., :-1], basis), numbers))


METHODS = {"batched": _after_batch, "incremental": _step_by_step}


@evaluated_by_library
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: Any = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """Solve `A x = b` for any `A` with minimal residuals.

    Arguments:
        A: a square matrix, or a linear function of arrays like `b`.
        b: an array or a pytree of arrays.
        x0: the starting point; zero if None.
        tol: the tolerance of the residual relative to `b`,
        atol: or the absolute one, whichever is larger.
        restart: the number of basis vectors between restarts.
        maxiter: the maximum number of restarts; if None, ten times the number of unknowns.
        M: a preconditioner, an approximate inverse of `A`; a matrix or a function.
        solve_method: "batched" to compute all vectors and then a solution; "incremental" to check
            the residual after each of them.

    Returns:
        The solution; and 0, or -1 if it is NaN.

    Raises:
        ValueError: `x0` has another structure or other shapes than `b`, or `A` is not square, or
            there is no such `solve_method`.

    >>> a, b = jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.array([4.0, 6.0])
    >>> x, _ = minijax.scipy.sparse.linalg.gmres(lambda x: a @ x, b)
    >>> x.round(3)
    Array([1., 2.], dtype=float32)
    """
    b, x0 = start_of("gmres", b, x0)
    matvec = as_function("gmres: A", A)
    better = identity if M is None else as_function("gmres: M", M)
    if solve_method not in METHODS:
        raise ValueError(
            f"gmres: invalid solve_method, must be either 'incremental' or 'batched', found "
            f"{solve_method!r}"
        )
    restart = min(restart, size_of(b))
    maxiter = 10 * size_of(b) if maxiter is None else maxiter
    length = norm(b)
    limit = jnp.maximum(tol * length, atol)
    tolerance = norm(better(b)) * jnp.minimum(1.0, limit / length)

    def solve(matvec: Matvec, b: Any) -> Any:
        def residual_of(x: Any) -> tuple[Any, Any]:
            return _normalised(better(sub(b, matvec(x))), _epsilon(b))

        def goes_on(state: Any) -> Any:
            _, _, length, k = state
            return (k < maxiter) & (length > limit)

        def again(state: Any) -> Any:
            x, unit, length, k = state
            x = METHODS[solve_method](matvec, better, x, unit, length, restart, tolerance)
            return x, *residual_of(x), k + 1

        x, *_ = lax.while_loop(goes_on, again, (x0, *residual_of(x0), 0))
        return x

    x = lax.custom_linear_solve(matvec, b, solve=solve, transpose_solve=solve)
    return x, jnp.where(jnp.isnan(norm(x)), -1, 0)
