"""Decompositions of matrices, and eigenvalues, with numpy's names and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import minijax.numpy.products as products
from minijax.lax.linalg import promoting as linalg
from minijax.lax.linalg.matrices import eye_like, matrices_of, mH, mT
from minijax.lax.precision import PrecisionLike
from minijax.numpy import reductions
from minijax.numpy.linalg.solve import inv
from minijax.numpy.triangles import diagonal as diagonal_of
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import one_int


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
    lower = linalg.cholesky(mH(a) if upper else a, symmetrize_input=symmetrize_input)
    return mH(lower) if upper else lower


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
    a = matrices_of("qr", a)
    if mode == "raw":
        packed, taus = linalg.geqrf(a)
        return QRResult(mT(packed), taus)
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
        hermitian: whether the matrices are symmetric; it makes no difference.
        subset_by_index: the first and the last singular value, the latter exclusive.

    Returns:
        `U, S, Vh`, or `S` alone.

    >>> a = jnp.array([[3.0, 0.0], [0.0, -2.0]])
    >>> u, s, vt = jnp.linalg.svd(a)
    >>> [f"{x:.2f}" for x in s], bool(jnp.allclose(u * s @ vt, a, atol=1e-5))
    (['3.00', '2.00'], True)
    """
    out = linalg.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    return SVDResult(*out) if compute_uv else out


@operation
def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices, in descending order.

    >>> [f"{x:.2f}" for x in jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, -2.0]]))]
    ['3.00', '2.00']
    """
    return linalg.svd(x, compute_uv=False)


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
    """The eigenvalues of symmetric (Hermitian) matrices, in ascending order; see `eigh`.

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
    return EigResult(*linalg.eig(a, compute_left_eigenvectors=False))


@operation
def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices, which are complex.

    >>> [f"{x.real:.2f}" for x in jnp.linalg.eigvals(jnp.array([[2.0, 1.0], [0.0, 3.0]]))]
    ['2.00', '3.00']
    """
    (w,) = linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return w


@operation(static="n")
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Square matrices to the power `n`, a possibly negative int.

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
    return eye_like(a) if out is None else out  # type: ignore[return-value]


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

    >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    return reductions.sum(diagonal(x, offset=offset), -1, dtype=dtype)


@operation
def matrix_transpose(x: ArrayLike, /) -> Array:
    """The matrices in the last two axes, transposed.

    >>> jnp.linalg.matrix_transpose(jnp.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    if typeof(x).ndim < 2:
        raise ValueError(f"matrix_transpose: takes at least two axes, found {typeof(x)}")
    return mT(x)


__all__ = [
    "cholesky", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "matrix_power",
    "matrix_transpose", "multi_dot", "qr", "svd", "svdvals", "trace",
]  # fmt: skip
