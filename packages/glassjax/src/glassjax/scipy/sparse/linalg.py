"""Iterative solvers of linear systems, which use only products with the matrix.

In each function `A` is a square matrix, or a linear function from arrays like `b` to arrays like
`b`; `b` is an array or a pytree of arrays, and so is the solution.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.errors import TreeMismatchError
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.scipy.linalg import solve as solve_dense
from glassjax.scipy.linalg import solve_triangular
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import result_type
from glassjax_stage2 import explain_mismatch, tree_map, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import tree_flatten, tree_leaves

# Pytrees of arrays as vectors, and linear maps of them.


Matvec = Callable[[Any], Any]


def add_trees(x: Any, y: Any) -> Any:
    return tree_map(operator.add, x, y)


def subtract_trees(x: Any, y: Any) -> Any:
    return tree_map(operator.sub, x, y)


def scale(number: Any, x: Any) -> Any:
    return tree_map(lambda leaf: number * leaf, x)


def vdot(x: Any, y: Any) -> Any:
    """The sum of products, of complex numbers with the conjugates of `x`."""
    products = [
        jnp.vdot(a, b, precision=lax.Precision.HIGHEST)
        for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True)
    ]
    return functools.reduce(operator.add, products)


def vdot_real(x: Any, y: Any) -> Any:
    """The real part of `vdot`."""
    return vdot(x, y).real


def norm(x: Any) -> Any:
    return jnp.sqrt(vdot_real(x, x))


def dtype_of(x: Any) -> Any:
    """The promoted dtype of all leaves."""
    return result_type(*map(typeof, tree_leaves(x))).dtype


def size_of(x: Any) -> int:
    return sum(typeof(leaf).size for leaf in tree_leaves(x))


def identity_map(x: Any) -> Any:
    return x


def as_function(name: str, matrix: Any) -> Matvec:
    """A linear function; a square matrix, or what has `@` alone, becomes multiplication by it.

    Raises:
        ValueError: the matrix is not square.
        TypeError: it is neither a function nor a matrix.
    """
    if callable(matrix):
        return matrix
    if not hasattr(matrix, "shape"):
        if hasattr(type(matrix), "__matmul__"):
            return lambda x: matrix @ x
        raise TypeError(
            f"{name}: a linear operator must be either a function or an array, found "
            f"{shown(matrix)}"
        )
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name}: a linear operator must be a square matrix, found one of shape {matrix.shape}"
        )
    return lambda x: jnp.dot(matrix, x, precision=lax.Precision.HIGHEST)


def start_of(name: str, b: Any, x0: Any) -> tuple[Any, Any]:
    """The right-hand side and the starting vector, zero if None.

    Raises:
        ValueError: they differ in structure or shapes.
    """
    b = tree_to_arrays(b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_to_arrays(x0)
    (b_leaves, b_tree), (x_leaves, x_tree) = tree_flatten(b), tree_flatten(x0)
    if b_tree != x_tree:
        raise TreeMismatchError(
            f"{name}: x0 and b must have matching tree structure: "
            f"{explain_mismatch(b_tree, x_tree)}"
        )
    for x, y in zip(x_leaves, b_leaves, strict=True):
        if typeof(x).shape != typeof(y).shape:
            raise ValueError(
                f"{name}: arrays in x0 and b must have matching shapes, found {typeof(x)} "
                f"and {typeof(y)}"
            )
    return b, x0


# The methods of conjugate gradients and of stabilized biconjugate gradients.


def _largest_square(b: Any, tol: Any, atol: Any) -> Any:
    """The tolerance for the square of a residual."""
    return jnp.maximum(jnp.square(tol) * vdot_real(b, b), jnp.square(atol))


def _cg(matvec: Matvec, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Matvec) -> Any:
    limit = _largest_square(b, tol, atol)

    def cg_cond(state: Any) -> Any:
        _, residual, gamma, _, k = state
        square = gamma.real if M is identity_map else vdot_real(residual, residual)
        return (square > limit) & (k < maxiter)

    def cg_step(state: Any) -> Any:
        x, residual, gamma, direction, k = state
        image = matvec(direction)
        alpha = gamma / vdot_real(direction, image).astype(dtype)
        x = add_trees(x, scale(alpha, direction))
        residual = subtract_trees(residual, scale(alpha, image))
        steepest = M(residual)
        new_gamma = vdot_real(residual, steepest).astype(dtype)
        direction = add_trees(steepest, scale(new_gamma / gamma, direction))
        return x, residual, new_gamma, direction, k + 1

    residual = subtract_trees(b, matvec(x0))
    direction = M(residual)
    dtype = dtype_of(direction)
    gamma = vdot_real(residual, direction).astype(dtype)
    x, *_ = lax.while_loop(cg_cond, cg_step, (x0, residual, gamma, direction, 0))
    return x


def _bicgstab(matvec: Matvec, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Matvec) -> Any:
    limit = _largest_square(b, tol, atol)

    def bicgstab_cond(state: Any) -> Any:
        _, residual, *_, k = state
        return (vdot_real(residual, residual) > limit) & (k < maxiter) & (k >= 0)

    def bicgstab_step(state: Any) -> Any:
        x, residual, shadow, alpha, omega, rho, direction, image, k = state
        new_rho = vdot(shadow, residual)
        beta = new_rho / rho * alpha / omega
        direction = add_trees(residual, scale(beta, subtract_trees(direction, scale(omega, image))))
        better = M(direction)
        image = matvec(better)
        alpha = new_rho / vdot(shadow, image)
        half = subtract_trees(residual, scale(alpha, image))
        is_done = vdot_real(half, half) < limit
        better_half = M(half)
        image_of_half = matvec(better_half)
        omega = vdot(image_of_half, half) / vdot(image_of_half, image_of_half)
        x = add_trees(x, scale(alpha, better))
        full = add_trees(x, scale(omega, better_half))
        residual = subtract_trees(half, scale(omega, image_of_half))
        x, residual = tree_map(
            lambda early, late: jnp.where(is_done, early, late), (x, half), (full, residual)
        )
        # A breakdown ends the iteration.
        is_stuck = (omega == 0) | (alpha == 0) | (new_rho == 0)
        k = jnp.where(is_stuck, -10, k + 1)
        return x, residual, shadow, alpha, omega, new_rho, direction, image, k

    residual = subtract_trees(b, matvec(x0))
    one = jnp.ones((), dtype_of(b))
    state = (x0, residual, residual, one, one, one, residual, residual, 0)
    x, *_ = lax.while_loop(bicgstab_cond, bicgstab_step, state)
    return x


def _solution(
    name: str,
    method: Callable[..., Any],
    A: Any,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    maxiter: Any,
    M: Any,
    symmetric: bool,
) -> tuple[Any, None]:
    b, x0 = start_of(name, b, x0)
    maxiter = 10 * size_of(b) if maxiter is None else maxiter
    matvec = as_function(f"{name}: A", A)
    better = identity_map if M is None else as_function(f"{name}: M", M)
    is_real = all(typeof(leaf).dtype.kind != "c" for leaf in tree_leaves(b))

    def solve_vector(matvec: Matvec, b: Any) -> Any:
        return method(matvec, b, x0, tol, atol, maxiter, better)

    x = lax.custom_linear_solve(
        matvec, b, solve=solve_vector, transpose_solve=solve_vector, symmetric=symmetric and is_real
    )
    return x, None


@evaluated_by_library
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve `A x = b` for a symmetric positive definite `A` with conjugate gradients.

    The derivative is that of the equation, a solution of another such system, whatever the number
    of steps.

    Arguments:
        A: a square matrix, or a linear function of arrays like `b`.
        b: an array or a pytree of arrays.
        x0: the starting point; zero if None.
        tol: the tolerance of the residual relative to `b`,
        atol: or the absolute one, whichever is larger.
        maxiter: the maximum number of steps; if None, ten times the number of unknowns.
        M: a preconditioner, an approximate inverse of `A`; a matrix or a function.

    Returns:
        The solution, and None.

    Raises:
        ValueError: `x0` has another structure or other shapes than `b`, or `A` is not square.

    >>> import glassjax.numpy as jnp
    >>> x, _ = cg(jnp.array([[2.0, 1.0], [1.0, 3.0]]), jnp.array([3.0, 4.0]))
    >>> x.round(4)
    Array([1., 1.], dtype=float32)
    """
    return _solution("cg", _cg, A, b, x0, tol, atol, maxiter, M, symmetric=True)


@evaluated_by_library
def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve `A x = b` for any `A` with biconjugate gradients.

    Arguments:
        A: any square matrix, or a linear function of arrays like `b`.
        b, x0, tol, atol, maxiter, M: as in `cg`.

    >>> a, b = jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.array([4.0, 6.0])
    >>> x, _ = glassjax.scipy.sparse.linalg.bicgstab(lambda x: a @ x, b)
    >>> x.round(3)
    Array([1., 2.], dtype=float32)
    """
    return _solution("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, symmetric=False)


# The generalized minimal residual method (Y. Saad and M. Schultz, 1986).


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
        x, total = subtract_trees(x, _combined(basis, parts)), total + parts
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

    def batch_cond(state: Any) -> Any:
        _, _, is_exhausted, k = state
        return (k < restart) & ~is_exhausted

    def batch_step(state: Any) -> Any:
        basis, rows, _, k = state
        return *_extended(k, matvec, M, basis, rows), k + 1

    state = (_first_basis(unit, restart), jnp.eye(restart, restart + 1, dtype=dtype), False, 0)
    basis, rows, _, _ = lax.while_loop(batch_cond, batch_step, state)
    target = jnp.zeros(restart + 1, dtype).at[0].set(length.astype(dtype))
    square = jnp.matmul(rows.conj(), rows.T, precision=HIGHEST)
    image = jnp.matmul(rows.conj(), target, precision=HIGHEST)
    numbers = solve_dense(square, image, assume_a="pos")
    return add_trees(x, _combined(tree_map(lambda leaf: leaf[..., :-1], basis), numbers))


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

    def gmres_cond(state: Any) -> Any:
        k, error, *_ = state
        return (k < restart) & (error > tolerance)

    def gmres_step(state: Any) -> Any:
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
    _, _, basis, rows, target, _ = lax.while_loop(gmres_cond, gmres_step, state)
    numbers = solve_triangular(rows[:, :-1].T, target[:-1])
    return add_trees(x, _combined(tree_map(lambda leaf: leaf[..., :-1], basis), numbers))


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
    >>> x, _ = glassjax.scipy.sparse.linalg.gmres(lambda x: a @ x, b)
    >>> x.round(3)
    Array([1., 2.], dtype=float32)
    """
    b, x0 = start_of("gmres", b, x0)
    matvec = as_function("gmres: A", A)
    better = identity_map if M is None else as_function("gmres: M", M)
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

    def gmres_solve(matvec: Matvec, b: Any) -> Any:
        def residual_of(x: Any) -> tuple[Any, Any]:
            return _normalised(better(subtract_trees(b, matvec(x))), _epsilon(b))

        def restart_cond(state: Any) -> Any:
            _, _, length, k = state
            return (k < maxiter) & (length > limit)

        def next_restart(state: Any) -> Any:
            x, unit, length, k = state
            x = METHODS[solve_method](matvec, better, x, unit, length, restart, tolerance)
            return x, *residual_of(x), k + 1

        x, *_ = lax.while_loop(restart_cond, next_restart, (x0, *residual_of(x0), 0))
        return x

    x = lax.custom_linear_solve(matvec, b, solve=gmres_solve, transpose_solve=gmres_solve)
    return x, jnp.where(jnp.isnan(norm(x)), -1, 0)


__all__ = ["bicgstab", "cg", "gmres"]
list_public_names(globals())
