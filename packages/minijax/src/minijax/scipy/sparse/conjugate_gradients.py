"""The methods of conjugate gradients and of stabilized biconjugate gradients."""

from collections.abc import Callable
from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.runtime.evaluation import evaluated_by_library
from minijax.scipy.sparse.vectors import (
    Matvec,
    add,
    as_function,
    dtype_of,
    identity,
    scale,
    size_of,
    start_of,
    sub,
    vdot,
    vdot_real,
)
from minijax_stage2 import tree_map, typeof
from minijax_stage2.tree import tree_leaves


def _largest_square(b: Any, tol: Any, atol: Any) -> Any:
    """The tolerance for the square of a residual."""
    return jnp.maximum(jnp.square(tol) * vdot_real(b, b), jnp.square(atol))


def _cg(matvec: Matvec, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Matvec) -> Any:
    limit = _largest_square(b, tol, atol)

    def goes_on(state: Any) -> Any:
        _, residual, gamma, _, k = state
        square = gamma.real if M is identity else vdot_real(residual, residual)
        return (square > limit) & (k < maxiter)

    def step(state: Any) -> Any:
        x, residual, gamma, direction, k = state
        image = matvec(direction)
        alpha = gamma / vdot_real(direction, image).astype(dtype)
        x = add(x, scale(alpha, direction))
        residual = sub(residual, scale(alpha, image))
        steepest = M(residual)
        new_gamma = vdot_real(residual, steepest).astype(dtype)
        direction = add(steepest, scale(new_gamma / gamma, direction))
        return x, residual, new_gamma, direction, k + 1

    residual = sub(b, matvec(x0))
    direction = M(residual)
    dtype = dtype_of(direction)
    gamma = vdot_real(residual, direction).astype(dtype)
    x, *_ = lax.while_loop(goes_on, step, (x0, residual, gamma, direction, 0))
    return x


def _bicgstab(matvec: Matvec, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Matvec) -> Any:
    limit = _largest_square(b, tol, atol)

    def goes_on(state: Any) -> Any:
        _, residual, *_, k = state
        return (vdot_real(residual, residual) > limit) & (k < maxiter) & (k >= 0)

    def step(state: Any) -> Any:
        x, residual, shadow, alpha, omega, rho, direction, image, k = state
        new_rho = vdot(shadow, residual)
        beta = new_rho / rho * alpha / omega
        direction = add(residual, scale(beta, sub(direction, scale(omega, image))))
        better = M(direction)
        image = matvec(better)
        alpha = new_rho / vdot(shadow, image)
        half = sub(residual, scale(alpha, image))
        is_done = vdot_real(half, half) < limit
        better_half = M(half)
        image_of_half = matvec(better_half)
        omega = vdot(image_of_half, half) / vdot(image_of_half, image_of_half)
        x = add(x, scale(alpha, better))
        full = add(x, scale(omega, better_half))
        residual = sub(half, scale(omega, image_of_half))
        x, residual = tree_map(
            lambda early, late: jnp.where(is_done, early, late), (x, half), (full, residual)
        )
        # A method that breaks down ends there.
        is_stuck = (omega == 0) | (alpha == 0) | (new_rho == 0)
        k = jnp.where(is_stuck, -10, k + 1)
        return x, residual, shadow, alpha, omega, new_rho, direction, image, k

    residual = sub(b, matvec(x0))
    one = jnp.ones((), dtype_of(b))
    state = (x0, residual, residual, one, one, one, residual, residual, 0)
    x, *_ = lax.while_loop(goes_on, step, state)
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
    better = identity if M is None else as_function(f"{name}: M", M)
    is_real = all(typeof(leaf).dtype.kind != "c" for leaf in tree_leaves(b))

    def solve(matvec: Matvec, b: Any) -> Any:
        return method(matvec, b, x0, tol, atol, maxiter, better)

    x = lax.custom_linear_solve(
        matvec, b, solve=solve, transpose_solve=solve, symmetric=symmetric and is_real
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

    >>> import minijax.numpy as jnp
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
    """Solve `A x = b` for any `A` with biconjugate gradients; the arguments are those of `cg`.

    >>> a, b = jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.array([4.0, 6.0])
    >>> x, _ = minijax.scipy.sparse.linalg.bicgstab(lambda x: a @ x, b)
    >>> x.round(3)
    Array([1., 2.], dtype=float32)
    """
    return _solution("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, symmetric=False)
