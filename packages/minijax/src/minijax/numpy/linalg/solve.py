"""Linear systems: solutions, inverses, determinants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import minijax.numpy.reductions as along
import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.linalg.lu import lu as lu_of
from minijax.lax.linalg.lu import solve as solve_matrices
from minijax.lax.linalg.matrices import (
    DTYPES_OF_XLA,
    diagonal,
    eye_like,
    is_complex,
    matmul,
    matrices_of,
    mH,
    real_dtype,
    times_columns,
    trace,
)
from minijax.lax.linalg.svd import svd as svd_of
from minijax.numpy.products import meet
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import leading_batch, lower_by, types_by
from minijax.primitives.sharding_rules import by_batch
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import Primitive, Zero, bind, bind1, typeof
from minijax_stage2.functions import ints, one_int
from minijax_stage2.promotion import broadcast_shapes, broadcast_to, to_inexact
from minijax_stage2.tangent import instantiate


class SlogdetResult(NamedTuple):
    """The sign of determinants, and the logarithm of their absolute value."""

    sign: Any
    logabsdet: Any


@operation
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solutions x of `a @ x = b`.

    Arguments:
        a: square matrices.
        b: one vector for all of them, or matrices whose columns are right-hand sides. Leading axes
            broadcast.

    Raises:
        ValueError: shapes do not match.

    >>> a, b = jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0])
    >>> jnp.linalg.solve(a, b)
    Array([1. , 0.5], dtype=float32)
    """
    a, b = meet(a, b)
    a, b = matrices_of("solve", a, square=True), to_inexact(b)
    is_vector = typeof(b).ndim == 1
    if is_vector:
        b = lax.expand_dims(b, [1])
    of_a, of_b = typeof(a).shape, typeof(b).shape
    if not of_b or of_a[-1] != of_b[-2]:
        raise ValueError(
            f"solve: the right-hand sides {typeof(b)} do not fit the matrices {typeof(a)}"
        )
    lead = broadcast_shapes(of_a[:-2], of_b[:-2])
    x = solve_matrices(broadcast_to(a, lead + of_a[-2:]), broadcast_to(b, lead + of_b[-2:]))
    return lax.squeeze(x, [len(lead) + 1]) if is_vector else x


@operation
def inv(a: ArrayLike) -> Array:
    """The inverse of square matrices; NaN or infinite where there is none.

    >>> a = jnp.array([[2.0, 0.0], [0.0, 4.0]])
    >>> jnp.linalg.inv(a)
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    a = matrices_of("inv", a, square=True)
    return solve_matrices(a, eye_like(a))


slogdet_p = Primitive("slogdet")


def _signs_and_logs(a: Any) -> list[Any]:
    factors, pivots, _ = lu_of(a)
    on_diagonal = diagonal(factors)
    last = typeof(pivots).ndim - 1
    rows = lax.broadcasted_iota(typeof(pivots).dtype, typeof(pivots).shape, last)
    exchanged = lax.convert_element_type(lax.ne(pivots, rows), real_dtype(typeof(a).dtype))
    exchanges = lax.select(
        lax.ne(pivots, rows), lax.full_like(exchanged, -1), lax.full_like(exchanged, 1)
    )
    size = lax.abs(on_diagonal)
    is_zero = lax.eq(size, lax.full_like(size, 0))
    safe = lax.select(is_zero, lax.full_like(on_diagonal, 1), on_diagonal)
    signs = lax.select(is_zero, lax.full_like(safe, 0), lax.sign(safe))
    sign = lax.reduce_prod(
        lax.mul(signs, lax.convert_element_type(exchanges, typeof(a).dtype)), [last]
    )
    return [sign, lax.reduce_sum(lax.log(size), [last])]


def _jvp_slogdet(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    (a,) = primals
    sign, log = bind(slogdet_p, a)
    change = trace(solve_matrices(a, instantiate(tangents[0])))
    if not is_complex(a):
        return [sign, log], [Zero.like(sign), change]
    turn = lax.mul(sign, lax.complex(lax.full_like(log, 0), lax.imag(change)))
    return [sign, log], [turn, lax.real(change)]


declare(
    slogdet_p,
    abstract_eval=types_by(_signs_and_logs),
    lower=lower_by(_signs_and_logs),
    vmap=leading_batch(slogdet_p),
    sharding=by_batch(slogdet_p, 2),
    jvp=_jvp_slogdet,
)


@operation(static="method")
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The sign and the logarithm of the absolute value of the determinants of square matrices.

    Arguments:
        a: the matrices.
        method: None or "lu".

    Returns:
        A pair. Where a determinant is 0 the sign is 0, and the logarithm minus infinity.

    >>> sign, log = jnp.linalg.slogdet(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sign, f"{jnp.exp(log):.2f}"
    (Array(-1., dtype=float32), '6.00')
    """
    if method not in (None, "lu"):
        raise NotImplementedError(f"slogdet: method must be None or 'lu', found {method!r}")
    is_small = typeof(a).shape[-2:] in ((1, 1), (2, 2))
    if is_small and typeof(a).dtype.itemsize == 2:  # not LAPACK's
        found = det(a)
        return SlogdetResult(lax.sign(found), lax.log(lax.abs(found)))
    return SlogdetResult(*bind(slogdet_p, matrices_of("slogdet", a, square=True)))


det_p = Primitive("det")


def _determinants(a: Any) -> list[Any]:
    factors, pivots, _ = lu_of(a)
    last = typeof(pivots).ndim - 1
    rows = lax.broadcasted_iota(typeof(pivots).dtype, typeof(pivots).shape, last)
    on_diagonal = diagonal(factors)
    signed = lax.select(lax.ne(pivots, rows), lax.neg(on_diagonal), on_diagonal)
    return [lax.reduce_prod(signed, [last])]


declare(
    det_p,
    abstract_eval=types_by(_determinants),
    lower=lower_by(_determinants),
    vmap=leading_batch(det_p),
    sharding=by_batch(det_p, 2),
    jvp=(lambda t, out, a: lax.mul(out, trace(solve_matrices(a, t))),),
)


@operation
def det(a: ArrayLike) -> Array:
    """The determinants of square matrices.

    >>> f"{jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]])):.2f}"
    '-2.00'
    """
    a = matrices_of("det", a, True, DTYPES_OF_XLA)
    *lead, n, _ = typeof(a).shape
    if n == 0:
        return lax.full(lead, 1, typeof(a).dtype)
    if n > 3:
        out = bind1(det_p, matrices_of("det", a))
        return lax.convert_element_type(out, typeof(out).dtype)  # not weak
    zeros = [0] * len(lead)

    def at(i: int, j: int) -> Any:
        part = lax.slice(a, [*zeros, i % n, j % n], [*lead, i % n + 1, j % n + 1])
        return lax.reshape(part, lead)

    if n == 1:
        return lax.convert_element_type(at(0, 0), typeof(a).dtype)  # not weak
    if n == 2:
        return lax.sub(lax.mul(at(0, 0), at(1, 1)), lax.mul(at(0, 1), at(1, 0)))
    minors = [
        lax.mul(
            at(0, j),
            lax.sub(lax.mul(at(1, j + 1), at(2, j + 2)), lax.mul(at(1, j + 2), at(2, j + 1))),
        )
        for j in range(3)
    ]
    return lax.add(lax.add(minors[0], minors[1]), minors[2])


pinv_p = Primitive("pinv")


def _pseudoinverses(a: Any, rtol: Any) -> list[Any]:
    u, s, vh = svd_of(a, full_matrices=False)
    ndim = typeof(s).ndim
    largest = lax.reduce_max(s, [ndim - 1]) if typeof(s).size else along.sum(s, -1)
    cutoff = lax.broadcast_in_dim(lax.mul(rtol, largest), typeof(s).shape, range(ndim - 1))
    counts = lax.gt(s, cutoff)
    inverse = lax.select(counts, lax.reciprocal(s), lax.full_like(s, 0))
    return [matmul(times_columns(mH(vh), inverse), mH(u))]


def _product(x: Any, y: Any, z: Any) -> Any:
    """`x @ y @ z`, in the order whose intermediate product is smaller."""
    (rows, inner), (other_inner, columns) = typeof(x).shape[-2:], typeof(z).shape[-2:]
    if rows * other_inner <= inner * columns:
        return matmul(matmul(x, y), z)
    return matmul(x, matmul(y, z))


def _jvp_pinv(t: Any, p: Any, a: Any, rtol: Any) -> Any:
    """Golub and Pereyra's formula (1973), for matrices whose rank does not change."""
    by_p = _product(p, t, p)
    left = _product(p, mH(p), mH(t))
    right = _product(mH(t), mH(p), p)
    outside_columns = lax.sub(left, _product(left, a, p))
    outside_rows = lax.sub(right, _product(p, a, right))
    return lax.add(lax.sub(outside_columns, by_p), outside_rows)


declare(
    pinv_p,
    abstract_eval=types_by(_pseudoinverses),
    lower=lower_by(_pseudoinverses),
    vmap=leading_batch(pinv_p),
    sharding=by_batch(pinv_p, 2, 0),
    jvp=(_jvp_pinv, None),
)


@operation(static="hermitian")
def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """The pseudoinverse of matrices.

    Arguments:
        a: the matrices.
        rtol: singular values that are less than `rtol` times the largest count as 0; by default
            ten times the larger number of rows or columns, times the precision of the dtype.
        hermitian: whether the matrices are symmetric, which makes no difference to the result.
        rcond: an older name of `rtol`.

    Raises:
        ValueError: `hermitian`, and the matrices are not square.

    >>> a = jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> bool(jnp.allclose(jnp.linalg.pinv(a) @ a, jnp.eye(2), atol=1e-5))
    True
    """
    a = matrices_of("pinv", a)
    *lead, m, n = typeof(a).shape
    if hermitian and m != n:
        raise ValueError(f"pinv: matrices that are hermitian are square, found {typeof(a)}")
    dtype = real_dtype(typeof(a).dtype)
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = np.asarray(10.0 * max(m, n) * np.finfo(dtype).eps, dtype)
    if not m or not n:
        return lax.full((*lead, n, m), 0, typeof(a).dtype)
    return bind1(pinv_p, a, broadcast_to(lax.convert_element_type(rtol, dtype), tuple(lead)))


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: Any = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The least-squares solution x of `a @ x = b`, of minimal norm if not unique.

    Arguments:
        a: a matrix.
        b: a vector, or a matrix whose columns are right-hand sides.
        rcond: singular values that are less than `rcond` times the largest count as 0.
        numpy_resid: whether residuals are left out, as numpy does, where the rank is not full or
            there are no more rows than columns. A transformation that does not know the rank
            cannot do it.

    Returns:
        The solution x; the sums of squared residuals; the rank of `a`; its singular values.

    Raises:
        TypeError, ValueError: `a` or `b` is not a matrix, or they do not match.
        ConcretizationTypeError: `numpy_resid`, and the rank is not known.

    >>> x = jnp.array([0.0, 1.0, 2.0])
    >>> a = jnp.stack([x, jnp.ones(3)], axis=1)
    >>> solution, _, rank, _ = jnp.linalg.lstsq(a, 3.0 * x + 1.0)
    >>> [f"{c:.2f}" for c in solution], rank
    (['3.00', '1.00'], Array(2, dtype=int32))
    """
    x, residuals, rank, s = _lstsq(a, b, rcond)
    m, n = typeof(a).shape
    if numpy_resid and not (m > n and int(rank) == n):
        residuals = lax.full((0,), 0, typeof(residuals).dtype)
    return x, residuals, rank, s


@operation
def _lstsq(a: ArrayLike, b: ArrayLike, rcond: Any) -> tuple[Array, Array, Array, Array]:
    a, b = (to_inexact(x) for x in meet(a, b))
    if typeof(a).ndim != 2:
        raise TypeError(f"lstsq: a must be a matrix, found {typeof(a)}")
    a = matrices_of("lstsq", a)
    if typeof(b).ndim not in (1, 2) or typeof(b).shape[0] != typeof(a).shape[0]:
        raise ValueError(f"lstsq: b {typeof(b)} does not fit the matrix {typeof(a)}")
    is_vector = typeof(b).ndim == 1
    columns = lax.expand_dims(b, [1]) if is_vector else b
    m, n = typeof(a).shape
    if rcond is None:
        rcond = float(np.finfo(typeof(a).dtype).eps) * max(m, n)
    u, s, vh = svd_of(a, full_matrices=False)
    counts = lax.ge(s, lax.mul(lax.convert_element_type(rcond, typeof(s).dtype), along.max(s)))
    safe = lax.select(counts, s, lax.full_like(s, 1))
    inverse = lax.select(counts, lax.reciprocal(safe), lax.full_like(s, 0))
    x = matmul(times_columns(mH(vh), inverse), matmul(mH(u), columns))
    rest = lax.sub(columns, matmul(a, x))
    squares = lax.square(lax.abs(rest))
    residuals = lax.reduce_sum(squares, [0])
    x = lax.squeeze(x, [1]) if is_vector else x
    return x, residuals, along.sum(counts), s


@operation(static="ind")
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of `a` as a linear map to arrays of its first `ind` axes.

    >>> a = jnp.eye(6).reshape(2, 3, 6)
    >>> jnp.linalg.tensorinv(a, ind=2).shape
    (6, 2, 3)
    """
    ind = one_int("tensorinv: ind", ind)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive, found {ind}")
    shape = typeof(a).shape
    rows = int(np.prod(shape[:ind]))
    return lax.reshape(inv(lax.reshape(a, (rows, -1))), shape[ind:] + shape[:ind])


@operation(static="axes")
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Any = None) -> Array:
    """The array x for which `tensordot(a, x, x.ndim)` is `b`.

    Arguments:
        a: the array whose last axes are summed over.
        b: the array whose axes are the first of `a`.
        axes: axes of `a` to move to its end first.

    >>> a, b = 2 * jnp.eye(6).reshape(2, 3, 2, 3), jnp.ones((2, 3))
    >>> jnp.linalg.tensorsolve(a, b)
    Array([[0.5, 0.5, 0.5],
           [0.5, 0.5, 0.5]], dtype=float32)
    """
    ndim = typeof(a).ndim
    if axes is not None:
        moved = [axis % ndim for axis in ints("tensorsolve: axes", axes)]
        a = stage2.transpose(a, [*(i for i in range(ndim) if i not in moved), *moved])
    shape = typeof(a).shape[typeof(b).ndim :]
    x = solve(lax.reshape(a, (typeof(b).size, -1)), lax.reshape(b, (-1,)))
    return lax.reshape(x, shape)


__all__ = [
    "det", "inv", "lstsq", "pinv", "slogdet", "solve", "tensorinv", "tensorsolve",
]  # fmt: skip
