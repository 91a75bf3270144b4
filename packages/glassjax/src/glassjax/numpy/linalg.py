"""Linear algebra, with the names of `numpy.linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import is_symbolic_dim, max_size
from glassjax.dtypes import DTypeLike
from glassjax.lax import linalg
from glassjax.lax.linalg import eigen, matrices
from glassjax.lax.linalg.eigen import svd as svd_of
from glassjax.lax.linalg.factorizations import lu as lu_of
from glassjax.lax.linalg.factorizations import solve as solve_matrices
from glassjax.lax.precision import PrecisionLike
from glassjax.lax.products import PRECISION_PARAMS
from glassjax.numpy import products, reductions
from glassjax.numpy.creation import eye
from glassjax.numpy.dtypes import default_float, default_int
from glassjax.numpy.grids import diagonal as diagonal_of
from glassjax.numpy.products import promote_dtypes, vecdot
from glassjax.primitives.declare import declare, leading_batch, lower_by, types_by
from glassjax.primitives.sharding_rules import by_batch
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import require_no_promotion
from glassjax_stage2 import Primitive, bind, bind1, typeof
from glassjax_stage2.functions import canonical_axes, ints, one_int
from glassjax_stage2.promotion import broadcast_shapes, broadcast_to, to_inexact
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.tangent import instantiate

# Products of vectors and matrices, as strict as the array API.


@operation(static="axis")
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three elements.

    Arguments:
        x1, x2: vectors along one axis; the other axes broadcast.
        axis: the axis of the vectors, in both.

    Raises:
        ValueError: the vectors do not have three elements.

    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    require_no_promotion(x1, x2)
    return products.cross(x1, x2, axis=axis)


@operation(static=("precision", "preferred_element_type"))
def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The matrix product, over leading axes that broadcast.

    Arguments:
        x1: the left operand, with at least one axis.
        x2: the right operand, with at least one axis.
        precision, preferred_element_type: as in `lax.dot_general`.

    Raises:
        ValueError: an operand is a scalar, or the contracted sizes differ.

    >>> jnp.linalg.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    require_no_promotion(x1, x2)
    return products.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


@operation
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of each element of the vector `x1` with each of `x2`, as a matrix.

    Raises:
        ValueError: an operand is not a vector.

    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([10, 20]))
    Array([[10, 20],
           [20, 40]], dtype=int32)
    """
    require_no_promotion(x1, x2)
    if typeof(x1).ndim != 1 or typeof(x2).ndim != 1:
        raise ValueError(f"outer: takes vectors, found {typeof(x1)} and {typeof(x2)}")
    return products.outer(x1, x2)


@operation(static=("axes", *PRECISION_PARAMS))
def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: Any = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> Array:
    """The sums of products over several axes.

    Arguments:
        x1: the left operand.
        x2: the right operand.
        axes: as in `numpy.tensordot`.
        precision, preferred_element_type, out_sharding: as in `lax.dot_general`.

    >>> jnp.linalg.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5)), axes=2).shape
    (2, 5)
    """
    return products.tensordot(
        x1,
        x2,
        axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


# Linear systems: solutions, inverses, determinants.


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
    a, b = promote_dtypes(a, b)
    a, b = matrices.matrices_of("solve", a, square=True), to_inexact(b)
    a_shape, b_shape = typeof(a).shape, typeof(b).shape
    if not b_shape or a_shape[-1] != b_shape[-2:][0]:
        raise ValueError(
            f"solve: the right-hand sides {typeof(b)} do not fit the matrices {typeof(a)}"
        )
    return _solutions(a, b)


@written_in_jax("linalg")
def _solutions(a: Any, b: Any) -> Any:
    is_vector = typeof(b).ndim == 1
    if is_vector:
        b = lax.expand_dims(b, [1])
    a_shape, b_shape = typeof(a).shape, typeof(b).shape
    lead = broadcast_shapes(a_shape[:-2], b_shape[:-2])
    x = solve_matrices(broadcast_to(a, lead + a_shape[-2:]), broadcast_to(b, lead + b_shape[-2:]))
    return lax.squeeze(x, [len(lead) + 1]) if is_vector else x


@operation
def inv(a: ArrayLike) -> Array:
    """The inverse of square matrices; NaN or infinite where there is none.

    >>> a = jnp.array([[2.0, 0.0], [0.0, 4.0]])
    >>> jnp.linalg.inv(a)
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    a = matrices.matrices_of("inv", a, square=True)
    return solve(a, eye(typeof(a).shape[-1], dtype=typeof(a).dtype))


slogdet_p = Primitive("slogdet")


def _signs_and_logs(a: Any) -> list[Any]:
    factors, pivots, _ = lu_of(a)
    on_diagonal = matrices.diagonal(factors)
    last = typeof(pivots).ndim - 1
    rows = lax.broadcasted_iota(typeof(pivots).dtype, typeof(pivots).shape, last)
    swapped = lax.convert_element_type(pivots != rows, matrices.real_dtype(typeof(a).dtype))
    swap_signs = lax.select(pivots != rows, lax.full_like(swapped, -1), lax.full_like(swapped, 1))
    size = lax.abs(on_diagonal)
    is_zero = size == lax.full_like(size, 0)
    safe = lax.select(is_zero, lax.full_like(on_diagonal, 1), on_diagonal)
    signs = lax.select(is_zero, lax.full_like(safe, 0), lax.sign(safe))
    sign = lax.reduce_prod(signs * lax.convert_element_type(swap_signs, typeof(a).dtype), [last])
    return [sign, lax.reduce_sum(lax.log(size), [last])]


def _slogdet_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    (a,) = primals
    sign, log = bind(slogdet_p, a)
    change = matrices.trace(solve_matrices(a, instantiate(tangents[0])))
    if not matrices.is_complex(a):
        return [sign, log], [stage2.Zero.like(sign), change]
    turn = sign * lax.complex(lax.full_like(log, 0), lax.imag(change))
    return [sign, log], [turn, lax.real(change)]


declare(
    slogdet_p,
    abstract_eval=types_by(_signs_and_logs),
    lower=lower_by(_signs_and_logs),
    vmap=leading_batch(slogdet_p),
    sharding=by_batch(slogdet_p, 2),
    jvp=_slogdet_jvp,
)


@operation(static="method")
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The sign and the logarithm of the absolute value of the determinants of square matrices.

    Arguments:
        a: the matrices.
        method: None or "lu".

    Returns:
        A pair. Where a determinant is 0 the sign is 0, and the logarithm minus infinity.

    Raises:
        ValueError: the matrices are not square.
        NotImplementedError: there is no such `method`.

    >>> sign, log = jnp.linalg.slogdet(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sign, f"{jnp.exp(log):.2f}"
    (Array(-1., dtype=float32), '6.00')
    """
    if method not in (None, "lu"):
        raise NotImplementedError(f"slogdet: method must be None or 'lu', found {method!r}")
    is_small = typeof(a).shape[-2:] in ((1, 1), (2, 2))
    if is_small and typeof(a).dtype.itemsize == 2:  # LAPACK lacks 16-bit dtypes
        found = det(a)
        return SlogdetResult(lax.sign(found), lax.log(lax.abs(found)))
    return SlogdetResult(*_slogdet(matrices.matrices_of("slogdet", a, square=True)))


@written_in_jax("linalg")
def _slogdet(a: Any) -> Any:
    return bind(slogdet_p, a)


det_p = Primitive("det")


def _determinants(a: Any) -> list[Any]:
    factors, pivots, _ = lu_of(a)
    last = typeof(pivots).ndim - 1
    rows = lax.broadcasted_iota(typeof(pivots).dtype, typeof(pivots).shape, last)
    on_diagonal = matrices.diagonal(factors)
    signed = lax.select(pivots != rows, lax.neg(on_diagonal), on_diagonal)
    return [lax.reduce_prod(signed, [last])]


declare(
    det_p,
    abstract_eval=types_by(_determinants),
    lower=lower_by(_determinants),
    vmap=leading_batch(det_p),
    sharding=by_batch(det_p, 2),
    jvp=(lambda t, out, a: out * matrices.trace(solve_matrices(a, t)),),
)


@operation
def det(a: ArrayLike) -> Array:
    """The determinants of square matrices.

    >>> f"{jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]])):.2f}"
    '-2.00'
    """
    a = matrices.matrices_of("det", a, True, matrices.DTYPES_OF_XLA)
    *lead, n, _ = typeof(a).shape
    if n == 0:
        return lax.full(lead, 1, typeof(a).dtype)
    if n == 1:
        return lax.convert_element_type(_entry(a, 0, 0), typeof(a).dtype)  # drops the weak type
    if n == 2:
        return _entry(a, 0, 0) * _entry(a, 1, 1) - _entry(a, 0, 1) * _entry(a, 1, 0)
    return _det(a)


def _entry(a: Any, i: int, j: int) -> Any:
    *lead, n, _ = typeof(a).shape
    zeros = [0] * len(lead)
    part = lax.slice(a, [*zeros, i % n, j % n], [*lead, i % n + 1, j % n + 1])
    return lax.reshape(part, lead)


@written_in_jax("linalg")
def _det(a: Any) -> Any:
    n = typeof(a).shape[-1]
    if is_symbolic_dim(n) or n > 3:
        out = bind1(det_p, matrices.matrices_of("det", a))
        return lax.convert_element_type(out, typeof(out).dtype)  # drops the weak type
    minors = [
        _entry(a, 0, j)
        * (_entry(a, 1, j + 1) * _entry(a, 2, j + 2) - _entry(a, 1, j + 2) * _entry(a, 2, j + 1))
        for j in range(3)
    ]
    return lax.add(minors[0], minors[1]) + minors[2]


pinv_p = Primitive("pinv")


def _pseudoinverses(a: Any, rtol: Any) -> list[Any]:
    u, s, vh = svd_of(a, full_matrices=False)
    ndim = typeof(s).ndim
    largest = lax.reduce_max(s, [ndim - 1]) if typeof(s).size else reductions.sum(s, -1)
    cutoff = lax.broadcast_in_dim(rtol * largest, typeof(s).shape, range(ndim - 1))
    counts = s > cutoff
    inverse = lax.select(counts, lax.reciprocal(s), lax.full_like(s, 0))
    return [matrices.matmul(matrices.times_columns(matrices.mH(vh), inverse), matrices.mH(u))]


def _three_products(x: Any, y: Any, z: Any) -> Any:
    """`x @ y @ z`, in the order whose intermediate product is smaller."""
    (rows, inner), (other_inner, columns) = typeof(x).shape[-2:], typeof(z).shape[-2:]
    if rows * other_inner <= inner * columns:
        return matrices.matmul(matrices.matmul(x, y), z)
    return matrices.matmul(x, matrices.matmul(y, z))


def _pinv_jvp(t: Any, p: Any, a: Any, rtol: Any) -> Any:
    """Golub and Pereyra's formula (1973), for matrices whose rank does not change."""
    by_p = _three_products(p, t, p)
    left = _three_products(p, matrices.mH(p), matrices.mH(t))
    right = _three_products(matrices.mH(t), matrices.mH(p), p)
    outside_columns = left - _three_products(left, a, p)
    outside_rows = right - _three_products(p, a, right)
    return outside_columns - by_p + outside_rows


declare(
    pinv_p,
    abstract_eval=types_by(_pseudoinverses),
    lower=lower_by(_pseudoinverses),
    vmap=leading_batch(pinv_p),
    sharding=by_batch(pinv_p, 2, 0),
    jvp=(_pinv_jvp, None),
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
        hermitian: whether the matrices are symmetric; the result is the same either way.
        rcond: an older name of `rtol`.

    Raises:
        ValueError: `hermitian`, and the matrices are not square.

    >>> a = jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> bool(jnp.allclose(jnp.linalg.pinv(a) @ a, jnp.eye(2), atol=1e-5))
    True
    """
    a = matrices.matrices_of("pinv", a)
    *lead, m, n = typeof(a).shape
    if hermitian and m != n:
        raise ValueError(f"pinv: matrices that are hermitian are square, found {typeof(a)}")
    dtype = matrices.real_dtype(typeof(a).dtype)
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = max_size(m, n) * (10.0 * float(np.finfo(dtype).eps))
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
    a, b = (to_inexact(x) for x in promote_dtypes(a, b))
    if typeof(a).ndim != 2:
        raise TypeError(f"lstsq: a must be a matrix, found {typeof(a)}")
    a = matrices.matrices_of("lstsq", a)
    if typeof(b).ndim not in (1, 2) or typeof(b).shape[0] != typeof(a).shape[0]:
        raise ValueError(f"lstsq: b {typeof(b)} does not fit the matrix {typeof(a)}")
    is_vector = typeof(b).ndim == 1
    columns = lax.expand_dims(b, [1]) if is_vector else b
    m, n = typeof(a).shape
    if rcond is None:
        rcond = max_size(m, n) * float(np.finfo(typeof(a).dtype).eps)
    u, s, vh = svd_of(a, full_matrices=False)
    counts = s >= lax.convert_element_type(rcond, typeof(s).dtype) * reductions.max(s)
    safe = lax.select(counts, s, lax.full_like(s, 1))
    inverse = lax.select(counts, lax.reciprocal(safe), lax.full_like(s, 0))
    x = matrices.matmul(
        matrices.times_columns(matrices.mH(vh), inverse), matrices.matmul(matrices.mH(u), columns)
    )
    rest = lax.sub(columns, matrices.matmul(a, x))
    squares = lax.square(lax.abs(rest))
    residuals = lax.reduce_sum(squares, [0])
    x = lax.squeeze(x, [1]) if is_vector else x
    return x, residuals, reductions.sum(counts), s


@operation(static="ind")
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of `a` as a linear map to arrays of its first `ind` axes.

    Raises:
        ValueError: `ind` is not positive.

    >>> a = jnp.eye(6).reshape(2, 3, 6)
    >>> jnp.linalg.tensorinv(a, ind=2).shape
    (6, 2, 3)
    """
    ind = one_int("tensorinv: ind", ind)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive, found {ind}")
    shape = typeof(a).shape
    rows = int(np.prod(shape[:ind]))
    return stage2.reshape(inv(stage2.reshape(a, (rows, -1))), shape[ind:] + shape[:ind])


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
    x = solve(stage2.reshape(a, (typeof(b).size, -1)), stage2.reshape(b, (-1,)))
    return lax.reshape(x, shape)


# Decompositions of matrices, and eigenvalues, with numpy's names and results.


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors in columns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors in columns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Orthonormal columns, singular values in descending order, orthonormal rows."""

    U: Any
    S: Any
    Vh: Any


@operation(static=("upper", "symmetrize_input"))
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The triangular `l` for which `l @ l^H` is `a`; with `upper`, the `u` for which `u^H @ u` is.

    Arguments:
        a: symmetric (Hermitian) positive definite matrices.
        upper: which triangle to return.
        symmetrize_input: whether to take the mean of each matrix and its transpose.

    Returns:
        The triangles; NaN where a matrix is not positive definite.

    >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    lower = linalg.cholesky(matrices.mH(a) if upper else a, symmetrize_input=symmetrize_input)
    return matrices.mH(lower) if upper else lower


@operation(static="mode")
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """The decomposition of matrices into orthonormal columns `Q` and an upper triangle `R`.

    Arguments:
        a: the matrices.
        mode: "reduced"; "complete", for a square `Q`; "r", for `R` alone; or "raw", for LAPACK's
            reflections, transposed, and their factors.

    Raises:
        ValueError: `mode` is none of these.

    >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = jnp.linalg.qr(a)
    >>> bool(jnp.allclose(q @ r, a, atol=1e-5)), bool(jnp.allclose(q.T @ q, jnp.eye(2), atol=1e-5))
    (True, True)
    """
    a = matrices.matrices_of("qr", a)
    if mode == "raw":
        packed, taus = linalg.geqrf(a)
        return QRResult(matrices.mT(packed), taus)
    if mode not in ("reduced", "r", "complete", "full"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw', found {mode!r}")
    q, r = linalg.qr(a, full_matrices=mode in ("complete", "full"))
    return r if mode == "r" else QRResult(q, r)


@operation(static=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """The singular value decomposition of matrices.

    Arguments:
        a: the matrices.
        full_matrices: whether `U` and `Vh` are square, rather than as small as suffices.
        compute_uv: whether to return them.
        hermitian: whether the matrices are symmetric; ignored.
        subset_by_index: the first and the last singular value, the latter exclusive.

    Returns:
        `U, S, Vh`, or `S` alone.

    >>> a = jnp.array([[3.0, 0.0], [0.0, -2.0]])
    >>> u, s, vt = jnp.linalg.svd(a)
    >>> [f"{x:.2f}" for x in s], bool(jnp.allclose(u * s @ vt, a, atol=1e-5))
    (['3.00', '2.00'], True)
    """
    options: Any = {"full_matrices": full_matrices, "subset_by_index": subset_by_index}
    out: Any = linalg.svd(to_inexact(a), compute_uv=compute_uv, **options)
    return SVDResult(*out) if compute_uv else out


@operation
def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices, in descending order.

    >>> [f"{x:.2f}" for x in jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, -2.0]]))]
    ['3.00', '2.00']
    """
    return linalg.svd(to_inexact(x), compute_uv=False)


@operation(static=("UPLO", "symmetrize_input"))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The eigenvalues and eigenvectors of symmetric (Hermitian) matrices.

    Arguments:
        a: the matrices.
        UPLO: "L" (by default) or "U": the triangle to read, if they are not symmetrized.
        symmetrize_input: whether to take the mean of each matrix and its transpose.

    Raises:
        ValueError: `UPLO` is neither.

    >>> a = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> w, v = jnp.linalg.eigh(a)
    >>> [f"{x:.2f}" for x in w], bool(jnp.allclose(v * w @ v.T, a, atol=1e-5))
    (['1.00', '3.00'], True)
    """
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"eigh: UPLO must be 'L' or 'U', found {UPLO!r}")
    v, w = linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@operation(static=("UPLO", "symmetrize_input"))
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of symmetric (Hermitian) matrices, in ascending order.

    Arguments:
        a, UPLO, symmetrize_input: as in `eigh`.

    Raises:
        ValueError: as in `eigh`.

    >>> [f"{x:.2f}" for x in jnp.linalg.eigvalsh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))]
    ['1.00', '3.00']
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


@operation
def eig(a: ArrayLike) -> EigResult:
    """The eigenvalues and eigenvectors of square matrices, which are complex.

    >>> a = jnp.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> w, v = jnp.linalg.eig(a)
    >>> w.dtype, bool(jnp.allclose(a @ v, v * w, atol=1e-5))
    (dtype('complex64'), True)
    """
    return EigResult(*linalg.eig(to_inexact(a), compute_left_eigenvectors=False))


@operation
def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices, which are complex.

    >>> [f"{x.real:.2f}" for x in jnp.linalg.eigvals(jnp.array([[2.0, 1.0], [0.0, 3.0]]))]
    ['2.00', '3.00']
    """
    a = to_inexact(a)
    (w,) = linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return w


@operation(static="n")
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Square matrices to the power `n`, a possibly negative int.

    Raises:
        TypeError: the matrices are not square.

    >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 5)
    Array([[1, 5],
           [0, 1]], dtype=int32)
    """
    n = one_int("matrix_power: n", n)
    if typeof(a).ndim < 2 or typeof(a).shape[-1] != typeof(a).shape[-2]:
        raise TypeError(f"matrix_power: takes square matrices, found {typeof(a)}")
    if n < 0:
        return matrix_power(inv(a), -n)
    out = None
    while n:
        if n % 2:
            out = a if out is None else products.matmul(out, a)
        n //= 2
        a = products.matmul(a, a) if n else a
    return matrices.eye_like(a) if out is None else out  # type: ignore[return-value]


@operation(static="precision")
def multi_dot(arrays: Sequence[Any], *, precision: PrecisionLike = None) -> Array:
    """The product of matrices, in the cheapest order.

    The first and the last may be vectors.

    Raises:
        ValueError: there are fewer than two, or one between is not a matrix.

    >>> jnp.linalg.multi_dot([jnp.ones((2, 9)), jnp.ones((9, 9)), jnp.ones((9, 3))]).shape
    (2, 3)
    """
    arrays = list(arrays)
    ndims = [typeof(x).ndim for x in arrays]
    if len(arrays) < 2 or any(n != 2 for n in ndims[1:-1]) or not {ndims[0], ndims[-1]} <= {1, 2}:
        raise ValueError(
            f"multi_dot: takes two matrices at least, found {list(map(typeof, arrays))}"
        )
    sizes = [1 if ndims[0] == 1 else typeof(arrays[0]).shape[0]]
    sizes += [typeof(x).shape[0] for x in arrays[1:]]
    sizes.append(1 if ndims[-1] == 1 else typeof(arrays[-1]).shape[1])
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(arrays))}
    for span in range(1, len(arrays)):
        for i in range(len(arrays) - span):
            j = i + span
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        if i == j:
            return arrays[i]
        k = best[i, j][1]
        return products.dot(product(i, k), product(k + 1, j), precision=precision)

    return product(0, len(arrays) - 1)


@operation(static="offset")
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices in the last two axes, `offset` above the main one.

    >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    return diagonal_of(x, offset, -2, -1)


@operation(static=("offset", "dtype"))
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sums of the diagonals of matrices in the last two axes.

    Arguments:
        x: matrices, along the last two axes.
        offset: the diagonal: 0 is the main one, positive ones lie above it.
        dtype: as in `numpy.sum`.

    Raises:
        ValueError: `x` has fewer than two axes.

    >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    return reductions.sum(diagonal(x, offset=offset), -1, dtype=dtype)


@operation
def matrix_transpose(x: ArrayLike, /) -> Array:
    """The matrices in the last two axes, transposed.

    Raises:
        ValueError: `x` has fewer than two axes.

    >>> jnp.linalg.matrix_transpose(jnp.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    if typeof(x).ndim < 2:
        raise ValueError(f"matrix_transpose: takes at least two axes, found {typeof(x)}")
    return matrices.mT(x)


# Norms of vectors and matrices, and functions of singular values.


@operation(static=("ord", "axis", "keepdims"))
def norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Arguments:
        x: the array.
        ord: the kind of norm. For vectors: 2 (by default), any other number, 0 for the number of
            nonzero elements, infinity for the largest or smallest absolute value. For matrices:
            "fro" (by default), "nuc", 1, 2, or infinity, and their negatives.
        axis: the axis of vectors, or the pair of axes of matrices. None: `x` is one vector or
            matrix, and without `ord` it is flattened.
        keepdims: whether to keep the reduced axes, with size 1.

    Raises:
        ValueError: there is no such norm, or `axis` names more than two axes.
        TypeError: `ord` is neither a number nor a string.

    >>> jnp.linalg.norm(jnp.array([3.0, 4.0])), jnp.linalg.norm(jnp.array([3.0, 4.0]), ord=1)
    (Array(5., dtype=float32), Array(7., dtype=float32))
    """
    x = to_inexact(x)
    ndim = typeof(x).ndim
    if axis is None and ord is None:
        return _length(x, tuple(range(ndim)), keepdims)
    axes = canonical_axes("norm", axis, ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"norm: takes one axis, of vectors, or two, of matrices; found {axes}")


def _length(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The square root of the sum of squares."""
    squares = x * lax.conj(x) if typeof(x).dtype.kind == "c" else lax.mul(x, x)
    return lax.sqrt(reductions.sum(matrices.real_part(squares), axes, keepdims=keepdims))


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return _length(x, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"norm: the norm of vectors is said by a number, found ord={ord!r}")
    if not isinstance(ord, Real):
        raise TypeError(f"norm: ord must be a real number, found {ord!r}")
    size = lax.abs(x)
    if ord == np.inf:
        return _largest(size, axes, keepdims)
    if ord == -np.inf:
        return reductions.min(size, axes, keepdims=keepdims)
    if ord == 0:
        return reductions.sum(x != 0, axes, dtype=typeof(size).dtype, keepdims=keepdims)
    if ord == 1:
        return reductions.sum(size, axes, keepdims=keepdims)
    ord = float(ord)
    total = reductions.sum(stage2.power(size, ord), axes, keepdims=keepdims)
    return stage2.power(total, 1.0 / ord)


def _largest(sizes: Any, axis: int | tuple[int, ...], keepdims: bool) -> Any:
    """The largest of nonnegative numbers along axes; 0 if they are empty."""
    initial = None if typeof(sizes).size else 0
    return reductions.max(sizes, axis, keepdims=keepdims, initial=initial)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    rows, columns = axes
    if ord in (None, "fro", "f"):
        return _length(x, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        summed, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = reductions.sum(lax.abs(x), summed, keepdims=keepdims)
        over = over if keepdims or over < summed else over - 1
        return (_largest if ord > 0 else reductions.min)(sums, over, keepdims=keepdims)
    if ord not in (2, -2, "nuc"):
        raise ValueError(f"norm: there is no norm ord={ord!r} of matrices")
    others = [axis for axis in range(typeof(x).ndim) if axis not in axes]
    s = svdvals(stage2.transpose(x, [*others, rows, columns]))
    combine = reductions.sum if ord == "nuc" else _largest if ord == 2 else reductions.min
    out = combine(s, -1, keepdims=False)
    return lax.expand_dims(out, axes) if keepdims else out


@operation(static=("keepdims", "ord"))
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of matrices in the last two axes.

    Arguments:
        x: the matrices.
        keepdims: as in `norm`.
        ord: the kind of norm: "fro", "nuc", 1, 2, or infinity, and their negatives.

    Raises:
        ValueError: there is no such norm.

    >>> a = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> jnp.linalg.matrix_norm(a, ord=1), jnp.linalg.matrix_norm(a, ord=jnp.inf)
    (Array(6., dtype=float32), Array(7., dtype=float32))
    """
    return norm(x, ord, (-2, -1), keepdims)


@operation(static=("axis", "keepdims", "ord"))
def vector_norm(
    x: ArrayLike, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Array:
    """The norm of vectors along an axis, along several at once, or (None) of all elements.

    Arguments:
        x: the array.
        axis: as in `numpy.sum`.
        keepdims: as in `norm`.
        ord: the kind of norm: a number, 0 for the number of nonzero elements, or infinity for the
            largest or smallest absolute value.

    Raises:
        ValueError: there is no such axis.

    >>> jnp.linalg.vector_norm(jnp.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    Array([ 5., 10.], dtype=float32)
    """
    if not is_inexact(typeof(x).dtype):
        x = lax.convert_element_type(x, default_float())
    axes = canonical_axes("vector_norm", axis, typeof(x).ndim)
    return _vector_norm(x, ord, axes, keepdims)


@operation(static="p")
def cond(x: ArrayLike, p: Any = None) -> Array:
    """The condition number: the factor by which errors of right-hand sides can grow in solutions.

    Arguments:
        x: the matrices; square, unless `p` is None, 2 or -2.
        p: the norm in which errors are measured, 2 by default.

    >>> f"{jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]])):.2f}"
    '2.00'
    """
    x = to_inexact(x)
    if p in (None, 2, -2):
        s = eigen.svd(x, compute_uv=False)
        largest, smallest = reductions.max(s, -1), reductions.min(s, -1)
        if p == -2:
            return lax.div(smallest, largest)
        out = lax.div(largest, smallest)
    else:
        out = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    had_nan = reductions.any(lax.ne(x, x), (-2, -1))
    singular = (out != out) & lax.bitwise_not(had_nan)
    return lax.select(singular, lax.full_like(out, np.inf), out)


@operation(static="hermitian")
def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """The number of singular values larger than `rtol` times the largest.

    Arguments:
        M: the matrices; an array of fewer axes has rank 1, unless it is 0.
        rtol: by default the larger number of rows or columns times the precision of the dtype.
        hermitian: whether the matrices are symmetric; ignored.
        tol: an older name of `rtol`.

    >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, dtype=int32)
    """
    x = to_inexact(M)
    if typeof(x).ndim < 2:
        return lax.convert_element_type(reductions.any(stage2.ne(x, 0)), "int32")
    rtol = tol if rtol is None else rtol
    s = eigen.svd(x, compute_uv=False)
    dtype = matrices.real_dtype(typeof(x).dtype)
    if rtol is None:
        rtol = max_size(*typeof(x).shape[-2:]) * float(np.finfo(dtype).eps)
    rtol = lax.convert_element_type(rtol, dtype)
    if typeof(rtol).ndim:
        rtol = lax.expand_dims(rtol, [typeof(rtol).ndim])
    cutoff = stage2.mul(reductions.max(s, -1, keepdims=True), rtol)
    return reductions.sum(s > cutoff, -1, dtype=default_int())


__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
list_public_names(globals())
