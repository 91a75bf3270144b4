"""The polar decomposition by a dynamically weighted iteration of Halley's."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax.lax.control_flow.while_loop import while_loop
from minijax.lax.elementwise.abs_and_sign import abs as absolute
from minijax.lax.elementwise.comparisons import eq
from minijax.lax.elementwise.conversion import convert_element_type
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import rsqrt, sqrt
from minijax.lax.indexing.slice_pad_concatenate import concatenate
from minijax.lax.linalg.cholesky import cholesky
from minijax.lax.linalg.matrices import check_matrices, eye, matmul, mH
from minijax.lax.linalg.qr import qr
from minijax.lax.linalg.triangular_solve import triangular_solve
from minijax.lax.reductions.standard import reduce_max, reduce_sum
from minijax.lax.shapes.creation import broadcasted_iota, full_like
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import typeof_named

_ILL_CONDITIONED = 100  # weights from which on `1 + c u^H u` may lose too many digits


@operation(static=("is_hermitian", "max_iterations", "eps"))
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[ArrayLike, ArrayLike] | ArrayLike | None = None,
) -> tuple[Array, Array, Array, Array]:
    """The polar decomposition of a matrix, `x = u @ h`, by products and decompositions alone.

    Source: Nakatsukasa, Bai, Gygi, "Optimizing Halley's iteration for computing the matrix polar
    decomposition", 2010.

    Arguments:
        x: a matrix with at least as many rows as columns, and of full rank.
        is_hermitian: makes no difference.
        max_iterations: the number of iterations at most; 10 by default.
        eps: the relative precision of `u`; by default that of the dtype.
        dynamic_shape: the numbers of the rows and columns that count, also traced; the others
            are taken as zero.

    Returns:
        `u` with orthonormal columns; `h`, Hermitian and positive semidefinite; the number of
        iterations; and whether `u` converged.

    Raises:
        TypeError: `x` is not of real or complex numbers, `eps` is not a number, or `dynamic_shape`
            is not of integers.
        ValueError: it is not a matrix, or has fewer rows than columns; `eps` is not positive, or
            `dynamic_shape` is not two sizes.

    >>> u, h, count, converged = lax.linalg.qdwh(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> print(u.round(3) + 0, bool(converged))
    [[ 0. -1.]
     [ 1.  0.]] True
    """
    check_matrices("qdwh", typeof_named("qdwh: x", x))
    aval = typeof(x)
    if aval.ndim != 2 or aval.shape[0] < aval.shape[1]:
        raise ValueError(
            f"qdwh: x must be a matrix with at least as many rows as columns, found {aval}; "
            "decompose the transposed one"
        )
    if dynamic_shape is not None:
        for axis, size in enumerate(_two_sizes(dynamic_shape)):
            x = where(broadcasted_iota("int32", aval.shape, axis) < size, x, full_like(x, 0))
    if eps is None:
        eps = float(np.finfo(aval.dtype).eps)
    if not isinstance(eps, int | float | np.float32):
        raise TypeError(f"qdwh: eps must be a float, found {shown(eps)}")
    if not eps > 0:
        raise ValueError(f"qdwh: eps must be positive, found {eps}")
    limit = 10 if max_iterations is None else max_iterations
    magnitudes = absolute(x)
    columns, rows = (reduce_max(reduce_sum(magnitudes, (axis,)), (0,)) for axis in (0, 1))
    scale = where(eq(columns, 0), full_like(columns, 1), rsqrt(columns) * rsqrt(rows))
    u = x * convert_element_type(scale, aval.dtype)
    tolerance = float(np.cbrt(5 * eps))

    def step(u: Any, weights: tuple[float, float, float]) -> tuple[Any, Any]:
        moved = _step_by_cholesky(u, *weights)
        distance = sqrt(reduce_sum(absolute(moved - u) ** 2, (0, 1)))
        return moved, distance > tolerance

    weights = _weights(eps, limit)
    moving: Any = np.True_
    for each in weights:
        if each[2] > _ILL_CONDITIONED:
            u = _step_by_qr(u, *each)
        else:
            u, moving = step(u, each)

    def again(state: Any) -> Any:
        k, _, moving = state
        return moving & (k < limit)

    halley = (3.0, 1.0, 3.0)
    state: Any = (len(weights), u, moving)
    count, u, moving = while_loop(again, lambda s: (s[0] + 1, *step(s[1], halley)), state)
    u = 1.5 * u - 0.5 * matmul(u, matmul(mH(u), u))  # one of Newton and Schulz, for the last digits
    h = matmul(mH(u), x)
    return u, (h + mH(h)) / 2, count, ~moving


def _two_sizes(dynamic_shape: Any) -> list[Any]:
    """The two sizes, which may be traced."""
    sizes = list(dynamic_shape) if isinstance(dynamic_shape, list | tuple) else [dynamic_shape]
    avals = [typeof_named("qdwh: dynamic_shape", size) for size in sizes]
    if len(sizes) == 1 and avals[0].shape == (2,):
        sizes, avals = list(sizes[0]), [avals[0].update(shape=())] * 2
    if len(sizes) != 2 or any(aval.shape for aval in avals):
        raise ValueError(f"qdwh: dynamic_shape must be two sizes, found {shown(dynamic_shape)}")
    if not all(np.issubdtype(aval.dtype, np.integer) for aval in avals):
        raise TypeError(f"qdwh: dynamic_shape must be integers, found {shown(dynamic_shape)}")
    return sizes


def _weights(eps: float, limit: int) -> list[tuple[float, float, float]]:
    """The weights (a, b, c) of iterations until singular values that were at least `eps` are 1."""
    least = eps
    weights: list[tuple[float, float, float]] = []
    while least + 5 * eps < 1 and len(weights) < limit:
        square = least * least
        d = (4 * (1 / square - 1) / square) ** (1 / 3)
        root = (1 + d) ** 0.5
        a = root + (2 - d + 2 * (2 - square) / (square * root)) ** 0.5
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        least *= (a + b * square) / (1 + c * square)
        weights.append((a, b, c))
    return weights


def _step_by_qr(u: Any, a: float, b: float, c: float) -> Any:
    """`(b/c) u + (a - b/c) u (1 + c u^H u)^-1`, where that is ill-conditioned."""
    rows, columns = typeof(u).shape
    unit = eye((columns, columns), typeof(u).dtype)
    q, _ = qr(concatenate([c**0.5 * u, unit], 0), full_matrices=False)
    return b / c * u + (a - b / c) / c**0.5 * matmul(q[:rows], mH(q[rows:]))


def _step_by_cholesky(u: Any, a: float, b: float, c: float) -> Any:
    """The same by solving with a positive definite matrix."""
    columns = typeof(u).shape[1]
    gram = c * matmul(mH(u), u) + eye((columns, columns), typeof(u).dtype)
    factor = cholesky(gram, symmetrize_input=False)
    half = triangular_solve(factor, mH(u), left_side=True, lower=True)
    solved = triangular_solve(
        factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True
    )
    return b / c * u + (a - b / c) * mH(solved)


__all__ = ["qdwh"]
