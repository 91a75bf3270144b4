"""Matrix functions: the exponential, the square root, and others by the Schur form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.lax.linalg import promoting as decompositions
from minijax.lax.linalg.matrices import DTYPES_OF_XLA, matrices_of
from minijax.numpy.math.operands import inexact_arrays
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.linalg.decompositions import schur
from minijax.transforms.transformations import jvp
from minijax_stage2 import typeof
from minijax_stage2.shaped_array import typeof_named

# How large matrices may be for the Pade approximant of each order, and for none of them
# (N. Higham, The scaling and squaring method for the matrix exponential revisited, 2005).
LIMITS = {
    8: {
        3: 1.495585217958292e-2,
        5: 2.539398330063230e-1,
        7: 9.504178996162932e-1,
        9: 2.097847961257068,
        13: 5.371920351148152,
    },
    4: {3: 4.258730016922831e-1, 5: 1.880152677804762, 7: 3.925724783138660},
}


def _product(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _coefficients(order: int) -> list[float]:
    """The coefficients of Pade's numerator for the exponential, the last of which is 1."""
    n = order
    return [
        float(math.factorial(2 * n - k) // (math.factorial(n - k) * math.factorial(k)))
        for k in range(n + 1)
    ]


def _pade(order: int) -> Callable[[Any], tuple[Any, Any]]:
    """The odd and the even part of the numerator; the denominator has the odd part negated."""
    b = _coefficients(order)

    def parts(a: Any) -> tuple[Any, Any]:
        square = _product(a, a)
        powers = [jnp.eye(a.shape[-1], dtype=a.dtype), square]
        while len(powers) <= min(order // 2, 4 if order < 13 else 3):
            powers.append(_product(powers[-1], square))

        def total(first: int, coefficients: Sequence[float]) -> Any:
            """The sum of powers of the square, from its power `first` on."""
            out: Any = 0
            for power, c in zip(powers[first:], coefficients, strict=False):
                out = out + c * power
            return out

        odd, even = (
            total(0, b[1:8:2] if order == 13 else b[1::2]),
            total(0, b[0:8:2] if order == 13 else b[::2]),
        )
        if order == 13:
            odd = odd + _product(powers[3], total(1, b[9::2]))
            even = even + _product(powers[3], total(1, b[8::2]))
        return _product(a, odd), even

    return parts


def _expm(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    """The matrix exponential by scaling and squaring."""
    dtype = typeof(a).dtype
    size = jnp.linalg.norm(a, 1)
    limits = LIMITS[8 if typeof(size).dtype == np.float64 else 4]
    *orders, last = limits
    squarings = jnp.maximum(0, jnp.floor(jnp.log2(size / limits[last])))
    a = a / (2**squarings).astype(dtype)
    which = sum((size >= limits[order]).astype(np.int32) for order in orders)
    odd, even = lax.switch(which, [_pade(order) for order in limits], a)
    above, below = even + odd, even - odd
    if upper_triangular:
        out = decompositions.triangular_solve(below, above, left_side=True)
    else:
        out = jnp.linalg.solve(below, above)

    def square(out: Any, i: Any) -> Any:
        return lax.cond(i < squarings, lambda x: _product(x, x), lambda x: x, out), None

    steps = jnp.arange(max_squarings, dtype=typeof(squarings).dtype)
    out, _ = lax.scan(square, out, steps)
    return jnp.where(squarings > max_squarings, jnp.nan, out)


@operation(static=("upper_triangular", "max_squarings"))
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponential of square matrices.

    Arguments:
        A: the matrices.
        upper_triangular: whether all of them are upper triangular, which saves work.
        max_squarings: the maximum number of squarings; the exponential of larger matrices is NaN.

    Raises:
        ValueError: the matrices are not square.

    >>> minijax.scipy.linalg.expm(jnp.array([[0.0, 1.0], [0.0, 0.0]])).round(3)
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    (a,) = inexact_arrays(A)
    shape = typeof(a).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"expm: expected A to be a (batched) square matrix, found {typeof(a)}")
    if not typeof(a).size:
        return a

    def of_matrix(a: Any) -> Any:
        return _expm(a, upper_triangular, max_squarings)

    return jnp.vectorize(of_matrix, signature="(n,n)->(n,n)")(a)


@operation(static=("method", "compute_expm"))
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """The exponential of square matrices, and its directional derivative.

    Arguments:
        A: the matrices.
        E: the directions, of the same shape.
        method: makes no difference.
        compute_expm: whether to return the exponential, too.

    Returns:
        The exponential and the derivative, or the derivative.

    Raises:
        ValueError: the matrices are not square, or the shapes differ.

    >>> a, e = jnp.zeros((2, 2)), jnp.eye(2)
    >>> exp_a, derivative = minijax.scipy.linalg.expm_frechet(a, e)
    >>> derivative.round(3)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    a, e = inexact_arrays(A, E)
    for name, matrix in (("A", A), ("E", E)):
        matrices_of(f"expm_frechet: {name}", matrix, square=True)
    if typeof(A).shape != typeof(E).shape:
        raise ValueError(
            "expm_frechet: expected A and E to be the same shape, found "
            f"{typeof(A)} and {typeof(E)}"
        )
    out, slope = jvp(expm, (a,), (e,))
    return (out, slope) if compute_expm else slope


def _root_of_triangle(t: Any) -> Any:
    """The square root of an upper triangular matrix, column by column.

    The part above the diagonal in column j solves a triangular system, since the columns before are
    known: `(u[:j, :j] + u[j, j]) @ u[:j, j] = t[:j, j]`.
    """
    n = typeof(t).shape[-1]
    roots = jnp.sqrt(jnp.diagonal(t))
    index = jnp.arange(n)

    def column(j: Any, u: Any) -> Any:
        is_above = index < j
        known = jnp.where(is_above[:, None] & is_above, u, 0)
        pivots = jnp.where(is_above, roots + roots[j], 1)
        pivots = jnp.where(pivots == 0, 1, pivots)  # of a root that is singular, one of many
        known = jnp.where(index[:, None] == index, jnp.diag(pivots), known)
        target = jnp.where(is_above, t[:, j], 0)
        solved = decompositions.triangular_solve(known, target[:, None], left_side=True)[:, 0]
        return u.at[:, j].add(jnp.where(is_above, solved, 0))

    return lax.fori_loop(0, n, column, jnp.diag(roots))


@operation(static="blocksize")
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The complex square root of a matrix.

    Arguments:
        A: the matrix; for floats narrower than float32 the root is complex64.
        blocksize: must be 1.

    Raises:
        NotImplementedError: `blocksize` is not 1.

    >>> root = minijax.scipy.linalg.sqrtm(jnp.array([[4.0, 0.0], [0.0, 9.0]]))
    >>> [f"{x.real:.2f}" for x in jnp.diag(root)]
    ['2.00', '3.00']
    """
    if blocksize > 1:
        raise NotImplementedError(f"sqrtm: blocksize must be 1, found {blocksize}")
    A = matrices_of("sqrtm", A, True, DTYPES_OF_XLA)
    t, z = schur(A.astype(np.result_type(np.complex64, typeof(A).dtype)), output="complex")
    return _product(_product(z, _root_of_triangle(t)), jnp.conj(z.T))


@operation(static=("func", "disp"))
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a matrix, defined by a function of its eigenvalues.

    If eigenvalues are equal, or nearly so, the result is not accurate.

    Arguments:
        A: a square matrix.
        func: the function of a complex number.
        disp: whether to omit the error estimate.

    Returns:
        The matrix, which is complex; with `disp=False` also an estimate of its relative error.

    Raises:
        ValueError: `A` is not a square matrix.

    >>> print(funm(jnp.array([[1.0, 2.0], [0.0, 3.0]]), lambda x: x * x).real)
    [[1. 8.]
     [0. 9.]]
    """
    a = matrices_of("funm", A, square=True)
    if typeof(a).ndim != 2:
        raise ValueError(f"funm: takes one square matrix, found {typeof(a)}")
    t, z = schur(a, output="complex")
    values = jnp.diagonal(t)
    gaps = values - values[:, None]
    index = jnp.arange(typeof(t).shape[-1])
    distance = index - index[:, None]

    def diagonal(p: Any, f: Any) -> Any:
        """The diagonal of f at distance p from the main one, from nearer ones: f and t commute."""
        lacking = _product(t, f) - _product(f, t)
        found = lacking / jnp.where(gaps == 0, 1, gaps)
        return jnp.where(distance == p, found, f)

    of_values = jnp.vectorize(func)(values)
    typeof_named("funm: the result of func", of_values)
    f = jnp.diag(of_values.astype(t.dtype))
    f = lax.fori_loop(1, len(index), diagonal, f)
    out = _product(_product(z, f), jnp.conj(z.T))
    if disp:
        return out
    eps = jnp.finfo(t.dtype).eps
    sizes = jnp.abs(gaps)
    above = distance > 0
    least = jnp.min(jnp.where(above, sizes, jnp.abs(t[0, 0])))
    least = jnp.where(least == 0, eps, least)
    error = eps / least * jnp.linalg.norm(jnp.where(above, t, 0), 1)
    error = jnp.clip(error, eps, 1)
    return out, jnp.where(jnp.all(jnp.isfinite(f)), error, jnp.inf)


__all__ = ["expm", "expm_frechet", "funm", "sqrtm"]
